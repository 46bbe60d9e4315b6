"""A fleet that never was: manifests of many models, engines, versions, sizes and mistakes, the same for the same seed."""

import random
from collections.abc import Iterator
from pathlib import Path

MODELS = (
    ("Qwen/Qwen3-8B", 1),
    ("Qwen/Qwen3-32B", 2),
    ("Qwen/Qwen3.6-27B", 2),
    ("meta-llama/Llama-3.3-70B-Instruct", 4),
    ("openai/gpt-oss-120b", 2),
    ("deepseek-ai/DeepSeek-V3.1", 8),
    ("zai-org/GLM-4.5-Air", 4),
    ("google/gemma-3-27b-it", 2),
    ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", 2),
    ("acme/own-finetune-9b", 1),
)
PRODUCTS = ("NVIDIA-H100-80GB-HBM3", "NVIDIA-H200", "NVIDIA-A100-SXM4-80GB", "NVIDIA-L40S", "NVIDIA-B200")
VLLM = ("0.10.2", "0.11.0", "0.15.0", "0.20.0", "0.26.0", "0.33.0")
SGLANG = ("0.4.10", "0.5.5", "0.5.12", "0.5.23")
EXTRA = (
    ("--enable-auto-tool-choice", "--tool-call-parser", "hermes"),
    ("--gpu-memory-utilization", "0.95"),
    ("--max-num-seqs", "256"),
    ("--enforce-eager",),
    ("--swap-space", "16"),
    ("--dtype", "fp8"),
    ("--kv-cache-dtype", "fp8"),
    ("--trust-remote-code",),
)


def manifest(number: int, seed: int = 0) -> str:
    """One Deployment as `kubectl get -o yaml` prints it, without its list."""
    dice = random.Random(f"{seed}/{number}")
    model, gpus = dice.choice(MODELS)
    vllm = dice.random() < 0.7
    version = dice.choice(VLLM if vllm else SGLANG)
    tp = gpus if dice.random() < 0.9 else max(1, gpus // 2)
    length = dice.choice((4096, 8192, 16384, 32768, 65536, 131072))
    extra = [word for words in dice.sample(EXTRA, dice.randint(0, 2)) for word in words] if vllm else []
    start = ["vllm", "serve", model] if vllm else ["python3", "-m", "sglang.launch_server", "--model-path", model]
    words = [*start, "--tensor-parallel-size" if vllm else "--tp-size", str(tp), "--max-model-len" if vllm else "--context-length", str(length), *extra]
    image = f"vllm/vllm-openai:v{version}" if vllm else f"lmsysorg/sglang:v{version}"
    lines = [
        "apiVersion: apps/v1",
        "kind: Deployment",
        "metadata:",
        "  annotations:",
        f'    deployment.kubernetes.io/revision: "{dice.randint(1, 40)}"',
        f"  name: model-{number:05d}",
        f"  namespace: team-{number % 37}",
        "spec:",
        f"  replicas: {dice.randint(1, 4)}",
        "  selector:",
        "    matchLabels:",
        f"      app: model-{number:05d}",
        "  template:",
        "    metadata:",
        "      labels:",
        f"        app: model-{number:05d}",
        "    spec:",
        "      nodeSelector:",
        f"        nvidia.com/gpu.product: {dice.choice(PRODUCTS)}",
        "      containers:",
        "      - command:",
        *(f"        - {word!r}" for word in words),
        "        env:",
        "        - name: HF_HOME",
        "          value: /cache",
        f"        image: {image}",
        "        name: server",
        "        ports:",
        "        - containerPort: 8000",
        "          protocol: TCP",
        "        resources:",
        "          limits:",
        f'            nvidia.com/gpu: "{gpus}"',
        "          requests:",
        f'            nvidia.com/gpu: "{gpus}"',
    ]
    return "\n".join(lines) + "\n"


def bystander(number: int) -> str:
    """What most of a cluster is: nothing of ours."""
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings-{number:05d}\n  namespace: team-{number % 37}\ndata:\n  key: value\n"


def folder(target: Path, count: int, seed: int = 0) -> Path:
    """One file a deployment, in folders of a hundred."""
    for number in range(count):
        place = target / f"{number // 100:03d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"model-{number:05d}.yaml").write_text(manifest(number, seed))
    return target


def dump(target: Path, numbers: Iterator[int] | range, seed: int = 0) -> Path:
    """One `kubectl get -A -o yaml` list."""
    with target.open("w") as sink:
        sink.write("apiVersion: v1\nitems:\n")
        for number in numbers:
            for text in (manifest(number, seed), bystander(number)):
                first, *rest = text.splitlines()
                sink.write(f"- {first}\n" + "".join(f"  {line}\n" for line in rest))
        sink.write('kind: List\nmetadata:\n  resourceVersion: ""\n')
    return target

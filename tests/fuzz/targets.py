"""What is handed to the command: for every reader a real input, broken, and the verbs that read it."""

import gzip
import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from serveright.catalog.files import FACTS
from serveright.catalog.models import list_models, load
from tests.conftest import ROOT
from tests.fleet.synthetic import manifest
from tests.fuzz import mutate

TESTS = ROOT / "tests"
GPUS = ["8xh200", "1xrtx-4090", "2xb200", "4xmi300x", "8xa100-80gb", "1xl40s", "16xh100"]
FLAGS = ["tp", "pp", "dp", "ep", "dcp", "replicas"]


class Case(Struct, frozen=True):
    """One call. `names`: what a refusal may name."""

    arguments: list[str]
    names: list[str]
    stdin: bytes = b""


Target = Callable[[random.Random, Path], Case]


def _write(folder: Path, name: str, data: bytes) -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


@cache
def configs() -> list[dict[str, Any]]:
    """Configs of the catalogue and those published in the tests, with what lies beside them."""
    found = [{"config": load(model.id).config, "hf_quant_config": load(model.id).hf_quant_config} for model in list_models()]
    for file in sorted((TESTS / "families").glob("*/*.json")):
        data = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(data.get("config"), dict):
            found.append({"config": data["config"], "hf_quant_config": {}})
    return found


@cache
def words() -> list[str]:
    """Every key of every config."""
    keys: set[str] = set()

    def walk(value: Any) -> None:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
            if isinstance(key, str):
                keys.add(key)
            walk(inner)

    for one in configs():
        walk(one)
    return sorted(keys)


@cache
def quantisations() -> list[dict[str, Any]]:
    return [one["config"]["quantization_config"] for one in configs() if isinstance(one["config"].get("quantization_config"), dict)]


def _verb(rng: random.Random, model: str) -> list[str]:
    """A verb that reads a model, mostly the cheap ones."""
    gpu = ["--gpu", rng.choice(GPUS)]
    verb = rng.choice(["inspect", "inspect", "size", "size", "size", "check", "plan", "explain", "compare", "choose", "audit", "emit"])
    if verb == "inspect":
        found = [verb, model]
    elif verb == "explain":
        found = [verb, rng.choice(["attention", "mla", "moe", "parallelism", "number-formats", "linear-state", "speculation"]), "--model", model]
    elif verb == "choose":
        found = [verb, *gpu, "--concurrency", "8", "--among", "Qwen/Qwen3-8B", "--with", model]
    elif verb == "audit":
        found = [verb, str(ROOT / "docs/examples/launch.sh"), "--model", model, *gpu]
    elif verb == "emit":
        found = ["plan", model, *gpu, "--concurrency", "16", "--emit", rng.choice(["shell", "docker", "kubernetes", "compose"])]
    elif verb == "size":
        found = [
            verb,
            model,
            *gpu,
            *rng.choice(
                [[], ["--tp", "4"], ["--tp", "8", "--ep"], ["--pp", "2"], ["--dp", "8"], ["--kv-dtype", "fp8"], ["--context", "1m"], ["--spec-tokens", "2"]]
            ),
        ]
    elif verb == "compare":
        found = [verb, model, "Qwen/Qwen3-8B", *gpu, "--concurrency", "16"]
    else:
        found = [verb, model, *gpu, *(["--concurrency", "16"] if verb == "plan" else [])]
    if "--emit" not in found:
        found += rng.choice([[], [], ["--json"], ["--json"], ["--explain"], ["--format", "markdown"], ["--lang", "ko"], ["-q"]])
    return found


def config(rng: random.Random, folder: Path) -> Case:
    one = rng.choice(configs())
    _write(folder, "config.json", mutate.spoil(rng, mutate.json_bytes(mutate.tree(rng, one["config"], words()))))
    if one["hf_quant_config"]:
        _write(folder, "hf_quant_config.json", mutate.spoil(rng, mutate.json_bytes(mutate.tree(rng, one["hf_quant_config"], words()))))
    return _model_case(rng, folder)


def _model_case(rng: random.Random, folder: Path) -> Case:
    return Case(_verb(rng, str(folder)), [str(folder), "config", "tp x pp x dp"])


def quantisation(rng: random.Random, folder: Path) -> Case:
    made = {**rng.choice(configs())["config"], "quantization_config": mutate.tree(rng, rng.choice(quantisations()), words())}
    _write(folder, "config.json", mutate.json_bytes(made))
    return _model_case(rng, folder)


INDEX = {"metadata": {"total_size": 16381516800}, "weight_map": {f"model.layers.{n}.{part}": f"model-0000{n}-of-00008.safetensors" for n in range(8) for part in ("self_attn.q_proj.weight", "mlp.gate_proj.weight_scale")}}  # fmt: skip
BESIDE: dict[str, Any] = {
    "generation_config.json": {"bos_token_id": 1, "do_sample": True, "eos_token_id": [1, 2], "temperature": 0.6, "top_k": 20, "top_p": 0.95, "transformers_version": "4.56.0"},
    "tokenizer_config.json": {"chat_template": "{% if tools %}<tool_call>{% endif %}<think>", "model_max_length": 131072, "added_tokens_decoder": {"1": {"content": "<think>", "special": False}}},
    "preprocessor_config.json": {"patch_size": 14, "merge_size": 2, "min_pixels": 3136, "max_pixels": 12845056, "size": {"shortest_edge": 1, "longest_edge": 2}, "image_processor_type": "Qwen2VLImageProcessor"},
    "model.safetensors.index.json": INDEX,
}  # fmt: skip
TEMPLATE = "{%- if tools %}\n<tools>{% for tool in tools %}{{ tool | tojson }}{% endfor %}</tools>\n{%- endif %}{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>{% endif %}<|im_start|>assistant\n"
CARD = "---\nlicense: apache-2.0\nlanguage: [en, ko]\nbase_model: Qwen/Qwen3-8B\n---\n# Model\nContext length: 131,072 tokens, 8B parameters.\n```bash\nvllm serve org/m --tool-call-parser hermes --reasoning-parser qwen3 --max-model-len 32768\n```\n"


def beside(rng: random.Random, folder: Path) -> Case:
    _write(folder, "config.json", mutate.json_bytes(rng.choice(configs())["config"]))
    for name, value in BESIDE.items():
        if rng.random() < 0.5:
            _write(folder, name, mutate.spoil(rng, mutate.json_bytes(mutate.tree(rng, value, words()))))
    _write(folder, "chat_template.jinja", mutate.any_text(rng, TEMPLATE.encode()))
    _write(folder, "README.md", mutate.any_text(rng, CARD.encode()))
    return _model_case(rng, folder)


def header(rng: random.Random, folder: Path) -> Case:
    """The header of a single safetensors file."""
    _write(folder, "config.json", mutate.json_bytes(rng.choice(configs())["config"]))
    tensors = {
        "__metadata__": {"format": "pt"},
        **{name: {"dtype": "BF16", "shape": [4096, 4096], "data_offsets": [n, n + 10]} for n, name in enumerate(INDEX["weight_map"])},
    }
    body = mutate.spoil(rng, mutate.json_bytes(mutate.tree(rng, tensors, ["dtype", "shape", "data_offsets"])))
    size = len(body) if rng.random() < 0.8 else rng.choice([0, 1, len(body) + 10, 2**62, 2**63])
    _write(folder, "model.safetensors", size.to_bytes(8, "little") + body)
    return _model_case(rng, folder)


@cache
def launches() -> list[tuple[str, bytes]]:
    """(name, content) of commands in every format the readers know."""
    found = [(file.name.removesuffix(".case"), file.read_bytes()) for file in sorted((TESTS / "readers/cases/launch").iterdir())]
    recipes = [line for line in (TESTS / "rules/cases/recipes.txt").read_text(encoding="utf-8").splitlines() if line[:1] not in ("#", "")]
    symptoms = [line.split("|")[-1] for line in (TESTS / "rules/cases/symptoms.psv").read_text(encoding="utf-8").splitlines() if line[:1] not in ("#", "")]
    found += [("run.sh", line.encode()) for line in (*recipes, *symptoms)]
    found += [(f"fleet{n}.yaml", manifest(n).encode()) for n in range(20)]
    return found


def _launch(rng: random.Random, folder: Path) -> tuple[str, bytes]:
    name, data = rng.choice(launches())
    data = mutate.any_text(rng, data)
    return _write(folder, name, data), data


def audit(rng: random.Random, folder: Path) -> Case:
    path, data = _launch(rng, folder)
    if rng.random() < 0.15:
        path = "-"
    more = rng.choice(
        [
            [],
            ["--gpu", rng.choice(GPUS)],
            ["--engine", "vllm@0.11.0"],
            ["--explain-all"],
            ["--select", "MEM"],
            ["--fail-on", "note"],
            ["--diff", "--fix"],
            ["--unsafe-fixes", "--diff"],
        ]
    )
    form = rng.choice(
        [[], [], ["--json"], ["--format", "sarif"], ["--format", "github"], ["--format", "junit"], ["--format", "markdown"], ["--lang", "ko"], ["-q"]]
    )
    return Case(["audit", path, *more, *form], [path, "stdin", "--"], data if path == "-" else b"")


def fix(rng: random.Random, folder: Path) -> Case:
    path, _ = _launch(rng, folder)
    return Case(["audit", path, "--fix", *rng.choice([[], ["--unsafe-fixes"], ["--gpu", rng.choice(GPUS)]])], [path, "no vLLM"])


def migrate(rng: random.Random, folder: Path) -> Case:
    path, _ = _launch(rng, folder)
    return Case(["migrate", path, "--to", rng.choice(["vllm", "sglang", "vllm@0.11.0", "sglang@0.5.5"]), *rng.choice([[], ["--json"]])], [path])


def fleet(rng: random.Random, folder: Path) -> Case:
    inside = folder / "in"
    inside.mkdir()
    if rng.random() < 0.5:
        items = "".join("- " + "\n  ".join(manifest(n).splitlines()) + "\n" for n in range(4))
        path = _write(inside, "dump.yaml", mutate.any_text(rng, f"apiVersion: v1\nkind: List\nitems:\n{items}".encode()))
    else:
        path = _launch(rng, inside)[0]
    return Case(["fleet", rng.choice([path, str(inside)]), "--rows", str(folder / "rows.jsonl"), "--jobs", "1", *rng.choice([[], ["--json"]])], [str(inside)])


@cache
def rows() -> bytes:
    """What a real run of `fleet` writes."""
    import tempfile

    from serveright.api import fleets

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for n in range(6):
            _write(folder, f"{n}.yaml", manifest(n).encode())
        fleets.run([str(folder)], folder / "rows.jsonl", jobs=1)
        return (folder / "rows.jsonl").read_bytes()


def _line_tree(rng: random.Random, data: bytes) -> bytes:
    """One line of JSON lines changed in structure, or all as text."""
    lines = data.splitlines()
    if rng.random() < 0.3 or not lines:
        return mutate.any_text(rng, data)
    n = rng.randrange(len(lines))
    value = json.loads(lines[n])
    lines[n] = mutate.json_bytes(mutate.tree(rng, value, list(value)))
    return mutate.spoil(rng, b"\n".join(lines) + b"\n")


def fleet_rows(rng: random.Random, folder: Path) -> Case:
    old, new = _write(folder, "old.jsonl", _line_tree(rng, rows())), _write(folder, "new.jsonl", rows())
    if rng.random() < 0.5:
        return Case(["fleet", "--compare", *rng.sample([old, new], 2), *rng.choice([[], ["--json"]])], [old])
    path = _write(folder, "0.yaml", manifest(0).encode())
    return Case(["fleet", path, "--rows", old if rng.random() < 0.5 else str(folder / "rows.jsonl"), "--previous", old, "--jobs", "1"], [old])


@cache
def logs() -> list[tuple[bytes, list[str]]]:
    """(log, other arguments) of recorded and composed cases."""
    found: list[tuple[bytes, list[str]]] = [(file.read_bytes(), []) for file in sorted((TESTS / "diagnose/recorded").glob("*.log"))]
    found += [(file.read_bytes(), ["--command", str(file.parent / "command.sh")]) for file in sorted((TESTS / "diagnose/golden").glob("*/server.log"))]
    for line in (TESTS / "diagnose/cases/lines.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case.get("log"):
            found.append((case["log"].encode(), ["--command", case["command"]] if case.get("command") else []))
    return found


def log(rng: random.Random, folder: Path) -> Case:
    data, more = rng.choice(logs())
    data = mutate.any_text(rng, data)
    path = _write(folder, "server.log", data)
    if rng.random() < 0.1:
        path = _write(folder, "server.log.gz", mutate.spoil(rng, gzip.compress(data)))
    extra = rng.choice([[], ["--gpu", rng.choice(GPUS)], ["--config", "Qwen/Qwen3-8B"], ["--calibrate-out", str(folder / "out.json")]])
    return Case(["diagnose", "--log", path, *more, *extra, *rng.choice([[], ["--json"], ["--lang", "ko"], ["--explain"], ["-q"]])], [path, "--"])


SMI = """+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|   0  NVIDIA H100 80GB HBM3          On  | 00000000:19:00.0 Off |                    0 |
| N/A   34C    P0             112W / 700W |  20480MiB / 81559MiB |    100%      Default |
| Processes:                                                                              |
|    0   N/A  N/A   1234      C   tritonserver                              20400MiB |
"""
SMI_CSV = "index, name, memory.used [MiB], memory.total [MiB], utilization.gpu [%], power.draw [W]\n0, NVIDIA H200, 100 MiB, 143771 MiB, 3 %, 75.10 W\n"
BENCH: list[dict[str, Any]] = [
    {"mean_ttft_ms": 250.0, "median_ttft_ms": 210.0, "mean_tpot_ms": 12.5, "completed": 100, "num_prompts": 102, "total_input_tokens": 204800, "total_output_tokens": 51200, "max_concurrency": 16, "duration": 60, "request_throughput": 1.6, "output_throughput": 800.0},
    {"mean_ttft_ms": 250.0, "mean_tpot_ms": 12.5, "completed": 100, "total_input_tokens": 204800, "total_output_tokens": 51200, "accept_length": 2.5, "dataset_name": "random", "max_concurrency": 4},
    {"benchmarks": [{"metrics": {"time_to_first_token_ms": {"successful": {"mean": 100, "median": 90}}, "inter_token_latency_ms": {"successful": {"mean": 20}}, "request_concurrency": {"successful": {"mean": 8}}, "prompt_token_count": {"successful": {"mean": 512}}, "output_token_count": {"successful": {"mean": 128}}}}]},
    {"schema": "serveright.measure/1", "samples": [{"requests": 4, "input_tokens": 512, "output_tokens": 64, "tpot_s": 0.01}]},
]  # fmt: skip
PROMETHEUS = {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {"__name__": "vllm:num_requests_running", "instance": "a"}, "values": [[1764400000, "3"], [1764400015, "NaN"]]}, {"metric": {"__name__": "vllm:kv_cache_usage_perc"}, "values": [[1764400000, "0.97"]]}]}}  # fmt: skip


def _bench(rng: random.Random) -> bytes:
    value = rng.choice(BENCH)
    return mutate.spoil(rng, mutate.json_bytes(mutate.tree(rng, value, list(value))))


def evidence(rng: random.Random, folder: Path) -> Case:
    """Metrics, nvidia-smi, benchmarks and words, for `diagnose`."""
    kind = rng.randrange(5)
    symptom = ["--symptom", "it got slow"] if rng.random() < 0.5 else []
    form = rng.choice([[], ["--json"]])
    if kind == 0:
        pages = [TESTS / "readers/vllm_0_32_0.metrics", *sorted((TESTS / "diagnose/golden").glob("*/metrics.txt"))]
        path = _write(folder, "page.metrics", mutate.any_text(rng, rng.choice(pages).read_bytes()))
        again = ["--metrics", str(pages[0])] if rng.random() < 0.3 else []
        return Case(["diagnose", "--metrics", path, *again, *symptom, *form], [path])
    if kind == 1:
        path = _write(folder, "answer.json", mutate.spoil(rng, mutate.json_bytes(mutate.tree(rng, PROMETHEUS, ["metric", "value", "values", "data"]))))
        return Case(["diagnose", "--metrics", path, *symptom, *form], [path])
    if kind == 2:
        path = _write(folder, "smi.txt", mutate.any_text(rng, rng.choice([SMI, SMI_CSV]).encode()))
        return Case(["diagnose", "--nvidia-smi", path, *symptom, *form], [path])
    if kind == 3:
        path = _write(folder, "bench.json", _bench(rng))
        return Case(["diagnose", "--bench", path, *symptom, *form], [path])
    said = (
        mutate.text(rng, rng.choice(["KV fills fast", "도구를 안 써요", "CUDA out of memory on the 3rd request", "It got slow on Tuesday."]))
        .decode("utf-8", "replace")
        .replace("\x00", "")
    )
    return Case(["diagnose", "--symptom", said, *form], ["--symptom", "diagnose"])


POINTS = 'engine = "vllm"\nlayout = "TP2"\n[[point]]\nconcurrency = 8\ninput_tokens = 1000\noutput_tokens = 200\ntpot_s = 0.02\nttft_mean_s = 0.3\n'
LEARNT = {"schema": "serveright.calibration/1", "engine": "vllm", "memory": {"overhead": {"observed": 4.1e9, "derived": 3.9e9}}}


def measured(rng: random.Random, folder: Path) -> Case:
    kind = rng.randrange(3)
    if kind == 0:
        path = _write(folder, "points.toml", mutate.any_text(rng, POINTS.encode()))
    elif kind == 1:
        path = _write(folder, "bench.json", _bench(rng))
    else:
        path = _write(folder, "learnt.json", mutate.spoil(rng, mutate.json_bytes(mutate.tree(rng, LEARNT, list(LEARNT)))))
    return Case(
        ["plan", "Qwen/Qwen3-8B", "--gpu", "2xh200", "--concurrency", "8", "--calibrate", path, *rng.choice([[], ["--json"], ["--measured-with", "TP2"]])],
        [path, "--calibrate", "--measured-with", "layout"],
    )


def experts(rng: random.Random, folder: Path) -> Case:
    kind = rng.randrange(4)
    if kind == 0:
        data = {"logical_count": [[rng.randrange(1, 999) for _ in range(128)] for _ in range(4)]}
        path = _write(folder, "load.json", mutate.spoil(rng, mutate.json_bytes(mutate.tree(rng, data, ["records", "loads"]))))
    elif kind == 1:
        lines = "layer,expert,tokens\n" + "".join(f"{n % 4},{n // 4},{rng.randrange(999)}\n" for n in range(512))
        path = _write(folder, "load.csv", mutate.any_text(rng, lines.encode()))
    elif kind == 2:
        path = _write(folder, "load.pt", mutate.raw(rng, rng.choice(sorted((TESTS / "readers/expert_load").glob("*.pt"))).read_bytes()))
    else:
        line = "INFO EPLB step: 7 for model m: avg_tokens=100.0, max_tokens=150, balancedness=0.5, steps until the next rearrangement: 9\n"
        path = _write(folder, "load.log", mutate.any_text(rng, (line * 3).encode()))
    return Case(
        ["plan", "Qwen/Qwen3-30B-A3B", "--gpu", "4xh200", "--concurrency", "8", "--expert-load", path, *rng.choice([[], ["--json"]])], [path, "expert load"]
    )


TRAFFIC = "concurrency = 16\ninput_tokens = [2048, 8192]\noutput_tokens = [512, 1024]\ncontext_tokens = 32768\nimages_per_request = 1.5\nttft_target_s = 2.0\nshared_prefix_tokens = 500\n"
STOCK = '[stock]\nh200 = 8\nl40s = 4\n[price]\nl40s = 1.2\n[[model]]\nid = "Qwen/Qwen3-8B"\nrate_per_s = 4\ninput_tokens = 1000\noutput_tokens = 200\ntpot_s = 0.05\n[[model]]\nid = "openai/gpt-oss-20b"\nrate_per_s = 6\nttft_s = 2\n'
SCORES = "model,score\nQwen/Qwen3-8B,61.5\nQwen/Qwen3-32B,70\nopenai/gpt-oss-20b,66\n"
SCORES_TOML = '[scores]\n"Qwen/Qwen3-8B" = 61.5\n"openai/gpt-oss-20b" = 66\n'


def toml(rng: random.Random, folder: Path) -> Case:
    """The small files people write: traffic, a GPU, a stock, scores."""
    kind = rng.randrange(4)
    form = rng.choice([[], ["--json"]])
    if kind == 0:
        path = _write(folder, "traffic.toml", mutate.any_text(rng, TRAFFIC.encode()))
        # what such a file says has flags of its own
        return Case(["plan", "Qwen/Qwen3-8B", "--gpu", "2xh200", "--traffic", path, *form], [path, "--"])
    if kind == 1:
        path = _write(folder, "own.toml", mutate.any_text(rng, rng.choice(sorted((FACTS / "gpus").glob("*.toml"))).read_bytes()))
        verb = rng.choice([["size", "Qwen/Qwen3-8B"], ["plan", "Qwen/Qwen3-8B", "--concurrency", "4"], ["check", "Qwen/Qwen3-8B"]])
        return Case([*verb, "--gpu", path, *form], [path, "--gpu"])
    if kind == 2:
        path = _write(folder, "stock.toml", mutate.any_text(rng, STOCK.encode()))
        # a refusal may name the entry of the file
        return Case(["place", path, *form], [path, "Unknown", "h200", "l40s", "model", "Qwen", "openai", "stock"])
    name, text = rng.choice([("scores.csv", SCORES), ("scores.toml", SCORES_TOML)])
    path = _write(folder, name, mutate.any_text(rng, text.encode()))
    return Case(
        ["choose", "--gpu", "1xh200", "--concurrency", "8", "--among", "Qwen/Qwen3-8B", "--among", "openai/gpt-oss-20b", "--scores", path, *form], [path]
    )


STANDING = {"pending": ["bytes-per-token", 3, 0], "next_seed": 4, "right": {"bytes-per-token": 2}, "wrong": {}, "level": {}}


def learn(rng: random.Random, folder: Path) -> Case:
    from tests.fuzz.run import call

    path = str(folder / "learn.json")
    call(["learn", "--state", path])
    data = json.loads(Path(path).read_bytes())
    _write(folder, "learn.json", mutate.spoil(rng, mutate.json_bytes(mutate.tree(rng, data, list(data)))))
    said = (
        ["--answer", mutate.text(rng, rng.choice(["131072", "128 KiB", "TP8", "yes", "3.5e9"])).decode("utf-8", "replace").replace("\x00", "")]
        if rng.random() < 0.6
        else []
    )
    return Case(["learn", "--state", path, *said, *rng.choice([[], ["--json"]])], [path, "answer", "learn"])


VALUES = [
    "", " ", "0", "-1", "1", "2", "8", "8xh200", "h200", "h200:8", "0xh200", "-1xh200", "99999999999xh200", "h200:0", "x", "8x", "é", "한국어", "\x1b[31m", "a" * 5000, "nan", "inf", "1e999", "1e30",
    "1m", "32k", "999999999999999999999", "2048/8192", "8192/2048", "1/2/3", "auto", "fp8", "vllm", "sglang@0.5.5", "vllm@", "vllm@99.99", "vllm@x", "@", "both@1", "Qwen/Qwen3-8B",
    "Qwen/Qwen3.6-27B", "nobody/nothing", "../../etc/passwd", "/dev/null", "~nobody/x", "-", "chat", "agent", "0h:2,8h:20", "0h:2,8h:nan", "8h:2,0h:3", "tools,vision", "licence:", "language:xx",
    "context:", "context:256k", "1024x768", "0x0", "TP8", "TP8+EP8", "list", "shell", "kubernetes", "gpu", "model", "engine", "plan", "MEM04", "attention", "glossary", "*", "[", "%s", "{x}", "\\", "C:\\x\\config.json", "\n", "a\nb",
]  # fmt: skip
VERBS = [
    "inspect",
    "size",
    "check",
    "plan",
    "audit",
    "migrate",
    "diagnose",
    "choose",
    "compare",
    "explain",
    "rule",
    "facts",
    "learn",
    "place",
    "scale",
    "schema",
    "fleet",
]


def _options(verb: str) -> list[click.Parameter]:
    import importlib

    return importlib.import_module(f"serveright.cli.verbs.{verb}").command.params


def arguments(rng: random.Random, folder: Path) -> Case:
    """Words of the command line itself."""
    verb = rng.choice(VERBS)
    found, files = [verb], {"file", "plot", "calibrate_out", "rows", "parquet", "state", "url", "fetch", "watch", "fix", "jobs", "previous"}
    for option in _options(verb):
        if isinstance(option, click.Argument):
            usual = {
                "model": "Qwen/Qwen3-8B",
                "path": str(ROOT / "docs/examples/launch.sh"),
                "paths": str(ROOT / "docs/examples/launch.sh"),
                "models": "Qwen/Qwen3-8B",
            }
            if option.required or rng.random() < 0.5:
                found.append(rng.choice(VALUES) if rng.random() < 0.35 else usual.get(option.name or "", rng.choice(VALUES)))
            continue
        if option.name in files or "--watch" in option.opts:
            continue
        needed = option.required and rng.random() < 0.97
        if not needed and rng.random() > 2.5 / len(_options(verb)):
            continue
        found.append(rng.choice(option.opts + option.secondary_opts))
        if not getattr(option, "is_flag", False):
            usual = {"gpu": "2xh200", "gpus": "2xh200", "to": "sglang", "curve": "0h:2,8h:20"}.get(option.name or "")
            for _ in range(option.nargs):
                choices = list(option.type.choices) if isinstance(option.type, click.Choice) else VALUES
                found.append(usual if usual and rng.random() < 0.6 else rng.choice(choices) if rng.random() < 0.9 else rng.choice(VALUES))
    if verb == "learn":
        found += ["--state", str(folder / "learn.json")]
    if verb == "fleet":
        found += ["--rows", str(folder / "rows.jsonl"), "--jobs", "1"]
    # what a refusal may name: a flag, or the very value
    return Case(
        [word.replace("\x00", "") for word in found],
        ["--", "'", *[word for word in found[1:] if word.strip()], "empty", "cannot be read", "MODEL", "PATH", verb],
    )


TARGETS: dict[str, Target] = {
    "config": config, "quantisation": quantisation, "beside": beside, "header": header, "audit": audit, "fix": fix, "migrate": migrate, "fleet": fleet, "fleet_rows": fleet_rows,
    "log": log, "evidence": evidence, "measured": measured, "experts": experts, "toml": toml, "learn": learn, "arguments": arguments,
}  # fmt: skip

"""Starts as people really write them: continuations of other shells, here-documents, templates, patches, programs of supervisor."""

from pathlib import Path

import pytest

from tests.rules.bench import READER

WHERE = {
    "run.bat": "vllm serve Qwen/Qwen3-8B ^\r\n  --max-model-len 8192 ^\r\n  --port 8001\r\n",
    "run.ps1": "docker run --rm --gpus all `\r\n  vllm/vllm-openai:v0.20.0 `\r\n  --model Qwen/Qwen3-8B ` \r\n  --max-model-len 8192\r\n",
    "crlf.sh": "#!/bin/bash\r\nvllm serve Qwen/Qwen3-8B \\\r\n  --max-model-len 8192\r\n",
    "remote.sh": "ssh n1 \"docker exec -it v bash -c 'cd /app && vllm serve Qwen/Qwen3-8B --max-model-len 8192'\"\n",
    "install.sh": "cat > /opt/start.sh <<'EOF'\n#!/bin/bash\nvllm serve Qwen/Qwen3-8B \\\n  --max-model-len 8192\nEOF\n",
    "sum.sh": "K=1024\nvllm serve Qwen/Qwen3-8B --max-model-len=$(( 8 * K ))\n",
    "default.sh": "vllm serve ${MODEL:-Qwen/Qwen3-8B} --max-model-len ${LEN:=8192}\n",
    "array.sh": 'ARGS=(--model Qwen/Qwen3-8B)\nARGS+=(--max-model-len 8192)\npython3 -m vllm.entrypoints.openai.api_server "${ARGS[@]}" "$@"\n',
    "json.sh": 'vllm serve Qwen/Qwen3-8B --compilation-config \'{\n  "cudagraph_mode": "PIECEWISE"\n}\' --max-model-len 8192\n',
    "notes.md": "~~~bash\n$ vllm serve Qwen/Qwen3-8B --max-model-len 8192\n~~~\n",
    "windows.md": "```powershell\nvllm serve Qwen/Qwen3-8B `\n  --max-model-len 8192\n```\n",
    "vllm.conf": "[program:vllm]\ncommand=/opt/bin/vllm serve Qwen/Qwen3-8B --max-model-len 8192\n",
    "start.py": 'import os, subprocess\nM = os.environ.get("M", "Qwen/Qwen3-8B")\nsubprocess.run(f"vllm serve {M} --max-model-len 8192", shell=True)\n',
    "kustomization.yaml": (
        "patches:\n  - patch: |-\n      kind: Deployment\n      spec:\n        containers:\n          - image: vllm/vllm-openai:v0.20.0\n"
        "            args: [--model, Qwen/Qwen3-8B, --max-model-len, '8192']\n"
    ),
    "chart.yaml": (
        "spec:\n  containers:\n    - image: vllm/vllm-openai:v0.20.0\n      args:\n        - --model=Qwen/Qwen3-8B\n        {{- if .Values.len }}\n"
        "        - --max-model-len=8192\n        {{- end }}\n"
    ),
}


@pytest.mark.parametrize("file", WHERE)
def test_the_start_is_read_with_its_places(file: str) -> None:
    [command] = READER.text(WHERE[file], file).commands
    [length] = [flag for flag in command.flags if flag.name == "--max-model-len"]
    assert (command.model, length.value, length.literal) == ("Qwen/Qwen3-8B", "8192", True)
    if file != "sum.sh":
        line = WHERE[file].splitlines()[length.location.line - 1]
        assert line[length.location.column - 1 :].startswith(length.written)


def test_what_a_formatted_string_does_not_say_stays_unknown() -> None:
    [command] = READER.text('import os\nos.system(f"vllm serve {pick()} --port {8000}")\n', "a.py").commands
    assert command.model is None
    assert [(flag.value, flag.literal) for flag in command.flags] == [("8000", True)]


def test_a_config_map_of_the_same_file_is_read_in_its_place() -> None:
    text = (
        "kind: ConfigMap\nmetadata: {name: c}\ndata:\n  worker.yaml: |\n    model-path: Qwen/Qwen3-8B\n    tp-size: 2\n  KEY: '8192'\n---\n"
        "kind: Pod\nspec:\n  containers:\n    - image: lmsysorg/sglang:v0.5.20\n      command: [python3, -m, sglang.launch_server]\n"
        "      args: [--config, /etc/x/worker.yaml, --context-length, $(LEN)]\n"
        "      env:\n        - name: LEN\n          valueFrom: {configMapKeyRef: {name: c, key: KEY}}\n"
    )
    [command] = READER.text(text, "pod.yaml").commands
    assert (command.model, command.unread) == ("Qwen/Qwen3-8B", ())
    found = {flag.name: (flag.value, flag.location.line) for flag in command.flags}
    assert found == {"--model-path": ("Qwen/Qwen3-8B", 5), "--tp-size": ("2", 6), "--context-length": ("8192", 14)}


@pytest.mark.parametrize(
    ("image", "engine"),
    [
        ("ghcr.io/llm-d/llm-d-cuda:v0.4.0", "vllm"),
        ("ghcr.io/llm-d/llm-d:v0.3.1", "vllm"),
        ("ghcr.io/llm-d/llm-d-routing-sidecar:v0.7.1", None),
        ("ghcr.io/llm-d/llm-d-inference-sim:v0.5", None),
        ("lmsysorg/sglang-router:latest", None),
        ("vllm/vllm-openai:v0.33.0", "vllm"),
    ],
)
def test_images_beside_an_engine_are_no_engine(image: str, engine: str | None) -> None:
    from serveright.readers.images import read_image

    assert read_image(image).engine == engine


def test_a_platform_that_starts_the_server_itself_is_read() -> None:
    text = (
        "kind: LLMInferenceService\nspec:\n  model: {uri: 'pvc://weights', name: deepseek-ai/DeepSeek-R1}\n  parallelism: {data: 32, dataLocal: 8, expert: true, tensor: 1}\n"
        "  template:\n    containers:\n      - name: main\n        env:\n          - {name: VLLM_ADDITIONAL_ARGS, value: '--max-model-len 8192'}\n"
        "        resources: {limits: {nvidia.com/gpu: '8'}}\n"
    )
    [command] = READER.text(text, "service.yaml").commands
    assert (command.model, command.gpu_count, command.nodes) == ("deepseek-ai/DeepSeek-R1", 8, 4)
    assert {flag.name for flag in command.flags} >= {"--max-model-len", "--data-parallel-size", "--enable-expert-parallel"}


@pytest.mark.parametrize(
    ("text", "result"), [("8 * 1024", 8192), ("(1+2)*3", 9), ("7/2", 3), ("2**9", None), ("1/0", None), ("A+1", None), ("()", None), ("-3+5", 2)]
)
def test_arithmetic_is_worked_out_and_never_run(text: str, result: int | None) -> None:
    from serveright.readers.arithmetic import calculate

    assert calculate(text) == result


def test_cases_need_no_other_file() -> None:
    assert not [name for name in WHERE if Path(name).exists()]

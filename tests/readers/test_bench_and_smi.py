"""Benchmark results of three tools and nvidia-smi's two shapes."""

import json

import pytest

from serveright.readers.benchmark import parse_benchmark
from serveright.readers.echo import command_of_echo
from serveright.readers.nvidia_smi import is_smi, parse_smi
from serveright.readers.symptom_text import read_symptom

VLLM = {
    "mean_ttft_ms": 250.0,
    "median_ttft_ms": 210.0,
    "mean_tpot_ms": 12.5,
    "completed": 100,
    "num_prompts": 102,
    "total_input_tokens": 204800,
    "max_concurrency": 16,
}
GUIDELLM = {
    "benchmarks": [{"metrics": {"time_to_first_token_ms": {"successful": {"mean": 100, "median": 90}}, "inter_token_latency_ms": {"successful": {"mean": 20}}}}]
}
TABLE = """+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|   0  NVIDIA H100 80GB HBM3          On  | 00000000:19:00.0 Off |                    0 |
| N/A   34C    P0             112W / 700W |  20480MiB / 81559MiB |    100%      Default |
| Processes:                                                                              |
|    0   N/A  N/A   1234      C   tritonserver                              20400MiB |
"""


def test_benchmarks() -> None:
    (one,) = parse_benchmark(json.dumps(VLLM))
    assert (one.ttft_mean_s, one.tpot_s, one.failed, one.input_tokens, one.concurrency) == (0.25, 0.0125, 2, 2048, 16)
    two = parse_benchmark("\n".join(json.dumps({**VLLM, "accept_length": 2.5, "dataset_name": "random"}) for _ in range(2)))
    assert [point.tool for point in two] == ["sglang", "sglang"]
    assert two[0].random
    (three,) = parse_benchmark(json.dumps(GUIDELLM))
    assert (three.ttft_median_s, three.tpot_s) == (0.09, 0.02)
    (four,) = parse_benchmark('{"schema":"serveright.measure/1","samples":[{"requests":4,"input_tokens":512,"output_tokens":64,"tpot_s":0.01}]}')
    assert (four.tool, four.concurrency, four.tpot_s) == ("serveright", 4, 0.01)
    for text in ("", "not json", "[1,2]", '{"a":1}', '{"benchmarks":[{"metrics":{"time_to_first_token_ms":[1]}}]}'):
        parse_benchmark(text)


def test_nvidia_smi() -> None:
    assert is_smi(TABLE)
    reading = parse_smi(TABLE)
    (gpu,) = reading.gpus
    assert (gpu.load, gpu.power_w, gpu.power_limit_w, gpu.total_bytes) == (1.0, 112, 700, 81559 << 20)
    assert reading.processes == ((0, "tritonserver", 20400 << 20),)
    csv = "index, name, memory.used [MiB], memory.total [MiB], utilization.gpu [%], power.draw [W]\n0, NVIDIA H200, 100 MiB, 143771 MiB, 3 %, 75.10 W\n"
    assert parse_smi(csv).gpus[0].used_bytes == 100 << 20
    assert parse_smi("").gpus == ()


def test_echoed_arguments_become_a_command() -> None:
    line = "non-default args: {'model_tag': 'a/b', 'model': 'a/b', 'tensor_parallel_size': 8, 'enforce_eager': True, 'speculative_config': {'method': 'mtp'}}"
    assert command_of_echo(line) == 'vllm serve a/b --tensor-parallel-size 8 --enforce-eager --speculative-config \'{"method": "mtp"}\''
    sglang = "server_args=ServerArgs(model_path='a/b', tp_size=8, mem_fraction_static=0.8, enable_dp_attention=False)"
    assert command_of_echo(sglang) == "python3 -m sglang.launch_server --model-path a/b --tp-size 8 --mem-fraction-static 0.8"
    for junk in ("", "non-default args: {__import__('os')", "non-default args: {'model': os.system('x')}", "ServerArgs(model_path=$(x)"):
        assert command_of_echo(junk) == ""


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("도구를 안 써요", "tools_ignored"),
        ("KV fills fast", "kv_fills"),
        ("The model does not use tools.", "tools_ignored"),
        ("Memory fills up.", "kv_fills"),
        ("It crashed at start.", "does_not_start"),
        ("It got slow on Tuesday.", "slow"),
        ("메모리가 금방 찹니다", "kv_fills"),
        ("서버가 시작이 안 돼요", "does_not_start"),
        ("갑자기 느려졌어요", "slow"),
        ("동시 사용자가 절반밖에 안 됩니다", "half_the_users"),
        ("4090에서 서버가 안 떠요", "this_gpu"),
        ("한 GPU만 놀고 있어요", "ranks_uneven"),
        ("one GPU stays idle", "ranks_uneven"),
        ("디스크 용량이 부족하대요", "disk_full"),
        ("the disk is full", "disk_full"),
        ("KV가 금방 차고 preemption이 계속 나요", "preempting"),
        ("JSON 스키마를 주면 출력이 깨져요", "schema_thinking"),
        ("생각 내용이 답에 그대로 나와요", "thinking_leaks"),
    ],
)
def test_words_of_people(text: str, key: str) -> None:
    assert f"symptom:{key}" in {sign.key for sign in read_symptom(text)}
    assert read_symptom("") == ()

"""A slowdown is found by counting work, not by the clock: the counts of whole commands keep their budgets, and grow no faster than the input."""

from pathlib import Path

import pytest

from tests.counted_work import Work, work

SLACK = 1.25
# counted on 2026-11-29 by `python -m tests.counted_work WORDS`. Raise one only with a reason in the commit; lower it after a gain.
BUDGETS: dict[str, Work] = {
    "inspect Qwen/Qwen3.6-27B": Work(lines=42_100, calls=12_000, files=2, modules=66),
    "size Qwen/Qwen3.6-27B --gpu 2xh200": Work(lines=71_300, calls=19_900, files=12, modules=127),
    "plan deepseek-ai/DeepSeek-V3.2 --gpu 8xh200": Work(lines=2_360_000, calls=656_000, files=33, modules=315),
    "plan deepseek-ai/DeepSeek-V3.2 --gpu 64xh200 --nodes 8": Work(lines=7_210_000, calls=1_982_000, files=33, modules=315),
    "check --all --gpu h200": Work(lines=16_640_000, calls=4_465_000, files=260, modules=190),
    "audit tests/data/one_command.sh --gpu 4xh200": Work(lines=54_700, calls=15_050, files=14, modules=234),
}


@pytest.mark.parametrize("words", BUDGETS)
def test_a_command_keeps_its_budget(words: str) -> None:
    over = {name: (got, most) for name, got, most in zip(Work._fields, work(*words.split()), BUDGETS[words], strict=True) if got > SLACK * most}
    assert not over, f"more than {SLACK} of the budget (counted, budget): {over}"


def grows_evenly(counts: list[Work]) -> None:
    """Of inputs of n, 2n and 4n: the second step costs about twice the first."""
    small, middle, large = (done.lines for done in counts)
    assert middle > small, "the input is not read at all"
    assert large - middle < SLACK * 2 * (middle - small)


def test_audit_grows_with_the_commands(tmp_path: Path) -> None:
    counts: list[Work] = []
    for commands in (8, 16, 32):
        script = tmp_path / f"{commands}.sh"
        script.write_text("".join(f"vllm serve Qwen/Qwen3-8B --tensor-parallel-size 3 --max-num-seqs {8 + n}\n" for n in range(commands)))
        counts.append(work("audit", str(script), "--gpu", "4xh200"))
    grows_evenly(counts)


def test_diagnose_grows_with_the_log(tmp_path: Path) -> None:
    line = "INFO 11-29 16:54:{:02} [loggers.py:335] Engine 000: Avg prompt throughput: {}.0 tokens/s, Running: 31 reqs, Waiting: {} reqs, GPU KV cache usage: 97.5%\n"
    counts: list[Work] = []
    for lines in (1000, 2000, 4000):
        log = tmp_path / f"{lines}.log"
        log.write_text("".join(line.format(n % 60, 3000 + n, n % 7) for n in range(lines)))
        counts.append(work("diagnose", "--log", str(log)))
    grows_evenly(counts)

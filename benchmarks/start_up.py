"""Whole commands from start to end against an interpreter that only imports click and msgspec: the least any such program costs."""

from benchmarks.measure import code, command, row, serveright, table
from benchmarks.peers import AICONFIGURATOR, HF_MEM, KVFIT, environment

COMMANDS = (
    "--help",
    "inspect Qwen/Qwen3.6-27B",
    "size Qwen/Qwen3.6-27B --gpu 2xh200",
    "check deepseek-ai/DeepSeek-V3.2 --gpu 8xb200",
    "plan deepseek-ai/DeepSeek-V3.2 --gpu 8xh200",
)


def rows() -> None:
    base = code("import click, msgspec")
    for words in COMMANDS:
        row(f"`{words}`", serveright(*words.split()), "import of click and msgspec", base)
    own = serveright("--help")
    for peer in (KVFIT, HF_MEM, AICONFIGURATOR):
        home = environment(peer)
        if home is not None:
            row("`--help`", own, f"`{peer} --help`", command([str(home / peer), "--help"]))


if __name__ == "__main__":
    raise SystemExit(table(rows))

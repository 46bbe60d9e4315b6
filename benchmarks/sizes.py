"""The cache of one sequence of Qwen3.6-27B, and `size` for two engines, against the peers' answer to the first question."""

from benchmarks.measure import command, row, serveright, table
from benchmarks.peers import PEERS, TOKENS, sizing

MODEL = "Qwen/Qwen3.6-27B"


def rows() -> None:
    own = serveright("size", MODEL, "--gpu", "1xh200", "--context", str(TOKENS), "--json")
    for peer in PEERS:
        words = sizing(peer, MODEL)
        if words is not None:
            row("`size`: the cache, then memory and users on vLLM and SGLang", own, f"{peer}: the cache", command(words))


if __name__ == "__main__":
    raise SystemExit(table(rows))

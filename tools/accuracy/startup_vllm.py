"""Cache memory and concurrency of public vLLM start-ups against ours, the model left out of the overhead's fit: `python -m tools.accuracy.startup_vllm ../shared`.

Observed weights are an input, but where a line says otherwise. By GPU, for the engine's own builds and for forks; logs that cannot be rebuilt are named.
A fork's own buffers are nobody's to know: its rows stay in the figures of all rows, and its predictions carry the wider range.
"""

import sys
from collections import defaultdict
from pathlib import Path

from tools.fit_memory.boots import read_boots
from tools.fit_memory.vllm import Guess, cases, left_out, report, summary


def guesses(shared: Path | None) -> tuple[list[Guess], list[str]]:
    """Every start-up predicted without its model, and the ids left out with the reason."""
    boots, left = read_boots(shared)
    return left_out(cases(boots)), left


def table(found: list[Guess]) -> list[str]:
    """Lines by confidence, kind of build and GPU."""
    rows: dict[tuple[str, str, str], list[Guess]] = defaultdict(list)
    for guess in found:
        if not guess.boot.draft:
            rows[guess.boot.confidence, "fork" if guess.boot.fork else "own build", guess.boot.gpu.key].append(guess)
    lines: list[str] = []
    for (confidence, build, gpu), group in sorted(rows.items()):
        memory = summary([g.available_error for g in group if g.available_error is not None])
        requests = summary([g.concurrency_error for g in group if g.concurrency_error is not None])
        lines.append(f"vllm {gpu:24} {build:10} {confidence:7} cache memory {memory:40} concurrency {requests}")
    return lines


def failures(found: list[Guess]) -> list[tuple[str, bool]]:
    """Start-ups that failed for want of memory, and whether ours says so."""
    return [(guess.boot.id, guess.refused) for guess in found if guess.boot.failed]


def main() -> None:
    """Print it all."""
    found, left = guesses(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("../shared"))
    print("\n".join(table(found)))
    report(found)
    for name, refused in failures(found):
        print(f"failed start-up {name}: {'predicted' if refused else 'MISSED'}")
    print(f"not rebuilt ({len(left)}): {'; '.join(line.partition(':')[0] for line in left)}")


if __name__ == "__main__":
    main()

"""`python -m tests.fuzz --minutes 60`: new examples for as long as asked; every kind of finding is kept once, with the seed that makes it again."""

import argparse
import collections
import os
import random
import re
import tempfile
import time
from pathlib import Path

from tests.fuzz.run import call, complaints
from tests.fuzz.targets import TARGETS


def attempt(target: str, seed: int, folder: Path) -> tuple[list[str], list[str]]:
    """(arguments, complaints) of one example."""
    case = TARGETS[target](random.Random(f"{target}/{seed}"), folder)
    return case.arguments, complaints(call(case.arguments, case.stdin), case.arguments, case.names)


def kind(text: str) -> str:
    """What two findings of the same cause share: the last own line of a traceback, or the message without its names."""
    own = re.findall(r'src/serveright/(\S+)", line (\d+)', text)
    if own:
        return "/".join((*own[-1], text.strip().splitlines()[-1][:60]))
    return re.sub(r"/tmp/\S+|\d+", "#", text)[:110]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", default=",".join(TARGETS))
    parser.add_argument("--out", type=Path, default=Path(".build/fuzz"))
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    os.environ["HF_HUB_OFFLINE"] = "1"
    end, seed, counts, seen = time.monotonic() + 60 * asked.minutes, asked.seed, collections.Counter[str](), collections.Counter[str]()
    while time.monotonic() < end:
        for target in asked.only.split(","):
            with tempfile.TemporaryDirectory(prefix="fuzz") as name:
                arguments, found = attempt(target, seed, Path(name))
            counts[target] += 1
            for complaint in found:
                key = f"{target}: {kind(complaint)}"
                seen[key] += 1
                if seen[key] == 1:
                    with (asked.out / f"{asked.seed}.txt").open("a", encoding="utf-8", errors="backslashreplace") as file:
                        file.write(f"=== {target} {seed}\n{arguments}\n{complaint[-3500:]}\n\n")
        seed += 1
        (asked.out / f"{asked.seed}.counts").write_text(
            f"{counts.total()} {dict(counts)}\n" + "".join(f"{n:6} {key!r}\n" for key, n in seen.most_common()), encoding="utf-8"
        )


if __name__ == "__main__":
    main()

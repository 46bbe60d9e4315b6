"""CPU of reading the whole catalogue and checking it on one GPU, against parsing its configs: the least any reader must do."""

import time
from collections.abc import Callable

from serveright.api.checking import check_all
from serveright.api.loading import load_model
from serveright.catalog.models import list_models, load


def cpu(action: Callable[[], object]) -> float:
    """Seconds of CPU of the best of three runs."""
    best = float("inf")
    for _ in range(3):
        before = time.process_time()
        action()
        best = min(best, time.process_time() - before)
    return best


def main() -> None:
    """One line a step: seconds for all models, and the ratio to the baseline."""
    names = [listed.id for listed in list_models()]
    base = cpu(lambda: [load(name) for name in names])
    print(f"baseline (parsing {len(names)} configs): {base:.2f} s CPU")
    steps: tuple[tuple[str, Callable[[], object]], ...] = (
        ("shapes of all", lambda: [load_model(name) for name in names]),
        ("shapes and weights of all", lambda: [load_model(name).need for name in names]),
        ("check of all on H200, both engines", lambda: check_all("h200")),
    )
    for label, action in steps:
        spent = cpu(action)
        print(f"{spent / base:5.1f} x  {spent:.2f} s  {label}")


if __name__ == "__main__":
    main()

"""A synthetic fleet of 20,000 manifests: seconds, peak memory of each process, and a second run with nothing changed. `python -m benchmarks.fleet [COUNT] [JOBS]`."""

import resource
import sys
import tempfile
import time
from pathlib import Path

from serveright.api import fleet_summary, fleets
from tests.fleet.synthetic import folder


def main(count: int = 20_000, jobs: int = 2) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = folder(Path(place) / "fleet", count)
        rows = Path(place) / "rows.jsonl"
        start = time.perf_counter()
        run = fleets.run([str(root)], rows, jobs=jobs)
        first = time.perf_counter() - start
        report = fleet_summary.summary(run)
        start = time.perf_counter()
        again = fleets.run([str(root)], rows, jobs=jobs)
        second = time.perf_counter() - start
        cpu = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        mine, workers = (resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        print(
            f"{run.audited} manifests, {report.deployments} deployments, {jobs} processes: {first:.1f} s, {cpu:.0f} s of CPU in all, {cpu / count * 1e3:.2f} ms each"
        )
        print(f"again, {again.reused} reused: {second:.1f} s; peak memory {mine:.0f} MiB here, {workers:.0f} MiB in the largest worker")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))

"""A serving log read once by `diagnose` against a Python loop over its lines: `python -m benchmarks.large_log [MIB]`, 2 GiB unless said otherwise."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import code, row, serveright
from benchmarks.measure import table as printed

LINES = (
    "(APIServer pid=1) INFO 11-29 16:54:39 [loggers.py:335] Engine 000: Avg prompt throughput: 3000.0 tokens/s, Avg generation throughput: 810.8 tokens/s, "
    "Running: 31 reqs, Waiting: 2 reqs, GPU KV cache usage: 97.5%, Prefix cache hit rate: 12.5%\n"
    + '(APIServer pid=1) INFO:     10.0.0.7:40232 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    * 400
)
LOOP = "import sys\nfor line in open(sys.argv[1], encoding='utf-8'): pass"


def main(mib: int = 2048) -> int:
    block = (LINES * 30).encode()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        with path.open("wb") as file:
            for _ in range((mib << 20) // len(block)):
                file.write(block)

        def rows() -> None:
            own = serveright("diagnose", "--log", str(path), "--json", runs=1)
            row(f"`diagnose` of a log of {mib / 1024:.3g} GiB", own, "a loop over its lines", code(LOOP, str(path), runs=1))

        return printed(rows)


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:2])))

"""A serving log of 2 GiB read once: seconds, bytes a second, and the highest memory of the process."""

import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from serveright.readers.engine_log import read_log

SIZE = int(sys.argv[1]) << 20 if len(sys.argv) > 1 else 2 << 30
LINES = (
    "(APIServer pid=1) INFO 11-29 16:54:39 [loggers.py:335] Engine 000: Avg prompt throughput: 3000.0 tokens/s, Avg generation throughput: 810.8 tokens/s, "
    "Running: 31 reqs, Waiting: 2 reqs, GPU KV cache usage: 97.5%, Prefix cache hit rate: 12.5%\n"
    + '(APIServer pid=1) INFO:     10.0.0.7:40232 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    * 400
)


def main() -> None:
    """Write, read, tell."""
    block = (LINES * 30).encode()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        with path.open("wb") as file:
            for _ in range(SIZE // len(block)):
                file.write(block)
        start = time.monotonic()
        log = read_log(path, lambda done, size: sys.stderr.write(f"\r{done / size:4.0%}"))
        spent = time.monotonic() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    print(f"\n{log.bytes / 2**30:.2f} GiB, {log.lines:,} lines in {spent:.1f} s ({log.bytes / spent / 1e6:.0f} MB/s), highest memory {peak / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()

"""`python -m benchmarks`: run every benchmark of this folder."""

import pkgutil
import subprocess
import sys

import benchmarks


def main() -> int:
    """Each module in a fresh interpreter; the first failure is the exit code."""
    for info in pkgutil.iter_modules(benchmarks.__path__):
        if info.name != "__main__":
            print(f"== {info.name}", flush=True)
            code = subprocess.run([sys.executable, "-m", f"benchmarks.{info.name}"], check=False).returncode
            if code:
                return code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Runs jobs one by one in forked children and prints one JSON row each. Started by `tools/oracle` with the environment's own Python: worker.py SETUP.json."""
# pyright: basic, reportMissingImports=false

import contextlib
import importlib
import json
import os
import sys
import traceback
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))


def main() -> None:
    """SETUP holds engine, tree (unpacked wheel), absent (modules to stand in for), gpu, jobs."""
    with open(sys.argv[1], encoding="utf-8") as file:
        setup = json.load(file)
    sys.argv = sys.argv[:1]
    sys.path[:0] = [setup["tree"], HERE]
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the engine's prints are no rows
    engine = importlib.import_module(f"{setup['engine']}_engine")
    engine.boot(setup)
    for job in setup["jobs"]:
        answer.write(json.dumps(child(engine.size, job, setup), default=str) + "\n")
        answer.flush()


def child(size: Any, job: dict[str, Any], setup: dict[str, Any]) -> dict[str, Any]:
    """One job in its own process: engines keep global state that a second model would meet."""
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(read)
        try:
            row = size(job, setup)
        except BaseException as problem:  # noqa: BLE001 - whatever the engine raises is the result
            row = {"error": f"{type(problem).__name__}: {problem}"[:600], "traceback": traceback.format_exc()[-2500:]}
        with contextlib.suppress(BrokenPipeError), os.fdopen(write, "w") as out:
            out.write(json.dumps(row, default=str))
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as source:
        text = source.read()
    os.waitpid(process, 0)
    return job["row"] | (json.loads(text) if text else {"error": "the process died"})


if __name__ == "__main__":
    main()

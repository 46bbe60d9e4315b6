"""`python tools/oracle vllm==0.33.0 config.json --tp 1,8 --kv auto,fp8 --gpu h200`: what the released engine itself would allocate, without a GPU."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [p for p in (str(ROOT), str(ROOT / "src")) if p not in sys.path]

from serveright.catalog.engines import load_table  # noqa: E402
from serveright.catalog.gpus import load_gpu  # noqa: E402
from serveright.types.hardware import Gpu  # noqa: E402
from tools.oracle import comparison, environment, ours  # noqa: E402
from tools.oracle.jobs import LENGTHS, jobs  # noqa: E402

SM_COUNT = {8: 108, 9: 132, 10: 148, 12: 188}
SMI_MIB = {"h100-sxm": 81559, "h200-sxm": 143771, "b200-sxm": 183359, "rtx-pro-6000-blackwell-ws": 97887, "a100-80gb-sxm": 81920, "l40s": 46068}
"""`memory.total` of nvidia-smi, which SGLang asks; elsewhere what the driver reports stands in."""


def main() -> int:
    """Command line; rows go to --out (default: standard output) as JSON."""
    options = argparse.ArgumentParser(prog="tools/oracle", description=__doc__)
    options.add_argument("engine", help="vllm==VERSION or sglang==VERSION")
    options.add_argument("configs", nargs="*", type=Path, help="config.json files, or folders of them")
    options.add_argument("--tp", default="1", help="tensor parallel sizes, separated by commas")
    options.add_argument("--kv", default="auto", help="KV cache dtypes")
    options.add_argument("--mtp", default="0", help="numbers of speculative tokens of the model's own draft layers")
    options.add_argument("--gpu", default="h200", help="GPUs of the catalogue")
    options.add_argument("--lengths", default=",".join(map(str, LENGTHS)), help="request lengths in tokens")
    options.add_argument("--flag", action="append", default=[], metavar="NAME=JSON", help="a further engine argument, for example max_num_batched_tokens=2048")
    options.add_argument("--plain", action="store_true", help="hide the checkpoint's quantisation from the engine")
    options.add_argument(
        "--defaults", type=Path, metavar="FOLDER", help="write a whole and an altered config there for every architecture of the engine's table, and stop"
    )
    options.add_argument("--torch", default=environment.TORCH, help="the torch requirement to install")
    options.add_argument("--environments", type=Path, default=ROOT / ".build", help="where environments are made")
    options.add_argument("--out", type=Path, help="file for the rows")
    options.add_argument(
        "--compare", type=Path, nargs="?", const=Path("-"), metavar="ROWS", help="compare with serveright's own sizes, or with a file of earlier rows"
    )
    given = options.parse_args()
    home = environment.prepare(given.engine, given.environments, given.torch)
    if given.defaults:
        return write_defaults(home, given.defaults)
    if not given.configs:
        options.error("which configs?")
    rows: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = comparison.load(given.compare) if given.compare and given.compare.is_file() else []
    with tempfile.TemporaryDirectory() as scratch:
        for name in given.gpu.split(","):
            card = load_gpu(name)
            setup = prepared(home, card, given, Path(scratch))
            rows += run(home, setup, Path(scratch, f"{card.key}.json"))
            if given.compare and not given.compare.is_file():
                others += [ours.answer(home.engine, home.version, job, card) for job in setup["jobs"]]
    text = json.dumps(rows, indent=1)
    if given.out:
        given.out.write_text(text)
    elif not given.compare:
        print(text)
    return comparison.report(home.engine, rows, others) if given.compare else 0


def write_defaults(home: environment.Environment, folder: Path) -> int:
    """Configs from the defaults of the library's config classes, made by the environment's own library."""
    folder.mkdir(parents=True, exist_ok=True)
    table, _ = load_table(home.engine, home.version)
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "defaults.json")
        file.write_text(json.dumps({"architectures": [a.name for a in table.architectures], "folder": str(folder)}))
        return subprocess.run([home.python, str(Path(__file__).parent / "inside/defaults.py"), str(file)], check=False).returncode


def prepared(home: environment.Environment, card: Gpu, given: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """What the worker is told: the environment, the card to pretend and the jobs."""
    if card.capability is None:
        raise SystemExit(f"{card.key} has no CUDA capability: the oracle only knows CUDA builds")
    asked: dict[str, Any] = {"kv": given.kv.split(","), "keep": not given.plain, "cc": "{}.{}".format(*card.capability), "gpu": card.key}
    asked |= {name: [int(x) for x in text.split(",")] for name, text in (("tp", given.tp), ("mtp", given.mtp), ("lengths", given.lengths))}
    asked["flags"] = {name: json.loads(value) for name, _, value in (f.partition("=") for f in given.flag)}
    pretended = {"name": card.name, "capability": card.capability, "bytes": card.memory_bytes, "mib": SMI_MIB.get(card.key, card.memory_bytes >> 20)}
    return {
        "engine": home.engine,
        "version": home.version,
        "tree": home.tree,
        "absent": home.absent,
        "present": home.present,
        "gpu": pretended | {"sm_count": SM_COUNT.get(card.capability[0], 132)},
        "jobs": list(jobs(given.configs, scratch / "models", asked)),
    }


def run(home: environment.Environment, setup: dict[str, Any], file: Path) -> list[dict[str, Any]]:
    """One process of the engine for one card; its rows."""
    file.write_text(json.dumps(setup))
    worker = Path(__file__).parent / "inside/worker.py"
    done = subprocess.run([home.python, str(worker), str(file)], stdout=subprocess.PIPE, text=True, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    raise SystemExit(main())

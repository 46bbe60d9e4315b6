"""Other tools that answer some of the same questions, each installed from the package index into an environment of its own under `.peers`."""

import functools
import json
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp

from benchmarks.measure import Cost, command
from serveright.catalog.models import load

HOME = Path(__file__).parents[1] / ".peers"
INSIDE = Path(__file__).parent
TOKENS = 32768
# (name on the index, the program or driver that runs it)
KVFIT, HF_MEM, AICONFIGURATOR = "kvfit", "hf-mem", "aiconfigurator"
PEERS = (KVFIT, HF_MEM, AICONFIGURATOR)


@functools.cache
def environment(name: str) -> Path | None:
    """The `bin` folder of a peer's environment, made where it is not there; None, said on stderr, where it cannot be installed."""
    home = HOME / name / "bin"
    if not (HOME / name / ".ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(HOME / name)], check=True)
        if subprocess.run([str(home / "python"), "-m", "pip", "install", "--quiet", name], check=False, stderr=subprocess.DEVNULL).returncode:
            sys.stderr.write(f"{name} cannot be installed: left out\n")
            return None
        (HOME / name / ".ready").touch()
    return home


def version(name: str) -> str:
    """The installed version, or that there is none."""
    home = environment(name)
    if home is None:
        return f"{name} not installable"
    text = f"from importlib.metadata import version; print(version({name!r}))"
    return f"{name} {subprocess.run([str(home / 'python'), '-c', text], check=True, capture_output=True, text=True).stdout.strip()}"


@functools.cache
def folder(model: str) -> Path:
    """A folder with OWNER/MODEL/config.json of the catalogue, as every peer can read it."""
    top = Path(mkdtemp(prefix="configs"))
    place = top / model
    place.mkdir(parents=True)
    (place / "config.json").write_text(json.dumps(load(model).config))
    return top


def sizing(name: str, model: str) -> list[str] | None:
    """The command by which a peer tells the cache of one sequence of 32,768 tokens in bf16 on one GPU; None where the peer is not there."""
    home = environment(name)
    if home is None:
        return None
    top = folder(model)
    if name == KVFIT:
        own = f"--context {TOKENS} --kv-dtype bf16 --tp 1 --hardware custom:20000 --gpus 1 --weight-gib 1 --json".split()
        return [str(home / "python"), str(INSIDE / "inside_kvfit.py"), str(top), model, *own]
    if name == HF_MEM:
        own = f"--experimental --max-model-len {TOKENS} --kv-cache-dtype bfloat16 --json-output".split()
        return [str(home / "python"), str(INSIDE / "inside_hf_mem.py"), str(top), "--model-id", model, *own]
    layout = [
        "--system",
        "h200_sxm",
        "--backend",
        "vllm",
        "--estimate-mode",
        "static_gen",
        "--batch-size",
        "1",
        "--tp",
        "1",
        "--moe-tp",
        "1",
        "--moe-ep",
        "1",
        "--database-mode",
        "HYBRID",
    ]
    lengths = f"--isl {TOKENS - 1} --osl 1 --kvcache-quant-mode bfloat16 --detail memory --no-color".split()
    return [str(home / "aiconfigurator"), "cli", "estimate", "--model-path", str(top / model), *layout, *lengths]


def search(model: str, gpus: int) -> Cost | None:
    """aiconfigurator's search of a layout on H200, once; None where it is not there."""
    home = environment(AICONFIGURATOR)
    if home is None:
        return None
    wish = f"--total-gpus {gpus} --system h200_sxm --backend vllm --isl 4096 --osl 512 --ttft 5000 --tpot 50 --no-color".split()
    return command([str(home / "aiconfigurator"), "cli", "default", "--model-path", model, *wish], runs=1)

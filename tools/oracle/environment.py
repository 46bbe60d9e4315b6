"""The oracle's own environment: a venv with a CPU torch, the engine's Python requirements, and the wheel's Python files unpacked. Nothing of it is imported by the product."""

import json
import re
import subprocess
import sys
from pathlib import Path

from msgspec import Struct
from packaging.requirements import Requirement

from tools.harvest.wheel import EXTRAS, TARGET, Wheel, open_wheel

TORCH = "torch==2.13.0"
"""On a machine whose package index serves CPU builds; give `--torch` another requirement where it does not."""

GPU_ONLY = {
    "nvidia-cutlass-dsl": "cutlass",
    "quack-kernels": "quack",
    "humming-kernels": "humming",
    "apache-tvm-ffi": "tvm_ffi",
    "cuda-python": "cuda",
    "torchvision": "torchvision",
    "torchaudio": "torchaudio",
    **{n: n for n in ("tilelang", "torchcodec", "xgrammar")},
}
LEFT_OUT: dict[str, dict[str, str]] = {
    "vllm": GPU_ONLY | {"tokenspeed-mla": "tokenspeed_mla", "nvtx": "nvtx"},
    "sglang": GPU_ONLY
    | {"sglang-kernel": "sgl_kernel", "sgl-kernel": "sgl_kernel", "flashinfer-python": "flashinfer", "sgl-deep-ep": "deep_ep", "sgl-deep-gemm": "deep_gemm"}
    | {"sgl-flash-mla": "flash_mla", "flash-attn-4": "flash_attn", "nvidia-mathdx": "mathdx", "nvshmem4py-cu13": "nvshmem", "py-spy": "py_spy"}
    | {
        "deepseek-recipe": "deepseek_recipe",
        "smg-grpc-servicer": "smg_grpc_servicer",
        "tml-renderers": "tml_renderers",
        "torch-memory-saver": "torch_memory_saver",
    }
    | {
        n: n
        for n in (
            "anthropic",
            "blobfile",
            "build",
            "datasets",
            "easydict",
            "kernels",
            "modelscope",
            "numba",
            "outlines",
            "scipy",
            "soundfile",
            "timm",
            "torchao",
            "watchfiles",
            "av",
        )
    },
}
"""Requirements that need a GPU, or are large and beside the point, and the module a stand-in takes the place of."""

BUNDLED = {
    "vllm": ("deep_gemm", "flash_mla", "cuda", "tvm", "vllm.third_party.deep_gemm"),
    "sglang": (
        "deep_gemm",
        "flash_mla",
        "deep_ep",
        "cuda",
        "triton_kernels",
        "mooncake",
        "nixl",
        "decord",
        "cv2",
        "grpc",
        "addict",
        "librosa",
        "hf_transfer",
        "aiter",
        "vllm",
        "modelexpress",
        "outlines_core",
        "ninja",
    ),
}
"""Modules that come with the wheel's compiled parts, or that the engine imports without requiring them."""

KEPT: dict[str, tuple[str, ...]] = {"vllm": ("flashinfer-python",), "sglang": ()}
"""Installed without their own requirements: their Python answers questions the engine asks."""


IMPLIED: dict[str, tuple[str, ...]] = {"vllm": ("nvidia-ml-py", "tabulate", "click"), "sglang": ("dill", "loguru")}
"""Small packages an engine imports that come only with what was left out."""


class Environment(Struct, frozen=True, kw_only=True):
    """`tree` holds the engine's Python; `absent` lists modules to stand in for, `present` those whose `has_*` question is answered with yes."""

    engine: str
    version: str
    python: str
    tree: str
    absent: list[str]
    present: list[str]


def prepare(spec: str, folder: Path, torch: str = TORCH) -> Environment:
    """Makes the environment of `vllm==0.33.0` once under `folder`; afterwards reads what it is."""
    engine, _, version = spec.partition("==")
    home = folder / f"oracle-{engine}-{version}"
    ready = home / "environment.json"
    if not ready.is_file():
        home.mkdir(parents=True, exist_ok=True)
        wheel = open_wheel(spec)
        unpack(wheel, home / "tree")
        absent = install(wheel, home, engine, torch)
        modules = [n.partition(".")[0].replace("/", ".") for n in wheel.names if n.endswith(".so")]
        made = {"engine": engine, "version": version, "python": str(home / "venv/bin/python"), "tree": str(home / "tree"), "absent": sorted({*modules, *absent, *BUNDLED[engine]}),
                "present": sorted({*absent, *BUNDLED[engine], "cutedsl"})}  # fmt: skip
        ready.write_text(json.dumps(made, indent=1))
    found = json.loads(ready.read_text())
    return Environment(**found)


def unpack(wheel: Wheel, tree: Path) -> None:
    """Python, JSON and metadata files of the wheel; compiled ones stay where they are."""
    for name in wheel.names:
        if name.endswith("/"):
            continue
        if name.endswith((".py", ".json", ".jinja", ".txt", ".cu", ".h")) or ".dist-info/" in name:
            target = tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(wheel.archive.read(name))


def install(wheel: Wheel, home: Path, engine: str, torch: str) -> list[str]:
    """Fills the venv; returns the modules that were left out on purpose."""
    run([sys.executable, "-m", "venv", str(home / "venv")])
    pip = [str(home / "venv/bin/python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    wanted: list[str] = []
    absent: list[str] = []
    for line in wheel.metadata.get_all("Requires-Dist", []):
        need = Requirement(line)
        name = need.name.lower().replace("_", "-")
        if need.marker and not any(need.marker.evaluate(TARGET | {"extra": e}) for e in EXTRAS):
            continue
        if name in LEFT_OUT[engine]:
            absent.append(LEFT_OUT[engine][name])
        elif not re.match(r"torch$|nvidia-|pynvvideocodec|fastsafetensors|instanttensor|opencv|sglang", name):
            wanted.append(f"{need.name}{'[' + ','.join(need.extras) + ']' if need.extras else ''}{need.specifier}")
    kept = [w for w in wanted if Requirement(w).name in KEPT[engine]]
    run([*pip, torch])
    run([*pip, torch, *(w for w in wanted if w not in kept), *IMPLIED[engine]])
    run([*pip, "--no-deps", "triton", *kept])
    return sorted(set(absent))


def run(command: list[str]) -> None:
    """Runs a command and stops with its last words where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:6])} ... failed:\n{done.stderr[-2000:]}")

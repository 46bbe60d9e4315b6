"""What is asked of an engine: config files times parallelism, KV dtype and drafts; every job gets a clean model folder of its own."""

import itertools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.harvest.project import is_mapping

LENGTHS = (32768, 131072)


def configs(paths: list[Path]) -> list[Path]:
    """Config files among the paths; a folder gives every JSON file in it that is no quantisation file."""
    found: list[Path] = []
    for path in paths:
        found += sorted(path.rglob("*.json")) if path.is_dir() else [path]
    return [p for p in found if "quant_config" not in p.name]


def model_name(path: Path) -> str:
    """The folder's name of a `config.json`, else the file's own."""
    return path.parent.name if path.name == "config.json" else path.name.removesuffix(".json")


def folder(path: Path, home: Path, keep_quantisation: bool) -> Path:
    """A folder an engine can load: `auto_map` is taken out (no remote code), the quantisation too where asked."""
    target = home / (model_name(path) + ("" if keep_quantisation else "-plain"))
    target.mkdir(parents=True, exist_ok=True)
    config = json.loads(path.read_text(encoding="utf-8"))
    _drop(config, {"auto_map"} | (set() if keep_quantisation else {"quantization_config", "compression_config"}))
    (target / "config.json").write_text(json.dumps(config))
    quant = path.with_name("hf_quant_config.json" if path.name == "config.json" else f"{path.stem}_hf_quant_config.json")
    if keep_quantisation and quant.is_file():
        shutil.copy(quant, target / "hf_quant_config.json")
    tokens = path.with_name("added_tokens.json")
    if tokens.is_file():
        shutil.copy(tokens, target / "added_tokens.json")  # some classes look their image token up while they are built
    return target


def _drop(node: Any, keys: set[str]) -> None:
    if is_mapping(node):
        for key in keys & node.keys():
            del node[key]
        for value in node.values():
            _drop(value, keys)


def jobs(paths: list[Path], home: Path, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """`asked`: tp, kv, mtp (lists), keep (bool), lengths, flags, cc."""
    for path in configs(paths):
        place = folder(path, home, asked["keep"])
        for tp, kv, mtp in itertools.product(asked["tp"], asked["kv"], asked["mtp"]):
            row = {
                "model": model_name(path),
                "tp": tp,
                "kv_dtype": kv,
                "kv_cache_dtype_arg": kv,
                "cc": asked["cc"],
                "gpu": asked["gpu"],
                "num_speculative_tokens": mtp,
                "quant_config_stripped": not asked["keep"],
                "flags": asked["flags"],
            }
            yield {"folder": str(place), "tp": tp, "kv": kv, "mtp": mtp, "lengths": asked["lengths"], "flags": asked["flags"], "row": row}

"""Configs made from the defaults of transformers' config classes, one per architecture, whole or altered. Runs with the environment's own Python: defaults.py SETUP.json."""
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false

import json
import os
import sys
from pathlib import Path
from typing import Any

NESTED = ("text_config", "llm_config", "language_config", "thinker_config")
LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")
DOUBLED = (
    "mamba_d_state", "ssm_state_size", "state_size", "linear_num_value_heads", "linear_num_key_heads", "linear_num_heads", "sliding_window", "index_topk",
)  # fmt: skip
WIDTHS = (32, 64, 80, 96, 112, 128, 192, 256)
"""Head dimensions that kernels know."""


def main() -> None:
    """SETUP holds `architectures` (class names) and `folder`; prints one line for each class that cannot be made."""
    setup = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers.models.auto import modeling_auto
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    types: dict[str, str] = {}
    for name in sorted((n for n in dir(modeling_auto) if n.endswith("_MAPPING_NAMES")), key=lambda n: ("CAUSAL_LM" not in n, "IMAGE_TEXT" not in n, n)):
        for kind, classes in vars(modeling_auto)[name].items():
            for one in classes if isinstance(classes, (tuple, list)) else (classes,):
                types.setdefault(one, kind)
    folder = Path(setup["folder"])
    for architecture in sorted(set(setup["architectures"]) & types.keys()):
        kind = types[architecture]
        try:
            config = CONFIG_MAPPING[kind]()
            write(folder / f"{architecture}.json", config, architecture, kind)
            write(folder / f"{architecture}~alt.json", CONFIG_MAPPING[kind](**changes(config)), architecture, kind)
        except Exception as problem:  # noqa: BLE001 - a class without usable defaults is a line of the report
            print(f"{architecture}: {type(problem).__name__}: {problem}"[:200])


def write(path: Path, config: Any, architecture: str, kind: str) -> None:
    """The config as the library would save it, under the class's name."""
    data = json.loads(config.to_json_string(use_diff=True))
    data.pop("transformers_version", None)
    path.write_text(json.dumps({"model_type": kind, "dtype": "bfloat16", **data, "architectures": [architecture]}))


def changes(config: Any) -> dict[str, Any]:
    """Other sizes for the language model, as arguments of the config class."""
    whole = config.to_dict()
    path: list[str] = []
    inner = whole
    while key := next((k for k in NESTED if isinstance(inner.get(k), dict)), None):
        path.append(key)
        inner = inner[key]
    found = altered(inner)
    for depth in range(len(path), 0, -1):
        level = whole
        for key in path[:depth]:
            level = level[key]
        found = {path[depth - 1]: {"model_type": level.get("model_type"), **found}}
    return found


def altered(text: dict[str, Any]) -> dict[str, Any]:
    """Eight layers, other heads, doubled states and windows, a larger vocabulary."""
    new: dict[str, Any] = {key: 8 if text[key] != 8 else 12 for key in LAYERS if number(text.get(key))}
    new |= {key: 2 * text[key] for key in DOUBLED if number(text.get(key))}
    if number(text.get("vocab_size")):
        new["vocab_size"] = text["vocab_size"] + 1000
    query = next((key for key in ("num_attention_heads", "n_head") if number(text.get(key))), None)
    hidden = next((text[key] for key in ("hidden_size", "n_embd", "d_model") if number(text.get(key))), 0)
    if query and hidden:
        new |= heads(text, query, hidden)
    return new


def heads(text: dict[str, Any], query: str, hidden: int) -> dict[str, int]:
    """Twice the query heads where head dimensions stay usable, else half of them; KV heads follow."""
    old, kv = int(text[query]), int(text.get("num_key_value_heads") or 0)
    free = bool(text.get("head_dim"))
    new = next((n for n in (2 * old, old // 2) if n and (free or (hidden % n == 0 and hidden // n in WIDTHS))), old)
    if not kv:
        return {query: new}
    return {query: new, "num_key_value_heads": new if kv == old else 2 * kv if new % (2 * kv) == 0 else kv}


def number(value: Any) -> bool:
    """A positive whole number."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


if __name__ == "__main__":
    main()

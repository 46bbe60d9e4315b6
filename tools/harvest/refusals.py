"""`python -m tools.harvest.refusals DIR...`: what an engine's own checks say when they refuse, from unpacked wheels named ENGINE-VERSION.

Each message keeps its longest stretch without a value, the module that raises it and the releases that have it; the module tells what is refused.
"""

import ast
import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "src/serveright/facts/logs/refusals.json.gz"
LEAST, MOST = 18, 90
"""Characters of a stretch: shorter ones stand in other texts too, longer ones add nothing."""
HOLE = "\0"
TOPICS: tuple[tuple[str, str], ...] = (
    (r"/(multimodal_gen|benchmarks?|third_party|test|tests|kernels|apps|hardware_backend|debug_utils)/|/models/|hisparse|/snapshot/|weight_transfer", ""),
    (r"spec_decode|config/speculative|speculative", "speculation"),
    (r"/lora|lora_hook|config/lora", "lora"),
    (r"structured_output|constrained", "grammar"),
    (r"kv_transfer|disaggregation|ec_transfer|kv_events", "transfer"),
    (r"quantization|marlin", "quantisation"),
    (r"model_loader|transformers_utils|hf_transformers|weight_utils", "checkpoint"),
    (r"ray_utils|v1/engine/utils", "placement"),
    (r"attention|platforms/|mla_", "backend"),
    (
        r"sampling_params|sampling/|openai/|protocol|renderers|chat_utils|/inputs/|multimodal/|input_processor|tokenizer_manager|entrypoints/(anthropic|pooling)|"
        r"parser/(conversation|jinja|template)|io_struct",
        "request",
    ),
    (r"/config/|arg_utils|server_args|arg_groups|cli/|launchers|common/cli_args|/configs/model_config|engine/core_client|worker/gpu_worker|kv_cache_|model_executor/", "settings"),
)  # fmt: skip
HARDWARE = re.compile(r"(?i)capabilit|\bsm_?\d|\bsm\b|hopper|blackwell|ampere|compute|device|\bgpus?\b|cuda|rocm")
BUILD = re.compile(r"(?i)\bSM\d{2,3}\b|blackwell|hopper|capabilit")
"""Words of a GPU's generation: whoever says them refuses the GPU, whatever module it stands in."""
SPLIT = re.compile(r"(?i)divisible|multiple of|tensor parallel|tp_size|partition")
NOISE = re.compile(
    r"(?i)should not happen|not implemented|unreachable|must be implemented|subclass|abstract|has no attribute|unexpected keyword|no module named|"
    r"out of memory|no such file|cuda error|failed to import|object is not|is not a valid json|traceback|stack trace|error messages above|root cause|failed with error"
)
"""Texts of nobody's check, and texts that Python and torch write too."""
WORDS = 3
"""Fewer words than this stand in other people's messages."""
COMMON = re.compile(
    r"(?i)(a|an|and|are|be|been|but|by|can|cannot|currently|does|doesn|expected|for|from|got|has|have|in|instead|is|it|not|of|on|only|or|"
    r"please|should|supported|support|supports|that|the|this|to|unsupported|use|using|value|when|which|while|with|yet|model|config|must|"
    r"set)"
)
"""Words that any message may be made of: a stretch needs one beside them."""


def topic_of(module: str, text: str) -> str:
    """What a refusal is about; empty for modules that say nothing of serving."""
    found = next((topic for pattern, topic in TOPICS if re.search(pattern, module)), "")
    if found == "quantisation" and SPLIT.search(text):
        return "split"
    if found in ("quantisation", "backend") and (HARDWARE.search(text) or "deployment configuration" in text):
        return "hardware"
    if found == "settings" and (BUILD.search(text) or (re.search(r"fused_moe", module) and "deployment configuration" in text)):
        return "hardware"
    return found


def literal(node: ast.expr) -> str | None:
    """The text of an expression, with a hole where a value goes."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(str(part.value) if isinstance(part, ast.Constant) else HOLE for part in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = literal(left), literal(right)
            return None if parts == (None, None) else HOLE.join(part or "" for part in parts)
        case ast.BinOp(left=left, op=ast.Mod()):
            return re.sub(r"%[-\d.]*[a-z]", HOLE, literal(left) or "") or None
        case ast.Call(func=ast.Attribute(value=value, attr="format")):
            return re.sub(r"\{[^}]*\}", HOLE, literal(value) or "") or None
        case _:
            return None


def messages(source: str) -> Iterator[str]:
    """Texts of every raised exception and of every assertion that explains itself."""
    for node in ast.walk(ast.parse(source)):
        text = None
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            text = literal(node.exc.args[0])
        elif isinstance(node, ast.Assert) and node.msg is not None:
            text = literal(node.msg)
        if text and not NOISE.search(text):
            yield text


def stretch(text: str) -> str | None:
    """The longest part of the first line without a value."""
    parts = [part.strip() for line in text.splitlines()[:2] for part in line.split(HOLE)]
    best = max(parts, key=len, default="")[:MOST].strip()
    words = re.findall(r"[A-Za-z_]{2,}", best)
    telling = any(not COMMON.fullmatch(word) for word in words)
    return best if len(best) >= LEAST and len(words) >= WORDS and telling and not NOISE.search(best) else None


def harvest(folders: list[Path]) -> dict[str, list[list[str]]]:
    """engine -> [topic, stretch, module, first release, last release], in the order of the releases given."""
    found: dict[str, dict[str, list[str]]] = {}
    for folder in folders:
        engine, _, version = folder.name.partition("-")
        known = found.setdefault(engine, {})
        for path in sorted((folder / engine).rglob("*.py")):
            module = path.relative_to(folder).as_posix()
            if not topic_of(f"/{module}", ""):
                continue
            for text in messages(path.read_text(encoding="utf-8-sig", errors="replace")):
                best, topic = stretch(text), topic_of(f"/{module}", text)
                if best and topic:
                    row = known.setdefault(best, [topic, best, module, version, version])
                    known[best] = [topic, best, module, row[3], version]
    return {engine: sorted(rows.values()) for engine, rows in found.items()}


def main() -> None:
    """Writes the facts; folders oldest first."""
    rows = harvest([Path(name) for name in sys.argv[1:]])
    raw = json.dumps({"read": "unpacked wheels, 2026-11-29", "engines": rows}, ensure_ascii=False, separators=(",", ":"))
    OUT.write_bytes(gzip.compress(raw.encode(), mtime=0))
    print({engine: len(found) for engine, found in rows.items()}, OUT.stat().st_size, "bytes")


if __name__ == "__main__":
    main()

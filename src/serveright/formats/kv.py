"""Which precision a checkpoint asks for its KV cache, as vLLM hears it; and everything that is declared anywhere, for engines that hear it differently."""

from typing import Any, cast

_METHODS_HEARD = ("modelopt",)
"""vLLM 0.33.0 `get_kv_cache_quant_algo_string` listens to methods that begin so; compressed-tensors is heard through its `kv_cache_scheme`."""
_WORDS = {"fp8": "fp8", "fp8_e4m3": "fp8", "nvfp4": "nvfp4", "fp8_e5m2": "fp8_e5m2"}


def declared(quantisation: dict[str, Any], path: str) -> dict[str, str]:
    """JSON path -> fp8, nvfp4, ... of every wish in a quantisation object or hf_quant_config.json."""
    inner: object = quantisation.get("quantization")
    levels = [(quantisation, path)]
    if isinstance(inner, dict):
        levels.append((cast("dict[str, Any]", inner), f"{path}.quantization"))
    found: dict[str, str] = {}
    for level, where in levels:
        for key in ("kv_cache_scheme", "kv_cache_quant_algo"):
            precision = _precision(level.get(key))
            if precision:
                found[f"{where}.{key}"] = precision
    return found


def _precision(value: object) -> str | None:
    if isinstance(value, str):
        return _WORDS.get(value.lower(), value.lower()) or None
    if isinstance(value, dict):
        scheme = cast("dict[str, Any]", value)
        return {"8 float": "fp8", "4 float": "nvfp4", "8 int": "int8"}.get(f"{scheme.get('num_bits')} {scheme.get('type')}")
    return None


def heard(method: str, found: dict[str, str]) -> tuple[str | None, str | None]:
    """(precision, JSON path) of the wish vLLM follows: a scheme before an algorithm's name, a nested one before an outer one; (None, None) without one."""
    if method == "compressed-tensors":
        wishes = [path for path in found if path.endswith("kv_cache_scheme")]
        return ("fp8", wishes[0]) if wishes else (None, None)
    if not method.startswith(_METHODS_HEARD):
        return None, None
    order = sorted(found, key=lambda path: (path.endswith("kv_cache_quant_algo"), -path.count(".")))
    return next(((found[path], path) for path in order if found[path] in ("fp8", "nvfp4")), (None, None))

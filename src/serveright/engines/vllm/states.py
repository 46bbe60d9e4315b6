"""Recurrent layers as vLLM allocates them: convolution rows and state per GPU, their number types, and who exports prefill checkpoints.

Follows `layers/mamba/mamba_utils.py` and the layers' own `get_kv_cache_spec`.
"""

from math import prod

from msgspec import Struct

from serveright.engines.vllm.combinations import Device
from serveright.engines.vllm.words import engine_word, itemsize
from serveright.types.model import Recurrent
from serveright.types.vllm import VllmBehaviour


class State(Struct, frozen=True, kw_only=True):
    """One layer's state on one GPU: bytes of convolution and recurrence, number types, backend."""

    conv_bytes: int
    state_bytes: int
    conv_dtype: str
    state_dtype: str
    backend: str
    checkpoint: str
    replicated: bool = False

    @property
    def bytes(self) -> int:
        """Convolution and recurrence together, unpadded."""
        return self.conv_bytes + self.state_bytes


def state_of(m: Recurrent, *, behaviour: VllmBehaviour, architecture: str, tp: int, model_dtype: str, spec_tokens: int, override: str = "auto") -> State:
    """Bytes of one layer's state. `override` is `--mamba-ssm-cache-dtype`."""
    dtype = state_dtype(m, behaviour, architecture, model_dtype, override)
    backend = _by_kind(behaviour.state_backend, m, architecture)
    replicated = m.replicated or backend in behaviour.replicated_states
    tp = 1 if replicated else tp
    groups = m.groups + (tp - m.groups if m.kind == "mamba2" and m.groups % tp else 0)
    channels = m.conv_channels + (2 * (groups - m.groups) * m.state_shape[-1] if m.kind == "mamba2" else 0)
    rows = m.conv_rows + (spec_tokens if m.kind != "mamba1" else 0)
    conv = channels // tp * rows if m.conv_rows else 0
    shape = (m.state_shape[0] // tp, *m.state_shape[1:]) if m.state_shape else ()
    return State(
        conv_bytes=conv * itemsize("auto", model_dtype),
        state_bytes=prod(shape) * itemsize("auto", dtype) if shape else 0,
        conv_dtype=model_dtype,
        state_dtype=dtype,
        backend=backend,
        checkpoint=_by_kind(behaviour.state_checkpoint, m, architecture) or "never",
        replicated=replicated,
    )


def state_dtype(m: Recurrent, behaviour: VllmBehaviour, architecture: str, model_dtype: str, override: str) -> str:
    """The recurrence's number type: the flag, the config where the model's hook reads it, or the engine's default."""
    if override != "auto" and m.kind != "lightning":
        return engine_word(override)
    rule = _by_kind(behaviour.state_dtype, m, architecture) or "model"
    if rule == "config":
        return m.state_dtype or model_dtype
    if rule == "config_or_float32":
        return m.state_dtype or "float32"
    return model_dtype if rule == "model" else rule


def exports_checkpoint(m: Recurrent, state: State, device: Device, *, aligned: bool) -> bool:
    """The layer's prefill kernel can store a state in the middle of a chunk."""
    match state.checkpoint:
        case "always":
            return True
        case "flashinfer_gdn":
            return aligned and (device.sm == 90 or (device.major in (10, 12) and m.key_dim == 128))
        case "flashkda":
            return device.major in (9, 10, 12) and m.state_shape[-1] == 128 and state.conv_dtype == "bfloat16" and m.bounded_gate
        case _:
            return False


def checkpoint_alignment(m: Recurrent, state: State, device: Device, behaviour: VllmBehaviour, *, aligned: bool) -> int:
    """Tokens the block must be a multiple of so that exported states fall on block ends; 0 where the layer asks for nothing."""
    if state.checkpoint == "with_others" and aligned:
        return 1
    if state.checkpoint == "flashinfer_gdn" and exports_checkpoint(m, state, device, aligned=aligned):
        return behaviour.checkpoint_alignment
    return 0


def _by_kind(table: dict[str, str], m: Recurrent, architecture: str) -> str:
    """`Architecture/kind` before `Architecture` before `kind`."""
    return table.get(f"{architecture}/{m.kind}") or table.get(architecture, table.get(m.kind, ""))

"""What SGLang makes of a model before it decides anything: the numbers its ModelConfig would hold, from the layers alone plus its own name lists."""

import fnmatch
import re
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from serveright.types.hardware import Gpu
from serveright.types.model import Attention, Checkpoint, Latent, Layer, ModelShape, NumberFormat, Recurrent
from serveright.types.sglang import Experts, SglangBehaviour

_MAGIC = re.compile(r"[*?\[]")
_NUMBER = re.compile(r"\.\d+(?=\.)")
_DIGIT = re.compile(r"\d|\?")
_VIT_LAYERS, _VIT_WIDTH = 24, 1024
"""What the memory heuristic assumes of an encoder whose config does not say (memory_hook.py:440)."""
_NO_CONTEXT = 2048
"""What a config without a context length counts as (hf_transformers get_context_length)."""
_DTYPES = {"float16": "fp16", "bfloat16": "bf16", "half": "fp16"}


class Device(Struct, frozen=True, kw_only=True):
    """The GPU as SGLang tells them apart. `mib` is nvidia-smi's total, which the memory tiers read; `npu`: Ascend, `foreign`: neither of the three."""

    sm: int | None
    hip: bool
    mib: float
    npu: bool = False
    foreign: bool = False
    name: str = ""

    def at(self, place: str) -> bool:
        """Whether a `Where` of the behaviour table names this device."""
        if place in ("any", "never"):
            return place == "any"
        if place == "hip":
            return self.hip
        if self.sm is None:
            return False
        if place == "blackwell":
            return self.major in (10, 12)
        if place == "sm80_up":
            return self.sm >= 80
        number = int(place[2:])
        return self.sm == number if number < 90 else self.major == number // 10

    @property
    def major(self) -> int:
        """10 for sm_103; 0 off CUDA."""
        return 0 if self.sm is None else self.sm // 10


class Seen(Struct, frozen=True, kw_only=True):
    """One model. Dimensions are of the whole model; layers are counted the way SGLang allocates (layers that read another's rows included)."""

    architecture: str
    layers: tuple[Layer, ...]
    full: Attention | None
    window: Attention | None
    latent: Latent | None
    attention_layers: int
    full_layers: int
    window_layers: int
    index_layers: int
    states: tuple[Recurrent, ...]
    conv_rows: int
    hidden: int
    mla: bool
    dsa: bool
    v4: bool
    minimax_sparse: bool
    two_pools: bool
    sinks: bool
    multimodal: bool
    vision: tuple[int, int] | None
    """Layers and width of the vision tower as the memory heuristic reads them; None where it finds no vision config."""
    dtype: str
    quantization: str | None
    experts: Experts
    kv_scheme: str | None
    context: int
    draft_layers: int
    draft_windows: int
    """Windows among the prediction layers."""
    drafter: Attention | None
    """Attention of a draft model of its own: `draft_layers` and `draft_windows` are then that model's; None where the checkpoint's own layers draft."""
    heads: tuple[int, ...]
    """Query heads of every kind of attention, which tensor parallelism must divide."""


def device_of(gpu: Gpu, behaviour: SglangBehaviour) -> Device:
    """The device, with nvidia-smi's figure where it is known and the CUDA total in MiB elsewhere."""
    mib = behaviour.driver_mib.get(gpu.key, gpu.memory_bytes / 2**20)
    vendor = gpu.vendor.upper()
    return Device(sm=gpu.sm, hip=vendor == "AMD", mib=mib, npu=vendor == "HUAWEI", foreign=vendor not in ("NVIDIA", "AMD", "HUAWEI"), name=gpu.name)


def stages(seen: Seen, pp: int) -> tuple[Seen, ...]:
    """The model as each pipeline stage sees it: layers dealt evenly, the last stages take one more (distributed/utils.py get_pp_indices)."""
    if pp <= 1:
        return (seen,)
    base, extra = divmod(len(seen.layers), pp)
    parts: list[Seen] = []
    start = 0
    for rank in range(pp):
        stop = start + base + (1 if rank >= pp - extra else 0)
        parts.append(_slice(seen, start, stop))
        start = stop
    return tuple(parts)


def _slice(seen: Seen, start: int, stop: int) -> Seen:
    layers = seen.layers[start:stop]
    counts = _counts(layers, seen.conv_rows)
    scale = seen.attention_layers // max(1, _counts(seen.layers, seen.conv_rows).attention)
    return replace(
        seen,
        layers=layers,
        attention_layers=counts.attention * scale,
        full_layers=counts.full,
        window_layers=counts.window,
        index_layers=counts.index,
        states=counts.states,
    )


class _Counts(Struct, frozen=True):
    attention: int
    full: int
    window: int
    index: int
    states: tuple[Recurrent, ...]


def _counts(layers: tuple[Layer, ...], conv_rows: int) -> _Counts:
    mixers = [m for layer in layers for m in layer.mixers]
    softmax = [m for m in mixers if isinstance(m, Attention)]
    latents = [m for m in mixers if isinstance(m, Latent)]
    states = tuple(m for m in mixers if isinstance(m, Recurrent))
    window = sum(m.kind in ("sliding", "chunked") for m in softmax)
    rows = len(softmax) + len(latents)
    return _Counts(
        attention=rows if states or conv_rows else max(len(layers), rows),
        full=len(softmax) - window,
        window=window,
        index=sum(m.indexer is not None and m.indexer.owns_keys for m in (*latents, *softmax)),
        states=states,
    )


def see(shape: ModelShape, checkpoint: Checkpoint, behaviour: SglangBehaviour, drafter: ModelShape | None = None) -> Seen:
    """SGLang's view of a model and its checkpoint, and of a draft model of its own."""
    name = behaviour.alias_by_model_type.get(shape.model_type) or behaviour.alias.get(shape.architecture, shape.architecture)
    softmax = [m for layer in shape.layers for m in layer.mixers if isinstance(m, Attention)]
    latents = [m for layer in shape.layers for m in layer.mixers if isinstance(m, Latent)]
    plain = [m for m in softmax if m.kind not in ("sliding", "chunked")]
    windowed = [m for m in softmax if m.kind in ("sliding", "chunked")]
    conv_rows = max((m.conv_rows for m in softmax), default=0)
    counts = _counts(shape.layers, conv_rows)
    return Seen(
        architecture=name,
        layers=shape.layers,
        full=plain[0] if plain else windowed[0] if windowed else None,
        window=windowed[0] if windowed else None,
        latent=latents[0] if latents else None,
        attention_layers=counts.attention,
        full_layers=counts.full,
        window_layers=counts.window,
        index_layers=counts.index,
        states=counts.states,
        conv_rows=conv_rows,
        hidden=shape.hidden,
        mla=bool(latents) and not behaviour.listed("v4", name),
        dsa=behaviour.listed("dsa", name) and any(m.indexer for m in latents),
        v4=behaviour.listed("v4", name),
        minimax_sparse=behaviour.listed("minimax_sparse", name),
        two_pools=_two_pools(name, windowed, behaviour),
        sinks=(behaviour.listed("sinks", name) and any(m.sinks for m in softmax)) or any(m.sinks for m in latents),
        multimodal=bool(shape.towers) and not behaviour.listed("vision_off", name),
        vision=_vision(shape, name, behaviour),
        dtype=_dtype(shape, silent_bf16=behaviour.listed("silent_bf16", name)),
        quantization=quantization(checkpoint),
        experts=_experts(shape, checkpoint),
        kv_scheme=_kv_scheme(checkpoint),
        context=shape.max_context_tokens or _NO_CONTEXT,
        draft_layers=drafter.mtp_layers or len(drafter.layers) if drafter else 0 if behaviour.listed("draft_uncounted", name) else shape.mtp_layers,
        draft_windows=_draft_windows(drafter, behaviour) if drafter else _windows(shape.mtp),
        drafter=next((m for layer in drafter.layers for m in layer.mixers if isinstance(m, Attention)), None) if drafter else None,
        heads=tuple(sorted({m.query_heads for m in (*softmax, *latents)})),
    )


def _windows(layers: tuple[Layer, ...]) -> int:
    return sum(any(isinstance(m, Attention) and m.kind == "sliding" for m in layer.mixers) for layer in layers)


def _draft_windows(drafter: ModelShape, behaviour: SglangBehaviour) -> int:
    """Windows of a draft model, which only the classes with two pools tell apart."""
    softmax = [m for layer in drafter.layers for m in layer.mixers if isinstance(m, Attention) and m.kind == "sliding"]
    return _windows(drafter.layers) if _two_pools(drafter.architecture, softmax, behaviour) else 0


def _dtype(shape: ModelShape, *, silent_bf16: bool) -> str:
    """A config without a dtype counts as float32, which SGLang serves as float16 (Gemma as bfloat16), unless its own config class names one."""
    silent = any(e.kind != "config" and e.path.rpartition(".")[2] in ("dtype", "torch_dtype") for e in shape.evidence)
    if silent and silent_bf16:
        return "bf16"
    if silent or shape.dtype == "float32":
        return "bf16" if shape.model_type.startswith("gemma") else "fp16"
    return _DTYPES.get(shape.dtype, shape.dtype)


def _two_pools(name: str, windowed: list[Attention], behaviour: SglangBehaviour) -> bool:
    return bool(windowed) and behaviour.listed("window_pools", name) and not behaviour.listed("window_pools_off", name)


def _vision(shape: ModelShape, name: str, behaviour: SglangBehaviour) -> tuple[int, int] | None:
    towers = [t for t in shape.towers if t.kind == "vision"]
    if not towers or behaviour.listed("vision_config_unread", name):
        return None
    if name in behaviour.vision_fixed:
        return behaviour.vision_fixed[name]
    stated = towers[0].stated
    if stated is not None:
        return stated[0] or _VIT_LAYERS, stated[1] or _VIT_WIDTH
    if behaviour.listed("vision_sizes_unread", name):
        return _VIT_LAYERS, _VIT_WIDTH
    return _VIT_LAYERS if behaviour.listed("vision_depth_unread", name) else towers[0].layers, towers[0].hidden


def quantization(checkpoint: Checkpoint) -> str | None:
    """The method SGLang's ModelConfig settles on: ModelOpt files are told apart by their format, everything else keeps its own word."""
    method = checkpoint.method
    if method in ("none", ""):
        return None
    if method.startswith("modelopt"):
        known = {"nvfp4": "modelopt_fp4", "fp8": "modelopt_fp8", "mixed": "modelopt_mixed", "mxfp8": "mxfp8"}
        return known.get(checkpoint.format, method)
    return method


def _kv_scheme(checkpoint: Checkpoint) -> str | None:
    """What `--kv-cache-dtype auto` hears: a `kv_cache_quant_algo` anywhere, a `kv_cache_scheme` of ModelOpt; compressed-tensors' scheme is not asked."""
    algorithms = [value for path, value in checkpoint.kv_declared.items() if path.endswith("kv_cache_quant_algo")]
    if algorithms or not checkpoint.method.startswith("modelopt"):
        return algorithms[-1] if algorithms else None
    return next((value for path, value in checkpoint.kv_declared.items() if path.endswith("kv_cache_scheme")), None)


def _experts(shape: ModelShape, checkpoint: Checkpoint) -> Experts:
    paths = {w.path for w in shape.weights if w.part == "experts" and not w.mtp} if checkpoint.rules else set[str]()
    found = {f for f in map(formats(checkpoint), paths) if f is not None}
    names: set[Experts] = set()
    for number in found:
        if number.name.startswith("nvfp4"):
            names.add("nvfp4_w4a16" if number.activation_bits == 16 else "nvfp4")
        elif number.name.startswith("mxfp4"):
            names.add("mxfp4")
        elif number.bits == 4 and number.group == 32:
            names.add("int4_group32")
    for name in ("nvfp4_w4a16", "nvfp4", "mxfp4", "int4_group32"):
        if name in names:
            return name
    return ""


def format_of(checkpoint: Checkpoint, path: str) -> NumberFormat | None:
    """The number format of one module path (`*` stands for any expert); None where no rule names it. For many paths take `formats` once."""
    return formats(checkpoint)(path)


def formats(checkpoint: Checkpoint) -> Callable[[str], NumberFormat | None]:
    """A function from module path to format; patterns are compiled once, and layers told apart only where some rule names numbers."""
    rules = [(rule, _Names(rule.patterns)) for rule in checkpoint.rules]
    alike = not any(_DIGIT.search(pattern) for rule in checkpoint.rules for pattern in rule.patterns)
    known: dict[str, NumberFormat | None] = {}

    def look(path: str) -> NumberFormat | None:
        for rule, names in rules:
            if rule.target == "experts" and "expert" not in path:
                continue
            if (rule.target != "path" and not rule.patterns) or names.hold(path.replace("*", "0")) or names.hold(path):
                return rule.format
        return None

    def find(path: str) -> NumberFormat | None:
        key = _NUMBER.sub(".0", path) if alike else path
        if key not in known:
            known[key] = look(key)
        return known[key]

    return find


class _Names:
    """Patterns of one rule sorted by kind: plain texts in a set, globs as one expression, regular expressions as they are."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        texts = [p for p in patterns if not p.startswith("re:")]
        self.all = any(p in ("*", "Linear") for p in texts)
        self.plain = frozenset(texts)
        globs = [p for p in texts if _MAGIC.search(p)]
        self.globs = re.compile("|".join(map(fnmatch.translate, globs))) if globs else None
        self.regexes = [re.compile(p[3:]) for p in patterns if p.startswith("re:")]

    def hold(self, path: str) -> bool:
        """A plain text names its module and everything below it."""
        if self.all or (self.globs is not None and self.globs.match(path)) or any(r.match(path) for r in self.regexes):
            return True
        parts = path.split(".")
        return bool(self.plain) and any(".".join(parts[:n]) in self.plain for n in range(1, len(parts) + 1))

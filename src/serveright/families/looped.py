"""Models that run stacks of layers several times with the same weights; every pass keeps rows of its own (HRM-Text, IQuest LoopCoder)."""

from msgspec.structs import replace

from serveright.families.attention import Defaults
from serveright.families.blocks import linear
from serveright.families.decoder import Style, biased, block, mixers, start
from serveright.families.ffn import plan
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, close_frame, edges, layer_count
from serveright.types.model import Attention, ModelShape, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"HrmTextForCausalLM", "IQuestLoopCoderForCausalLM"})
_HRM = Style(dialect="looped", defaults=Defaults(source="transformers 5.24 HrmTextConfig", head_dim=128), gate="full", gate_name="gate_proj", norms=())
_LOOP = Style(dialect="looped", defaults=Defaults(source="vLLM 0.33.0 iquest_loopcoder"))


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    if files.config["architectures"][0] == "HrmTextForCausalLM":
        return _hrm(fields, files)
    return _loopcoder(fields, files)


def _hrm(fields: Fields, files: ModelFiles) -> ModelShape:
    """A slow and a fast stack: in each of H cycles the fast one runs L times, then the slow one once. No norm has weights."""
    frame = start(fields, _HRM)
    text = frame.text
    stack, high, low = text.integer("num_layers_per_stack"), text.integer("H_cycles"), text.integer("L_cycles")
    text.ignore("num_hidden_layers", "L_bp_cycles", "prefix_lm")
    text.note(
        "H_cycles",
        msg("two stacks of {stack} layers run {slow} and {fast} times, and each pass keeps K and V rows of its own", stack=stack, slow=high, fast=high * low),
    )
    blocks = [
        *_stack(frame, "L_module", stack, 0, high * low),
        *_stack(frame, "H_module", stack, stack, high),
    ]
    extra = [weight for weight in edges(frame) if weight.part != "norm"]
    extra.append(Weight(path=f"{frame.root}z_L_init", part="other", shape=(frame.hidden,), shard="replicated", linear=False))
    return close_frame(frame, files, dialect="looped", blocks=blocks, extra=extra)


def _stack(frame: Frame, name: str, count: int, first: int, passes: int) -> list[Block]:
    ffns = plan(frame.text, count)
    found: list[Block] = []
    for i, mixer in enumerate(mixers(frame, count, _HRM)):
        one = block(_HRM, f"{frame.root}{name}.layers.{i}", first + i, frame.hidden, mixer, ffns[i])
        one.layer = replace(one.layer, mixers=one.layer.mixers * passes)
        found.append(one)
    return found


def _loopcoder(fields: Fields, files: ModelFiles) -> ModelShape:
    """Llama's layers, run `loop_num` times; later passes gate between the first pass's rows and a window of their own."""
    style = biased(fields, _LOOP)
    frame = start(fields, style)
    count = layer_count(frame.text)
    loops = frame.text.int_or(2, _LOOP.defaults.source, "loop_num", minimum=1)
    window = frame.text.int_or(64, _LOOP.defaults.source, "loop_window_size", minimum=1)
    frame.text.note("loop_num", msg("the layers run {loops} times; later passes keep a window of {window} tokens of their own", loops=loops, window=window))
    ffns = plan(frame.text, count)
    blocks: list[Block] = []
    for i, mixer in enumerate(mixers(frame, count, style)):
        one = block(style, f"{frame.root}layers.{i}", i, frame.hidden, mixer, ffns[i])
        later = replace(mixer, kind="sliding", window_tokens=window) if isinstance(mixer, Attention) else mixer
        one.layer = replace(one.layer, mixers=(mixer, *(later,) * (loops - 1)))
        if isinstance(mixer, Attention):
            gate = f"{frame.root}gate_projections.{i}"
            one.weights += linear(gate, "attention", mixer.query_heads, mixer.head_dim, "q_heads", layer=i, units=mixer.query_heads, bias=True)
        blocks.append(one)
    return close_frame(frame, files, dialect="looped", blocks=blocks, extra=edges(frame))

"""Step3: multi-matrix factorisation attention. One wide KV head serves all query heads, which grow from a shared narrow query; experts beside one shared expert."""

from serveright.families import ffn as feed
from serveright.families import towers
from serveright.families.attention import Defaults, base_heads
from serveright.families.blocks import linear, norm
from serveright.families.fields import Fields
from serveright.families.frame import Block, close_frame, edges, layer_count, open_frame, text_of
from serveright.types.model import Attention, Layer, ModelShape, Tower, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"Step3TextForCausalLM", "Step3VLForConditionalGeneration"})
_NAMES = feed.FfnNames(block="moe", dense_block="mlp", shared="share_expert", outer_shared=True)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, text_of(fields), nested_root="model.")
    text = frame.text
    count = layer_count(text)
    heads = base_heads(text, frame.hidden, Defaults(source="vLLM 0.33.0 Step3TextAttention", kv_heads=1, head_dim=256))
    narrow = text.int_or(heads.dim, "vLLM 0.33.0 Step3TextAttention", "share_q_dim", minimum=1)
    text.note(
        "share_q_dim",
        msg(
            "queries of {width} elements are shared, and {kv} KV head of {dim} serves all {query} query heads",
            width=narrow,
            kv=heads.kv,
            dim=heads.dim,
            query=heads.query,
        ),
    )
    mixer = Attention(kind="full", query_heads=heads.query, kv_heads=heads.kv, head_dim=heads.dim, v_head_dim=heads.dim)
    if text.raw.get("moe_layers_enum") is None:
        text.substitute("moe_layers_enum", ",".join(str(i) for i in range(1, count)))
        text.assume("moe_layers_enum", "all but the first", "vLLM 0.33.0 Step3TextDecoderLayer")
    ffns = feed.plan(text, count)
    blocks: list[Block] = []
    for i, ffn in enumerate(ffns):
        path = f"{frame.root}layers.{i}"
        weights = [
            *norm(f"{path}.input_layernorm", frame.hidden, layer=i),
            *_attention(f"{path}.self_attn", i, frame.hidden, mixer, narrow),
            *norm(f"{path}.post_attention_layernorm", frame.hidden, layer=i),
            *feed.weights(path, i, frame.hidden, ffn, _NAMES),
        ]
        blocks.append(Block(layer=Layer(index=i, mixers=(mixer,), ffns=(ffn,)), weights=weights))
    eyes = _eyes(fields)
    return close_frame(frame, files, dialect="step3", blocks=blocks, extra=edges(frame), towers=eyes, modalities=("text", "image") if eyes else ("text",))


def _attention(path: str, i: int, hidden: int, mixer: Attention, narrow: int) -> list[Weight]:
    """The shared query, key and value are replicated on every rank; only the queries' second matrix and the output are cut."""
    dim, heads = mixer.head_dim, mixer.query_heads
    return [
        *linear(f"{path}.q_proj", "attention", narrow, hidden, "replicated", layer=i),
        *linear(f"{path}.k_proj", "attention", mixer.kv_heads * dim, hidden, "replicated", layer=i),
        *linear(f"{path}.v_proj", "attention", mixer.kv_heads * dim, hidden, "replicated", layer=i),
        *norm(f"{path}.inter_norm", narrow, layer=i),
        *linear(f"{path}.wq", "attention", heads * dim, narrow, "q_heads", layer=i, units=heads),
        *linear(f"{path}.o_proj", "attention", hidden, heads * dim, "row", layer=i, units=heads),
    ]


def _eyes(fields: Fields) -> tuple[Tower, ...]:
    config = fields.child("vision_config")
    if config is None:
        return ()
    layers, hidden, heads = (config.opt_int(name) or 0 for name in ("num_hidden_layers", "hidden_size", "num_attention_heads"))
    towers.unread(fields, "vision_config")
    fields.unknown("vision_config", msg("this encoder's weights cannot be derived from its config; they are not counted"))
    return (Tower(kind="vision", layers=layers, hidden=hidden, heads=heads),)

"""Muse Glimmer and Muse Spark: a gate per channel on the attention output, q and k normed without a scale, windows between layers without positions; Spark routes experts on a narrower latent."""

from functools import partial

from msgspec.structs import replace

from serveright.families import towers
from serveright.families.attention import Defaults
from serveright.families.blocks import norm
from serveright.families.decoder import SANDWICH, Style, Towers, biased, build
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.families.frame import Frame, layer_count, text_of
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles
from serveright.types.text import msg

_SPARK = {"MuseSparkForConditionalGeneration", "MuseSparkForCausalLM"}
ARCHITECTURES = frozenset(_SPARK | {"MuseGlimmerForConditionalGeneration", "MuseGlimmerForCausalLM"})
_STYLE = Style(
    dialect="muse",
    defaults=Defaults(source="transformers 5.24 MuseGlimmerTextConfig", window=2048, full_every=4),
    gate="full",
    gate_name="gate_proj",
    norms=SANDWICH,
)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    text = text_of(fields)
    text.ignore("layer_rope_theta", "qk_scale_factor")
    style = _STYLE
    if files.config["architectures"][0] in _SPARK:
        style = _spark(text)
    if isinstance(fields.raw.get("audio_config"), dict):
        towers.unread(fields, "audio_config")
        fields.unknown("audio_config", msg("this encoder's weights cannot be derived from its config; they are not counted"))
    return build(fields, files, biased(text, style), towers=partial(_eyes, fields, files))


def _spark(text: Fields) -> Style:
    """Layer kinds count backward from the last layer, which is full; experts work on `moe_hidden_size`."""
    source, count = "transformers 5.24 MuseSparkTextConfig", layer_count(text)
    text.default("layer_types", ["full_attention" if (count - 1 - i) % 4 == 0 else "sliding_attention" for i in range(count)], source)
    if text.has("moe_hidden_size"):
        text.substitute("moe_latent_size", text.integer("moe_hidden_size"))
    return replace(
        _STYLE,
        defaults=Defaults(source=source, window=2048, head_dim=64),
        names=FfnNames(latent=("pre_expert_proj", "post_expert_proj"), latent_norm="pre_expert_norm"),
    )


def _eyes(fields: Fields, files: ModelFiles, frame: Frame) -> Towers:
    config = fields.child("vision_config")
    if config is None:
        return (), [], ()
    fields.note("vision_config", msg("a vision encoder stands in front: images and video in"), "…")
    hidden, patch, merge = config.integer("hidden_size"), config.integer("patch_size"), config.integer("merge_size", "spatial_merge_size")
    vit = towers.Vit(
        layers=config.integer("num_hidden_layers"),
        hidden=hidden,
        heads=config.integer("num_attention_heads"),
        intermediate=config.integer("intermediate_size"),
        qkv=("attn.q_proj", "attn.k_proj", "attn.v_proj"),
    )
    positions = config.integer("pos_emb_height") * config.integer("pos_emb_width")
    config.ignore("layer_types", "window_size")
    wide = fields.integer("projector_hidden_size")
    path = "model.vision_tower"
    weights = [
        *towers.dense(f"{path}.patch_embedder.patch_embedding", hidden, 3 * config.integer("patch_temporal") * patch * patch, bias=False),
        towers.table(f"{path}.patch_embedder.position_embedding_table", positions, hidden),
        *norm(f"{path}.ln_pre", hidden, bias=True, part="vision"),
        *towers.blocks(f"{path}.layers", vit),
        *norm(f"{path}.ln_post", hidden, bias=True, part="vision"),
        *towers.dense("model.vision_adapter.fc1", wide, fields.integer("out_hidden_size"), bias=False),
        *towers.dense("model.vision_adapter.fc2", wide, wide, bias=False),
        *towers.dense("model.vision_projection", frame.hidden, wide, bias=False),
    ]
    return (towers.tower(vit, towers.pixels(files, patch, merge)),), weights, ("image", "video")

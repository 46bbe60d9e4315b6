"""RADIO, the vision encoder of Nemotron's vision models, and the projector behind it: its config names a backbone of timm, whose sizes stand in the class.

Source: vLLM 0.33.0 transformers_utils/configs/radio.py, model_executor/models/radio.py and nano_nemotron_vl.py.
"""

from typing import Any, cast

from serveright.families import towers
from serveright.families.blocks import norm
from serveright.families.fields import Fields
from serveright.types.model import ImageGeometry, Weight
from serveright.types.text import msg

_BACKBONES = {
    "vit_small_patch16_224": (384, 12, 6, 1536),
    "vit_base_patch16_224": (768, 12, 12, 3072),
    "vit_large_patch16_224": (1024, 24, 16, 4096),
    "vit_huge_patch16_224": (1280, 32, 16, 5120),
    "vit_so400m_patch16_224": (1152, 27, 16, 4304),
}
"""timm's word -> hidden size, layers, heads, MLP."""
_LONGEST_SIDE = 2048
"""Pixels of the position table's side where the config gives none."""


def radio(fields: Fields, config: Fields, hidden: int) -> towers.Read | None:
    """The encoder of `config` and the projector into `hidden`; None, and named as not counted, where the backbone is no known one."""
    args = config.child("args")
    backbone = _BACKBONES.get(args.text("model") or "") if args is not None else None
    projector = fields.opt_int("projector_hidden_size")
    if args is None or backbone is None or not projector:
        towers.unread(fields, "vision_config")
        fields.unknown("vision_config", msg("an encoder whose weights are not counted here"))
        return None
    width, layers, heads, wide = backbone
    patch = config.opt_int("patch_size") or fields.opt_int("patch_size") or 16
    vit = towers.Vit(layers=layers, hidden=width, heads=heads, intermediate=wide)
    side = round((args.opt_int("cpe_max_size") or _LONGEST_SIDE) / patch)
    path, frames = "vision_model.radio_model.model", config.opt_int("video_temporal_patch_size") or 1
    weights: list[Weight] = [
        *towers.dense(f"{path}.patch_generator.embedder", width, 3 * patch * patch, bias=False),
        *(towers.dense(f"{path}.patch_generator.video_embedder", width, 3 * frames * patch * patch, bias=False) if frames > 1 else ()),
        towers.table(f"{path}.patch_generator.pos_embed", side * side, width),
        towers.table(f"{path}.patch_generator.cls_token.token", _tokens(args), width),
        *towers.blocks(f"{path}.blocks", vit),
    ]
    merge = round(1 / (fields.number("downsample_ratio") if fields.raw.get("downsample_ratio") is not None else 0.5))
    joined = width * merge * merge
    weights += [
        *norm("mlp1.0", joined, part="vision"),
        *towers.dense("mlp1.1", projector, joined, bias=False),
        *towers.dense("mlp1.3", hidden, projector, bias=False),
    ]
    args.ignore(*args.raw)
    config.ignore(*config.raw)
    fields.note("vision_config", msg("a vision encoder stands in front: images in"), "…")
    return towers.tower(vit, ImageGeometry(patch_pixels=patch, merge=merge)), weights


def _tokens(args: Fields) -> int:
    """Class tokens, one a teacher where each has its own, filled up with registers to a multiple."""
    listed = args.items("teachers") or []
    names = {cast("dict[str, Any]", teacher).get("name") for teacher in listed if isinstance(teacher, dict)}
    own = len(names) if args.flag("cls_token_per_teacher") and names else 1
    multiple = args.opt_int("register_multiple") or 0
    return own + (multiple - own % multiple if multiple else 0)

"""MiMo V2's encoders: a vision transformer with grouped heads and sinks in its window layers, and an audio encoder over codes of several channels."""

from msgspec.structs import replace

from serveright.families import towers
from serveright.families.blocks import norm
from serveright.families.fields import Fields
from serveright.types.model import Tower, Weight
from serveright.types.source import ModelFiles

_HEAD = 64
_VISION = "vLLM 0.33.0 MiMoV2OmniVisionConfig"
_AUDIO = "vLLM 0.33.0 MimoAudioEncoderConfig"


def vision(config: Fields, files: ModelFiles, path: str) -> towers.Read:
    """RMS norms, gated MLPs with biases, a merger without; every layer outside `fullatt_block_indexes` has a sink for each head where `use_sink` says so."""
    hidden, patch, merge = config.integer("hidden_size"), config.integer("patch_size"), config.integer("spatial_merge_size")
    heads, depth = config.integer("num_heads"), config.integer("depth")
    vit = towers.Vit(
        layers=depth,
        hidden=hidden,
        heads=heads,
        kv_heads=config.int_or(heads, _VISION, "num_key_value_heads", minimum=1),
        head_dim=config.int_or(_HEAD, _VISION, "qk_channels", minimum=1),
        intermediate=config.integer("intermediate_size"),
        mlp=("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
        norm_bias=False,
    )
    whole = set(config.ints("fullatt_block_indexes") or ())
    sinks = [i for i in range(depth) if i not in whole] if config.flag("use_sink") else []
    wide = hidden * merge * merge
    weights = [
        *towers.dense(f"{path}.patch_embed.proj", hidden, 3 * config.integer("temporal_patch_size") * patch * patch, bias=False),
        *towers.blocks(f"{path}.blocks", vit),
        *(towers.table(f"{path}.blocks.{i}.attn.sinks", heads) for i in sinks),
        *norm(f"{path}.merger.ln_q", hidden, part="vision"),
        *towers.two_layers(f"{path}.merger.mlp.0", f"{path}.merger.mlp.2", wide, config.integer("out_hidden_size"), bias=False),
    ]
    config.ignore(*config.raw)
    return replace(towers.tower(vit, towers.pixels(files, patch, merge)), stated=(0, 0)), weights


def audio(config: Fields, path: str) -> tuple[Tower, list[Weight]]:
    """A table of codes for every channel, a small transformer over groups of frames, one or two projections. Raises InputError for sizes that are missing."""
    hidden, channels = config.integer("input_local_dim"), config.integer("audio_channels")
    sizes = _sizes(config, channels)
    vit = towers.Vit(
        part="audio",
        layers=config.integer("input_local_layers"),
        hidden=hidden,
        heads=config.integer("input_local_attn_heads"),
        intermediate=config.integer("input_local_intermediate_size"),
        qkv=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        out="self_attn.o_proj",
        mlp=("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
        norms=("input_layernorm", "post_attention_layernorm"),
        norm_bias=False,
        out_bias=False,
        mlp_bias=False,
    )
    group, out = hidden * config.int_or(4, _AUDIO, "group_size", minimum=1), config.integer("out_hidden_size")
    twice = config.int_or(1, _AUDIO, "projection_layers", minimum=1) > 1
    joint = (("projection.mlp.0", 4 * group, group), ("projection.mlp.2", out, 4 * group)) if twice else (("projection", out, group),)
    weights = [
        *(towers.table(f"{path}.speech_embeddings.{i}", rows, hidden, part="audio") for i, rows in enumerate(sizes)),
        *towers.blocks(f"{path}.input_local_transformer.layers", vit),
        *(norm(f"{path}.input_local_transformer.norm", hidden, part="audio") if config.flag("add_post_norm") else []),
        *(w for name, rows, into in joint for w in towers.dense(f"{path}.{name}", rows, into, bias=False, part="audio")),
    ]
    config.ignore(*config.raw)
    return towers.tower(vit), weights


def _sizes(config: Fields, channels: int) -> list[int]:
    """Codes of every channel: one number for all, or a text of numbers joined by dashes."""
    word = config.raw.get("speech_vocab_size")
    parts = word.split("-") if isinstance(word, str) and all(part.isdecimal() and len(part) < 9 for part in word.split("-")) else []
    numbers = [int(part) for part in parts] or [config.integer("speech_vocab_size")]
    return (numbers * channels)[:channels] if len(numbers) == 1 else numbers[:channels]

"""The frame around a decoder's layers: nested text config, embeddings, norms, head, and the finished ModelShape."""

from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from serveright.errors import InputError
from serveright.families.fields import Fields
from serveright.types.model import Layer, ModelShape, Tower, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

TEXT = ("text_config", "llm_config", "language_config", "language_model_config", "thinker_config", "text_model_config", "lm_config")
CONTEXT = ("max_position_embeddings", "model_max_length", "max_sequence_length", "max_seq_len", "seq_length", "n_positions")
MTP = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers", "n_predict_layers", "num_mtp_modules")


MAX_LAYERS = 4096


class Block(Struct, kw_only=True):
    """One layer and its tensors."""

    layer: Layer
    weights: list[Weight]


class Frame(Struct, frozen=True, kw_only=True):
    """What every dialect needs before it looks at layers. `root` is the path prefix of the text model, e.g. `model.` or `model.language_model.`."""

    top: Fields
    text: Fields
    hidden: int
    vocab: int
    root: str
    head: str
    tied: bool
    dtype: str


def text_of(fields: Fields) -> Fields:
    """The object that holds the language model's fields: the config itself, or its nested text config."""
    for key in TEXT:
        if isinstance(fields.raw.get(key), dict) and fields.raw[key]:
            child = fields.child(key)
            if child:
                return text_of(child)
    return fields


def dtype_of(*levels: Fields) -> str:
    """The checkpoint's number type in the config's own word, bfloat16 where it is silent."""
    for level in levels:
        word = level.text("dtype", "torch_dtype")
        if word:
            return word.removeprefix("torch.")
    levels[-1].stand_in("dtype", "bfloat16", msg("absent; bfloat16 is assumed here (SGLang would take float16)"), "assumed")
    return "bfloat16"


def open_frame(
    fields: Fields,
    text: Fields | None = None,
    *,
    root: str = "model.",
    nested_root: str | None = None,
    head: str = "lm_head",
    nested_head: str | None = None,
    tied: bool = False,
    partial: bool = False,
) -> Frame:
    """Hidden size, vocabulary and paths. `nested_root` and `nested_head` apply where the text config is nested; `tied` is the class default.

    `partial`: a missing vocabulary is reported as unknown instead of raising InputError.
    """
    text = text or text_of(fields)
    inside = text is not fields
    own, outer = text.raw.get("tie_word_embeddings"), fields.raw.get("tie_word_embeddings")
    text.ignore("tie_word_embeddings", "architectures", "model_type", "auto_map", "is_encoder_decoder", "chunk_size_feed_forward")
    fields.ignore("tie_word_embeddings", "architectures", "model_type", "auto_map", "quantization_config", "transformers_version")
    text.ignore("quantization_config", "transformers_version", "ignore_index")
    fields.ignore("ignore_index", "use_unified_vision_chunk", "chunk_size_feed_forward")
    word = outer if isinstance(outer, bool) else own  # both engines and the library let the outer one decide
    return Frame(
        top=fields,
        text=text,
        hidden=text.integer("hidden_size", "d_model", "n_embd"),
        vocab=_vocab(fields, text, partial),
        root=(nested_root if inside and nested_root else root),
        head=(nested_head if inside and nested_head else head),
        tied=word if isinstance(word, bool) else tied,
        dtype=dtype_of(text, fields),
    )


def _vocab(top: Fields, text: Fields, partial: bool) -> int:
    keys = ("vocab_size", "padded_vocab_size")
    size = text.opt_int(*keys, minimum=1) or top.opt_int(*keys, minimum=1)
    if size is None and partial:
        text.unknown("vocab_size", msg("no vocabulary is given; the embedding tables are not counted"))
        return 0
    return size or text.integer(*keys)


def layer_count(text: Fields, *lists: str) -> int:
    """Number of layers: the field, or the length of a per-layer list where the field is absent."""
    count = text.opt_int("num_hidden_layers", "num_layers", "n_layer", "n_layers", minimum=1)
    if count is None:
        for key in lists:
            value: Any = text.raw.get(key)
            size = len(value) if isinstance(value, str) else len(cast("list[object]", value)) if isinstance(value, list) else 0
            if size:
                text.ignore(key)
                return size
    count = count if count is not None else text.integer("num_hidden_layers")
    if count > MAX_LAYERS:
        raise InputError(
            msg("{file}: {key} is {value}, more layers than any model has", file=text.file, key=text.at("num_hidden_layers"), value=count),
            msg("Compare the file with the one on the model's page."),
        )
    return count


def edges(frame: Frame, *, embed: str = "embed_tokens", final: str = "norm") -> list[Weight]:
    """Input table, final norm and, unless tied, the head."""
    result = [
        Weight(path=f"{frame.root}{embed}", part="embed", shape=(frame.vocab, frame.hidden), shard="vocab", linear=False),
        Weight(path=f"{frame.root}{final}", part="norm", shape=(frame.hidden,), shard="replicated", linear=False),
    ]
    if not frame.tied:
        result.append(Weight(path=frame.head, part="head", shape=(frame.vocab, frame.hidden), shard="vocab"))
    return result


def as_mtp(weights: list[Weight]) -> list[Weight]:
    """The same tensors, marked as belonging to a prediction layer."""
    return [replace(weight, mtp=True) for weight in weights]


def close_frame(
    frame: Frame,
    files: ModelFiles,
    *,
    dialect: str,
    blocks: list[Block],
    mtp: list[Block] | None = None,
    mtp_layers: int | None = None,
    extra: list[Weight] | None = None,
    towers: tuple[Tower, ...] = (),
    modalities: tuple[str, ...] = ("text",),
    streams: int = 1,
) -> ModelShape:
    """The finished shape; evidence and unknowns are added by `read`."""
    mtp = mtp or []
    weights = [w for block in blocks for w in block.weights]
    weights += [w for block in mtp for w in as_mtp(block.weights)]
    listed: object = frame.top.raw.get("architectures")
    names = cast("list[object]", listed) if isinstance(listed, list) else []
    return ModelShape(
        id=files.id,
        architecture=str(names[0]) if names else "",
        model_type=str(frame.top.raw.get("model_type") or ""),
        dialect=dialect,
        hidden=frame.hidden,
        vocab=frame.vocab,
        layers=tuple(block.layer for block in blocks),
        mtp=tuple(block.layer for block in mtp),
        mtp_layers=len(mtp) if mtp_layers is None else mtp_layers,
        max_context_tokens=frame.text.opt_int(*CONTEXT) or frame.top.opt_int(*CONTEXT),
        dtype=frame.dtype,
        tied_embeddings=frame.tied,
        weights=tuple(weights + (extra or [])),
        towers=towers,
        modalities=modalities,
        remote_code=isinstance(frame.top.raw.get("auto_map"), dict),
        residual_streams=streams,
    )

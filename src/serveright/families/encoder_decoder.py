"""Encoder-decoder models, refused by name: their cache has a cross-attention part that grows with the input, which is planned for nowhere here."""

from typing import NoReturn

from serveright.errors import InputError
from serveright.families.fields import Fields
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset(
    {
        "T5ForConditionalGeneration",
        "MT5ForConditionalGeneration",
        "UMT5ForConditionalGeneration",
        "T5GemmaForConditionalGeneration",
        "T5Gemma2ForConditionalGeneration",
        "BartForConditionalGeneration",
        "MBartForConditionalGeneration",
        "PegasusForConditionalGeneration",
        "M2M100ForConditionalGeneration",
        "MarianMTModel",
        "WhisperForConditionalGeneration",
        "Florence2ForConditionalGeneration",
    }
)


def shape(fields: Fields, files: ModelFiles) -> NoReturn:
    """Always raises InputError."""
    refuse(fields.raw.get("architectures"))


def refuse(architectures: object) -> NoReturn:
    """Raises the InputError that names the architecture and the reason."""
    raise InputError(
        msg("{names} is an encoder-decoder model: its decoder also caches the encoder's output, which is not sized here", names=str(architectures)[:120]),
        msg("Take a decoder-only model, or size this one with the engine's own start-up log."),
    )

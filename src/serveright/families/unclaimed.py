"""An architecture nobody claims, read by its fields alone: what they give is derived, what they leave open is reported as unknown."""

from serveright.errors import InputError
from serveright.families import decoder
from serveright.families.attention import Defaults
from serveright.families.decoder import Style
from serveright.families.fields import Fields
from serveright.families.frame import text_of
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles
from serveright.types.text import msg


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A partial shape with its unknowns. Raises InputError when the config has no usable fields."""
    text = text_of(fields)
    if not (text.has("hidden_size") or text.has("d_model") or text.has("n_embd")):
        raise InputError(
            msg("{origin}: no fields of a language model in config.json", origin=files.origin),
            msg("Give the config.json of a causal language model; it names hidden_size, num_hidden_layers and num_attention_heads."),
        )
    fields.unknown("architectures", msg("nobody here knows this architecture; its layers were read by their fields alone"))
    style = Style(dialect="unclaimed", defaults=Defaults(source="serveright (plain multi-head attention)"), gated=True)
    return decoder.build(fields, files, style)

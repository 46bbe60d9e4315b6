"""The engines' own configuration files: vLLM's `--config` YAML and SGLang's, keys being flags without their dashes."""

from serveright.readers.grammar import Grammar
from serveright.readers.kubernetes import flag_words
from serveright.readers.yaml_tree import Node, pairs, text, word
from serveright.types.command import Word

_MODEL_KEYS = frozenset({"model", "model-path", "model_path", "model_tag", "model-tag"})


def fits(root: Node, grammar: Grammar) -> bool:
    """Whether the keys of a mapping read as this engine's flags: nearly all known, and two at least."""
    names = [name for name, _, _ in pairs(root)]
    known = sum(name in _MODEL_KEYS or grammar.find("--" + name.replace("_", "-")) is not None for name in names)
    return known >= 2 and known >= 0.7 * len(names)


def config_words(root: Node, file: str) -> tuple[list[Word], Word | None]:
    """The file as the words argparse would see, and the model it names."""
    words: list[Word] = []
    model: Word | None = None
    for name, key, value in pairs(root):
        if name in ("model_tag", "model-tag") and text(value):
            model = word(value, file)
            continue
        words.extend(flag_words("--" + name.replace("_", "-"), key, value, file))
    return words, model

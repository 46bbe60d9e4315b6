"""What users need beyond speed: tools, reasoning, input kinds, licence, language, context. A need nobody can prove counts as unmet, and says why."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from serveright import units
from serveright.api.checking import words
from serveright.api.engines import Engine
from serveright.api.loading import Model
from serveright.catalog.files import FACTS, read_toml
from serveright.catalog.models import Listed
from serveright.errors import UnknownName, UsageError
from serveright.types.choosing import StepReason
from serveright.types.text import Msg, msg

MODALITIES = {"vision": "image", "image": "image", "video": "video", "audio": "audio"}
PLAIN = ("tools", "reasoning", "mtp", "dense", *MODALITIES)
WITH_VALUE = ("licence", "license", "language", "context")


def parse_needs(texts: Sequence[str]) -> tuple[str, ...]:
    """`tools,vision,licence:apache-2.0,language:ko,context:256k` as words, once each. Raises UnknownName and UsageError."""
    found: dict[str, None] = {}
    for part in (piece.strip().lower() for text in texts for piece in text.split(",")):
        name, _, value = part.partition(":")
        if not part:
            continue
        if name in WITH_VALUE and not value:
            raise UsageError(
                msg("--need {part}: a value is missing", part=part), msg("Write for example licence:apache-2.0, licence:permissive, language:ko, context:256k.")
            )
        if name not in (*PLAIN, *WITH_VALUE):
            raise UnknownName(msg("need"), name, (*PLAIN, *WITH_VALUE))
        if name == "context":
            _count(value)
        found[part.replace("license:", "licence:")] = None
    return tuple(found)


def need_reasons(model: Model, listed: Listed, engine: Engine, needs: Sequence[str]) -> Iterator[StepReason]:
    """One reason for each need that is not met, or that is met in a way worth saying."""
    for need in needs:
        name, _, value = need.partition(":")
        answer = _answer(model, listed, engine, name, value)
        if answer is not None:
            yield StepReason(step="needs", code=f"need-{name}", text=answer, against=True)


def _answer(model: Model, listed: Listed, engine: Engine, name: str, value: str) -> Msg | None:
    if name in MODALITIES:
        taken = model.shape.modalities
        return None if MODALITIES[name] in taken else msg("takes in {modalities} only", modalities=", ".join(taken))
    if name == "tools":
        return None if words(engine, model).tool_parser else msg("{engine} has no parser known for this model's tool calls", engine=engine.name)
    if name == "reasoning":
        return None if words(engine, model).reasoning_parser else msg("{engine} has no parser known for this model's thinking", engine=engine.name)
    if name == "mtp":
        return None if model.shape.mtp_layers else msg("the checkpoint holds no prediction layers to draft with")
    if name == "dense":
        return None if model.family.ffn == "dense" else msg("its feed-forward layers are experts")
    if name == "context":
        return _context(model, value)
    if name == "licence":
        return _licence(listed, value)
    return _language(model, value)


def _context(model: Model, value: str) -> Msg | None:
    wanted, longest = _count(value), model.shape.max_context_tokens
    return None if longest is None or longest >= wanted else msg("reads {longest:n} tokens, {wanted:n} are needed", longest=longest, wanted=wanted)


def _count(value: str) -> int:
    try:
        return units.parse_count(value)
    except ValueError as error:
        raise UsageError(msg("--need context:{value}: not a count such as 32768, 32k or 1M", value=value)) from error


def _licence(listed: Listed, value: str) -> Msg | None:
    groups = cast("dict[str, dict[str, Any]]", read_toml(FACTS / "licences.toml"))
    allowed = set(cast("list[str]", groups[value]["names"])) if value in groups else {value}
    if not listed.licence:
        return msg("no source at hand names its licence")
    return None if listed.licence in allowed else msg("its licence is {licence}", licence=listed.licence)


def _language(model: Model, value: str) -> Msg | None:
    """From the model card's `language:` list where there is one; configs do not say."""
    known = cast("list[str]", model.files.facts.get("languages", []))
    card = re.match(r"---\n(.*?)\n---", model.files.card or "", re.DOTALL)
    if card:
        known = known + re.findall(r"^- ([a-z]{2,3})$", card[1], re.MULTILINE)
    if not known:
        return msg("no source at hand says which languages it was trained for")
    return None if value in known else msg("its languages are {known}", known=", ".join(known))

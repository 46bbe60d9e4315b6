"""Lines and figures that operators chase in vain, said as such. Pure."""

from collections.abc import Sequence

from serveright.types.diagnosis import Evidence, NotAFault, Scrape, Sign
from serveright.types.engine import Sized
from serveright.types.text import Msg, msg


def not_a_fault(signs: Sequence[Sign], scrapes: Sequence[Scrape], random_prompts: bool, sized: Sized | None) -> tuple[NotAFault, ...]:
    """What is there and is no fault."""
    by_key = {sign.key: sign for sign in signs}
    found: list[NotAFault] = []
    for key, code, text in _LINES:
        if (sign := by_key.get(key)) is not None:
            found.append(NotAFault(code=code, text=text, evidence=(Evidence(source=sign.source, line=sign.line, text=sign.text),)))
    found += _metrics(scrapes, sized)
    if "metrics:acceptance_low" in by_key and random_prompts:
        found.append(NotAFault(code="NOT04", text=msg("acceptance measured on random tokens says nothing: drafts cannot guess noise"), evidence=()))
    return tuple(found)


_LINES: tuple[tuple[str, str, Msg], ...] = (
    ("log:vision_backend", "NOT01", msg("a line about the vision tower's attention backend is no error: it takes another one")),
    ("log:moe_default", "NOT02", msg("the default MoE kernel configuration costs 0 to 10 % and is rarely the cause; look elsewhere first")),
    ("log:scale_one", "NOT06", msg("a warning about scales of 1.0 is sometimes innocent: only a comparison of answers tells")),
    ("symptom:fails_near_limit", "NOT05", msg("calls that fail only near the context limit are cut off, not misparsed: leave room for the answer")),
)


def _metrics(scrapes: Sequence[Scrape], sized: Sized | None) -> list[NotAFault]:
    if not scrapes or "block_size" not in scrapes[-1].info or sized is None or len(sized.layout.groups) < 2:
        return []
    info = scrapes[-1].info
    line = Evidence(
        source=scrapes[-1].source, line=0, text=f'cache_config_info block_size="{info["block_size"]}" num_gpu_blocks="{info.get("num_gpu_blocks", "?")}"'
    )
    text = msg("block_size x num_gpu_blocks is not the capacity where several groups share the pool; kv_cache_size_tokens is")
    return [NotAFault(code="NOT03", text=text, evidence=(line,))]

"""Stops of the engine: the first one is the message a user sees, later ones are kept for whoever mends the first."""

from msgspec.structs import replace

from serveright.engines.sglang.args import Args
from serveright.types.engine import Refusal
from serveright.types.text import Msg


def refuse(args: Args, code: str, text: str, why: Msg, source: str) -> Args:
    """`text` in the engine's own words, `source` the file and line of 0.5.23 that says them."""
    return replace(args, refusals=(*args.refusals, Refusal(code=f"sglang-{code}", text=text, why=why, source=f"sglang 0.5.23 {source}")))

"""Calls of `add_argument` become flags."""

import re
from typing import Any

from serveright.types.engine_table import Flag, FlagType
from tools.harvest.hints import MISSING, external
from tools.harvest.interpret import Recorder
from tools.harvest.project import UNREAD, ClassRef, External, Member, items

TYPES: dict[Any, FlagType] = {int: "int", float: "float", str: "str", bool: "bool", "json": "json"}
OPPOSITE = {"--enable-": "--disable-", "--disable-": "--enable-"}


class Parser(Recorder):
    """Stands for the engine's argument parser; `paired` engines also accept `--disable-x` for the boolean `--enable-x` and the reverse."""

    def __init__(self, paired: bool = False) -> None:
        self.flags: dict[str, Flag] = {}
        self.paired = paired

    def add_argument_group(self, *_: Any, **__: Any) -> "Parser":
        return self

    def add_mutually_exclusive_group(self, *_: Any, **__: Any) -> "Parser":
        return self

    def set_defaults(self, *_: Any, **__: Any) -> None:
        return None

    def add_argument(self, *names: Any, **options: Any) -> "Parser":
        spelled = [n for n in names if isinstance(n, str) and n.startswith("-")]
        long = next((n for n in spelled if n.startswith("--")), None)
        if long is not None and long not in self.flags:
            self.flags[long] = self._flag(long.replace("_", "-"), tuple(n for n in spelled if n != long), options)
        return self

    def _flag(self, name: str, aliases: tuple[str, ...], options: dict[str, Any]) -> Flag:
        action = options.get("action")
        paired = external(action, "BooleanOptionalAction")
        switch = paired or action in ("store_true", "store_false", "store_const", "append_const", "help") or _stores_constant(action)
        choices, is_open = _choices(options)
        kind = _type(options, switch, choices)
        return Flag(
            name=name,
            aliases=aliases,
            negative=f"--no-{name[2:]}" if paired else None,
            negatives=tuple(v + name.removeprefix(k) for k, v in OPPOSITE.items() if name.startswith(k)) if paired and self.paired else (),
            type=kind,
            switch=switch,
            repeatable=options.get("nargs") in ("*", "+") or isinstance(options.get("nargs"), int) or action == "append",
            choices=choices,
            open_choices=is_open,
            any_case=bool(options.get("any_case")) or (isinstance(options.get("type"), External) and ".lower()" in options["type"].name),
            default=_default(options.get("default", False if action == "store_true" else None)),
            deprecated=_deprecated(name, action, options),
            fields=tuple(options.get("fields", ())),
        )


def _stores_constant(action: Any) -> bool:
    return isinstance(action, ClassRef) and ("StoreTrue" in action.name or action.name.startswith("Deprecated")) and "Alias" not in action.name


def _choices(options: dict[str, Any]) -> tuple[tuple[str, ...], bool]:
    listed = options.get("choices")
    is_open = listed is None and isinstance(options.get("known"), list)
    listed = options["known"] if is_open else listed
    values = [i.value if isinstance(i, Member) else i for i in items(listed)]
    if isinstance(listed, (set, frozenset)):
        values.sort(key=str)
    return tuple(dict.fromkeys(str(v) for v in values if isinstance(v, (str, int, float)))), is_open


def _type(options: dict[str, Any], switch: bool, choices: tuple[str, ...]) -> FlagType:
    given = options.get("type", str)
    if switch:
        return "bool"
    if given == "json" or external(given, "loads") or external(given, "json_list_type"):
        return "json"
    if choices and given in (str, UNREAD):
        return "enum"
    if isinstance(given, External) and given.name.startswith("lambda"):
        return "enum" if choices else "str"
    return TYPES.get(given, "unknown") if isinstance(given, (type, str)) else "unknown"


def _default(value: Any) -> str | int | float | bool | None:
    if isinstance(value, Member):
        value = value.value if isinstance(value.value, (str, int)) else value.name
    return value if isinstance(value, (str, int, float, bool)) and value is not MISSING else None


def _deprecated(name: str, action: Any, options: dict[str, Any]) -> str | None:
    text = " ".join(str(options.get("help") or "").split())
    if isinstance(action, ClassRef) and action.name.startswith("Deprecated"):
        target = options.get("new_flag")
        return text or (f"Use {target} instead." if isinstance(target, str) else "Deprecated.")
    said = [s for s in re.split(r"(?<=[.!;])\s+", text) if "deprecat" in s.lower()]
    if not said:
        return "Deprecated." if options.get("deprecated") is True else None
    spellings = (name, name[2:].replace("-", "_"))
    about_itself = re.match(r"\W*\(?\[?deprecated", text, re.IGNORECASE) or re.search(
        r"\bthis (flag|argument|option|parameter|field|setting|config)", said[0], re.IGNORECASE
    )
    if about_itself or any(s in said[0] for s in spellings) or options.get("deprecated") is True:
        return text if len(text) < 300 else " ".join(said)[:300]
    return None

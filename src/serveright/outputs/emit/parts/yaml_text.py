"""YAML text of plain data, with comment lines above; block scalars for texts of several lines, order as given."""

from collections.abc import Iterable, Sequence
from typing import Any, cast


def dump(*documents: Any, above: Iterable[str] = ()) -> str:
    """One stream; every document but the first begins with `---`."""
    import yaml

    class Writer(yaml.SafeDumper):
        """Writes texts of several lines as they stand."""

    def text(writer: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = "|" if "\n" in value else None
        return writer.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Writer.add_representer(str, text)
    Writer.ignore_aliases = lambda self, data: True  # type: ignore[method-assign]
    parts = [yaml.dump(document, Dumper=Writer, sort_keys=False, allow_unicode=True, width=10**6) for document in documents]
    return "".join(f"{line}\n" for line in above) + "---\n".join(parts)


def quantity(size: int) -> str:
    """Bytes as Kubernetes writes them, whole GiB rounded up."""
    return f"{-(-size // (1 << 30))}Gi"


def clean(data: Any) -> Any:
    """Plain data without empty values: None, {} and [] vanish, 0 and False stay."""
    if isinstance(data, dict):
        kept: dict[Any, Any] = {key: clean(value) for key, value in cast("dict[Any, Any]", data).items()}
        return {key: value for key, value in kept.items() if value is not None and value != {} and value != []}
    if isinstance(data, Sequence) and not isinstance(data, str):
        return [clean(item) for item in cast("Sequence[Any]", data)]
    return data

"""What an engine version calls the quantities a plan is watched by."""

from serveright.catalog.files import FACTS, read_toml
from serveright.types.engine_table import EngineName
from serveright.versions import within


def load_metrics(engine: EngineName, version: str) -> dict[str, str]:
    """Quantity (`kv_usage`, `waiting`, `ttft`, ...) -> metric name; quantities the version does not report are absent."""
    entries = read_toml(FACTS / "metrics.toml")[engine]["names"]
    return {entry["quantity"]: entry["metric"] for entry in entries if within(version, entry.get("since"), entry.get("until"))}

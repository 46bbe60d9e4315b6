"""What an engine version calls the quantities a plan is watched by."""

from serveright.catalog.engines import version_order
from serveright.catalog.files import FACTS, read_toml
from serveright.types.engine_table import EngineName


def load_metrics(engine: EngineName, version: str) -> dict[str, str]:
    """Quantity (`kv_usage`, `waiting`, `ttft`, ...) -> metric name; quantities the version does not report are absent. Raises UsageError."""
    at = version_order(version)
    entries = read_toml(FACTS / "metrics.toml")[engine]["names"]
    return {
        entry["quantity"]: entry["metric"]
        for entry in entries
        if version_order(entry.get("since", "0")) <= at and ("until" not in entry or at < version_order(entry["until"]))
    }

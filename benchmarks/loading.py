"""The whole catalogue read, and checked on one GPU, against parsing its configs: the least any reader must do."""

from benchmarks.measure import code, row, serveright, table

PARSE = "from serveright.catalog.models import list_models, load\nfor listed in list_models(): load(listed.id)"
SHAPES = "from serveright.api.loading import load_model\nfrom serveright.catalog.models import list_models\nfor listed in list_models(): load_model(listed.id)"
WEIGHTS = SHAPES + ".need"


def rows() -> None:
    base = code(PARSE)
    row("shapes of all models", code(SHAPES), "parsing the configs", base)
    row("shapes and weights of all", code(WEIGHTS), "parsing the configs", base)
    row("`check --all` on H200, both engines", serveright("check", "--all", "--gpu", "h200", "-q"), "parsing the configs", base)


if __name__ == "__main__":
    raise SystemExit(table(rows))

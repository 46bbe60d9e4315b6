"""Where facts come from, file by file and figure by figure."""

from collections.abc import Iterator

from serveright.catalog.files import FACTS, read_toml
from serveright.catalog.gates import load_gates
from serveright.catalog.gpus import gpu_keys, load_gpu
from serveright.catalog.models import list_models
from serveright.types.fact import Kind, Source

QUALITIES: dict[str, Kind] = {
    "copy": "config",
    "mirror": "config",
    "quoted": "config",
    "retyped": "config",
    "trimmed": "config",
    "sibling": "derived",
    "class-default": "class-default",
    "reconstructed": "assumed",
}
"""How a model's config came into the catalogue -> the kind of origin."""


def file_origins() -> Iterator[tuple[str, Source]]:
    """(pattern below `facts/`, origin) of every file whose entries carry none of their own."""
    for entry in read_toml(FACTS / "origins.toml")["file"]:
        yield entry["path"], Source(kind=entry["kind"], text=entry["source"], as_of=entry["as_of"])


def origins() -> Iterator[tuple[str, Source]]:
    """(fact, origin): files, figures of accelerators, gates, configs of models."""
    yield from file_origins()
    for key in gpu_keys():
        for field, source in load_gpu(key).sources.items():
            yield f"gpus/{key}.{field}", source
    for gate in load_gates():
        yield f"gates/{gate.id}", Source(kind="engine-source", text=gate.source, as_of=gate.as_of)
    for model in list_models():
        config = read_toml(FACTS / "models" / f"{model.id}.toml")["config"]
        yield f"models/{model.id}", Source(kind=QUALITIES[config["quality"]], text=config["source"], as_of=config["as_of"])

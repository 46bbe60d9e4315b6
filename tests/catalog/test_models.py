import json
import re

import pytest

from serveright.catalog.files import FACTS, read_toml
from serveright.catalog.models import base_of, expand, find, list_models, load, normal_name, unfold
from serveright.families.read import read_model
from serveright.formats.read import read_checkpoint
from tools.index_facts import model_index

MODELS = list_models()
QUALITIES = {"copy", "retyped", "mirror", "trimmed", "sibling", "quoted", "reconstructed", "class-default"}
DERIVED = {"layers", "hidden", "heads", "kv_heads", "head_dim", "vocab", "experts", "params_by_part"}


def test_the_index_is_up_to_date() -> None:
    assert json.loads((FACTS / "models" / "index.json").read_text(encoding="utf-8")) == model_index()


def test_the_catalogue_is_large_and_small() -> None:
    assert len(MODELS) >= 200
    assert sum(path.stat().st_size for path in (FACTS / "models").rglob("*.*")) < 4_000_000


@pytest.mark.parametrize(
    "name", ["LGAI-EXAONE/EXAONE-4.5-33B", "LGAI-EXAONE/K-EXAONE-236B-A23B", "upstage/Solar-Open-100B", "upstage/Solar-Open2-250B", "skt/A.X-K1"]
)
def test_korean_models_are_in(name: str) -> None:
    assert find(name) is not None


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.id)
def test_every_entry_reads_as_a_model_and_keeps_its_origin(model) -> None:
    files = load(model.id)
    stored = files.facts["config"]
    assert stored["quality"] in QUALITIES
    assert stored["source"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", stored["as_of"])
    assert not DERIVED & set(files.facts), "dimensions come from the config alone"
    shape = read_model(files)
    assert shape.layers
    assert shape.weights
    assert not read_checkpoint(files).unknown


def test_published_totals_say_where_they_come_from() -> None:
    for model in MODELS:
        facts = read_toml(FACTS / "models" / f"{model.id}.toml").get("facts", {})
        assert ("parameters" in facts) == ("parameters_source" in facts), model.id


def test_finding_by_id_in_any_case_and_by_alias() -> None:
    found = find("qwen/QWEN3.6-27b")
    assert found is not None
    assert found.id == "Qwen/Qwen3.6-27B"
    assert find("Qwen3.6 27B") == found
    assert find("no-such-model") is None


def test_a_quantised_checkpoint_leads_to_its_model() -> None:
    assert base_of("qwen/qwen3.6-27b-FP8") == "Qwen/Qwen3.6-27B"
    assert base_of("nobody/nothing") is None


def test_no_two_models_share_a_name() -> None:
    names = [normal_name(name) for model in MODELS for name in (model.id, *model.aliases)]
    assert len(names) == len(set(names))


def test_folded_maps_unfold() -> None:
    assert expand("a.[0-2,5].b.[1-2]") == ["a.0.b.1", "a.0.b.2", "a.1.b.1", "a.1.b.2", "a.2.b.1", "a.2.b.2", "a.5.b.1", "a.5.b.2"]
    folded = {"x": [{"folded:map": [{"paths": ["m.[0-1].w"], "value": {"bits": 4}}]}]}
    assert unfold(folded) == {"x": [{"map": {"m.0.w": {"bits": 4}, "m.1.w": {"bits": 4}}}]}


@pytest.mark.shared
def test_folding_lost_nothing(shared) -> None:
    checked = 0
    for model in MODELS:
        original = shared / "configs" / f"{model.id.replace('/', '--')}.json"
        if original.exists():
            assert load(model.id).config == json.loads(original.read_text()), model.id
            checked += 1
    assert checked >= 160

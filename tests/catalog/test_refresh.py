from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from serveright.catalog.files import read_toml
from serveright.catalog.models import list_models, load, unfold
from tools.refresh_model import fold, write

segments = st.sampled_from(["model", "layers", "mlp", "experts", "w1"]) | st.integers(0, 30).map(str)
paths = st.lists(segments, min_size=1, max_size=6).map(".".join)


@given(st.dictionaries(paths, st.sampled_from(["FP8", "NVFP4"]).map(lambda name: {"quant_algo": name}), min_size=1, max_size=60))
def test_folding_and_unfolding_are_inverse(modules: dict) -> None:
    many = {**modules, **{f"model.layers.{layer}.mlp.experts.{expert}.w1": {"quant_algo": "FP8"} for layer in range(5) for expert in range(100)}}
    assert unfold(fold({"quantized_layers": many})) == {"quantized_layers": many}


def test_a_written_file_reads_as_it_was(tmp_path: Path) -> None:
    for model in list_models()[::15]:
        files = load(model.id)
        stored = files.facts.pop("config")
        path = tmp_path / f"{model.id}.toml"
        write(path, model.id, stored["quality"], stored["source"], files.config, files.hf_quant_config, files.facts)
        again = read_toml(path)
        assert again["facts"] == files.facts
        assert again["id"] == model.id

"""Single fields that decide something: what they say is read, what is missing or strange is named."""

import pytest

from serveright.errors import InputError
from serveright.families.dialects import claims, reader_of
from serveright.families.verdict import family
from serveright.types.model import UnknownMixer
from tests.families.published import load, read, total

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "intermediate_size": 1024,
    "vocab_size": 1000,
    "tie_word_embeddings": False,
}
NEW = {**LLAMA, "architectures": ["BrandNewForCausalLM"]}


def test_llama_by_hand():
    shape = read(LLAMA)
    layer = 512 * 512 * 2 + 2 * 128 * 512 + 3 * 512 * 1024 + 2 * 512
    assert total(shape) == 4 * layer + 2 * 1000 * 512 + 512
    assert family(shape).name == "gqa"
    assert [weight.path for weight in shape.weights][2] == "model.layers.0.self_attn.q_proj"


@pytest.mark.parametrize(("kv", "name"), [(8, "mha"), (1, "mqa"), (4, "gqa")])
def test_sharing(kv, name):
    assert family(read({**LLAMA, "num_key_value_heads": kv})).name == name


def test_class_default_is_evidence():
    config = {key: value for key, value in LLAMA.items() if key != "num_key_value_heads"}
    defaults = [one for one in read(config).evidence if one.kind == "class-default"]
    assert any(one.path == "num_key_value_heads" and one.value == 8 for one in defaults)


@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"])
def test_missing_field_is_named(key):
    with pytest.raises(InputError) as caught:
        read({name: value for name, value in LLAMA.items() if name != key})
    assert caught.value.message.values["key"] == key


@pytest.mark.parametrize("value", [0, -1, "many", 1.5, [], 10**12, True, float("nan"), float("inf")])
def test_absurd_layers_are_refused(value):
    with pytest.raises(InputError):
        read({**LLAMA, "num_hidden_layers": value})


def test_wrong_number_of_layer_types_is_refused():
    with pytest.raises(InputError, match="entries"):
        read({**LLAMA, "layer_types": ["full_attention"] * 3})


@pytest.mark.parametrize("config", [LLAMA, NEW])
def test_unknown_layer_type_is_reported(config):
    shape = read({**config, "layer_types": ["full_attention", "wormhole", "full_attention", "wormhole"]})
    strange = [mixer for layer in shape.layers for mixer in layer.mixers if isinstance(mixer, UnknownMixer)]
    assert [mixer.name for mixer in strange] == ["wormhole", "wormhole"]
    assert family(shape).name == "unknown"
    assert any("layer_types" in unknown.path for unknown in shape.unknown)


def test_window_of_no_known_layers_counts_as_full_and_is_reported():
    shape = read({**NEW, "sliding_window": 512})
    assert {mixer.kind for layer in shape.layers for mixer in layer.mixers} == {"full"}
    assert any(unknown.path == "sliding_window" for unknown in shape.unknown)


def test_unread_field_that_could_matter_is_listed():
    assert [unknown.path for unknown in read({**LLAMA, "cache_compression_rank": 7}).unknown] == ["cache_compression_rank"]


def test_windows_switched_off():
    shape = read({**LLAMA, "architectures": ["Qwen2ForCausalLM"], "use_sliding_window": False, "sliding_window": 128, "max_window_layers": 2})
    assert family(shape).name == "gqa"
    assert not shape.unknown


@pytest.mark.parametrize("config", [{}, {"architectures": ["X"]}, {"architectures": ["UNet"], "sample_size": 64}])
def test_no_language_model(config):
    with pytest.raises(InputError):
        read(config)


@pytest.mark.parametrize("names", [["T5ForConditionalGeneration"], ["WhisperForConditionalGeneration"], ["SomeNewSeq2Seq"]])
def test_encoder_decoder_is_refused_by_name(names):
    with pytest.raises(InputError) as caught:
        read({**LLAMA, "architectures": names, "is_encoder_decoder": True})
    assert names[0] in str(caught.value.message.values["names"])


def test_encoder():
    bert = {**LLAMA, "architectures": ["BertModel"], "max_position_embeddings": 512, "type_vocab_size": 2, "num_key_value_heads": None}
    shape = read(bert)
    assert family(shape).name == "encoder"
    assert not shape.causal


def test_latent_fields_of_a_new_architecture():
    shape = read({**NEW, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "q_lora_rank": 1536})
    assert family(shape).name == "mla"
    assert {(mixer.kv_lora_rank, mixer.rope_dim) for layer in shape.layers for mixer in layer.mixers} == {(512, 64)}


def test_shared_caches_of_gemma():
    shape = read(load("google--gemma-4-E2B-it")["config"])
    sources = {layer.cache_from for layer in shape.layers if layer.cache_from is not None}
    assert sources == {13, 14}
    assert "kv_sharing" in family(shape).features


def test_prediction_layer_without_copies_where_the_index_says_so():
    config = load("zai-org--GLM-4.5-Air")["config"]
    index = {"weight_map": {"model.layers.46.eh_proj.weight": "a.safetensors", "lm_head.weight": "a.safetensors"}}
    assert total(read(config)) - total(read(config, safetensors_index=index)) == 2 * 151552 * 4096


def test_every_claim_has_one_owner():
    assert len(claims()) > 80


def test_head_that_the_files_do_not_hold():
    index = {"weight_map": {"embed_tokens.weight": "a.safetensors"}}
    assert total(read(LLAMA)) - total(read(LLAMA, safetensors_index=index)) == 1000 * 512


def test_one_name_imports_one_reader():
    assert {name: reader_of(name) for name in claims()} == claims()
    assert reader_of("NobodyKnowsForCausalLM") is None


@pytest.mark.parametrize("name", ["LlamaModel", "Qwen2Model", "Qwen3Model"])
def test_embedding_model_has_no_head(name):
    shape = read({**LLAMA, "architectures": [name]})
    assert not [weight for weight in shape.weights if weight.part == "head"]
    assert shape.weights[2].path.startswith("layers.0.")

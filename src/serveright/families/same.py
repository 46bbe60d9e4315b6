"""Class names that stand for another's layout: the same decoder under a second name, or with a small head for scores, rewards or embeddings instead of the vocabulary's."""

from typing import cast

from msgspec.structs import replace

from serveright.families.decoder import bidirectional, headless
from serveright.families.dialects import reader_of
from serveright.families.fields import Fields
from serveright.families.frame import text_of
from serveright.types.model import ModelShape, Weight
from serveright.types.source import ModelFiles

_SAME = {
    "QuantMixtralForCausalLM": "MixtralForCausalLM",
    "TorchNativePhi3ForCausalLM": "Phi3ForCausalLM",
    "SDARForCausalLM": "Qwen3ForCausalLM",
    "SDARMoeForCausalLM": "Qwen3MoeForCausalLM",
    "BailingMoEForCausalLM": "BailingMoeForCausalLM",
    "SarvamMoEForCausalLM": "BailingMoeV2ForCausalLM",
    "Param2MoEForCausalLM": "BailingMoeV2ForCausalLM",
    "LLaDA2MoeModelLM": "BailingMoeV2ForCausalLM",
}
"""Read from the engines' classes: vLLM 0.33.0 and SGLang 0.5.23 subclass or copy the other."""
_BARE = {
    "Gemma2Model": "Gemma2ForCausalLM",
    "Gemma3TextModel": "Gemma3ForCausalLM",
    "LlamaEmbeddingModel": "LlamaForCausalLM",
    "InternLM2Model": "InternLM2ForCausalLM",
}
"""Without a head."""
_BOTH_WAYS = {
    "LlamaBidirectionalModel": "LlamaForCausalLM",
    "DeepseekV3BidirectionalModel": "DeepseekV3ForCausalLM",
    "EmbeddingGemmaModel": "Gemma3ForCausalLM",
    "Lfm2BidirectionalModel": "Lfm2ForCausalLM",
}
"""Without a head, every token seeing every other."""
_SCORES = {
    "LlamaForSequenceClassification": "LlamaForCausalLM",
    "LlamaBidirectionalForSequenceClassification": "LlamaForCausalLM",
    "Qwen2ForSequenceClassification": "Qwen2ForCausalLM",
    "Qwen3ForSequenceClassification": "Qwen3ForCausalLM",
    "Gemma2ForSequenceClassification": "Gemma2ForCausalLM",
    "GPT2ForSequenceClassification": "GPT2LMHeadModel",
    "JambaForSequenceClassification": "JambaForCausalLM",
    "NanbeigeForSequenceClassification": "NanbeigeForCausalLM",
    "InternLM2ForRewardModel": "InternLM2ForCausalLM",
    "Qwen3ForRewardModel": "Qwen3ForCausalLM",
}
"""One linear to the labels."""
_REWARDS = {"Qwen2ForRewardModel": "Qwen2ForCausalLM", "Qwen2ForProcessRewardModel": "Qwen2ForCausalLM"}
"""Two linears with biases, to one score or, for process rewards, two (vLLM 0.33.0 qwen2_rm)."""
_ALL = _SAME | _BARE | _BOTH_WAYS | _SCORES | _REWARDS
ARCHITECTURES = frozenset(_ALL)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    name = files.config["architectures"][0]
    base = _ALL[name]
    reader = reader_of(base)
    if reader is None:
        raise KeyError(base)
    found = replace(reader(fields, replace(files, config={**files.config, "architectures": [base]})), architecture=name)
    if name in _SAME:
        return found
    bare = headless(found)
    if name in _BOTH_WAYS or name == "LlamaBidirectionalForSequenceClassification":
        bare = bidirectional(bare)
    if name in _SCORES:
        return replace(bare, weights=(*bare.weights, _linear("score", _labels(fields), bare.hidden)))
    if name in _REWARDS:
        labels = 2 if "Process" in name else 1
        first, second = _linear("score.0", bare.hidden, bare.hidden), _linear("score.2", labels, bare.hidden)
        biases = (_bias("score.0.bias", bare.hidden), _bias("score.2.bias", labels))
        return replace(bare, weights=(*bare.weights, first, second, *biases))
    return bare


def _labels(fields: Fields) -> int:
    """Number of scores: `num_labels`, the entries of `id2label`, or the library's default."""
    listed: object = fields.raw.get("id2label")
    names = cast("dict[str, object]", listed) if isinstance(listed, dict) else {}
    return len(names) or text_of(fields).int_or(2, "transformers 5.24 PreTrainedConfig", "num_labels", minimum=1)


def _linear(path: str, out: int, into: int) -> Weight:
    return Weight(path=path, part="head", shape=(out, into), shard="replicated")


def _bias(path: str, width: int) -> Weight:
    return Weight(path=path, part="head", shape=(width,), shard="replicated", linear=False)

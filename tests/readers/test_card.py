from hypothesis import given
from hypothesis import strategies as st

from serveright.readers.card import CardHint, card_hints

CARD = """---
license: apache-2.0
base_model:
- Qwen/Qwen3.6-27B-Base
pipeline_tag: image-text-to-text
---
# A model

- Number of Parameters: 27B in total
- Context Length: **262,144** natively and extensible up to 1,010,000 tokens.

| **Total Parameters** | 1T |
| **Activated Parameters** | 32B |
| **Context Length** | 256K |

The layers are 48 and the year 2026; GPT-4 level.

```shell
vllm serve Qwen/Qwen3.6-27B --port 8000 --tensor-parallel-size 8 \\
  --max-model-len 262144 --reasoning-parser qwen3 \\
  --enable-auto-tool-choice --tool-call-parser qwen3_coder
```

```bash
python -m sglang.launch_server --model-path Qwen/Qwen3.6-27B --tool-call-parser qwen25
```
Pass --verbose to anything else.
"""


def values(kind: str, engine: str | None = None) -> list[object]:
    return [hint.value for hint in card_hints(CARD) if hint.kind == kind and hint.engine == engine]


def test_front_matter() -> None:
    assert values("licence") == ["apache-2.0"]
    assert values("base_model") == ["Qwen/Qwen3.6-27B-Base"]


def test_stated_counts_in_prose_and_tables() -> None:
    assert values("parameters") == [27_000_000_000, 10**12]
    assert values("active_parameters") == [32_000_000_000]
    assert values("context_tokens") == [262_144], "256K is the same count and stands once"


def test_recommended_parsers_and_flags_by_engine() -> None:
    assert values("tool_parser", "vllm") == ["qwen3_coder"]
    assert values("reasoning_parser", "vllm") == ["qwen3"]
    assert values("tool_parser", "sglang") == ["qwen25"]
    assert values("flag", "vllm") == ["--tensor-parallel-size 8", "--max-model-len 262144", "--enable-auto-tool-choice"]
    assert values("flag", "sglang") == []
    assert values("flag") == [], "flags outside a launch command say nothing"


def test_every_hint_names_its_line() -> None:
    lines = CARD.splitlines()
    hint = next(hint for hint in card_hints(CARD) if hint.kind == "active_parameters")
    assert hint == CardHint(kind="active_parameters", value=32 * 10**9, line=13, quote=hint.quote)
    assert "Activated Parameters" in lines[hint.line - 1]


def test_small_numbers_and_versions_are_no_counts() -> None:
    assert card_hints("context length of 48 layers, 4.5 parameters active, active parameters: 2026") == ()


@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    for hint in card_hints(text):
        assert 1 <= hint.line <= len(text.splitlines())

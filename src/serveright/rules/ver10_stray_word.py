"""A word that belongs to no flag.

## What it catches
Words beside the model's name: the subcommand written twice, a module started with a path instead of `--model`, a value torn off its flag by a blank.

## Why it matters
argparse stops: "unrecognized arguments". In a container whose entry point is already the server the word `serve` becomes the model, and the model the stray word.

## Example
`docker run vllm/vllm-openai:v0.10.2 serve Qwen/Qwen3-8B`.

## Fix
Remove the word, or put it behind the flag it belongs to.

## Versions
All. `vllm serve` and `sglang serve` take one word, the model; the modules that start a server take none.

## Sources
github.com/vllm-project/vllm/issues/27389; vLLM entrypoints/cli/serve.py; SGLang server_args.py
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "VER10"
NAME = "stray-word"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("docker run --gpus all vllm/vllm-openai:v0.10.2 serve Qwen/Qwen3-8B --max-model-len 16000"),
    bad("python -m vllm.entrypoints.openai.api_server Qwen/Qwen3-8B"),
    good("vllm serve Qwen/Qwen3-8B --max-model-len 16000"),
    good("python -m sglang.launch_server --model-path Qwen/Qwen3-8B"),
)


def check(context: Context) -> Iterator[Hit]:
    """Words no flag takes; silent where an unknown flag may have taken them."""
    command = context.command
    if not context.table.flags or command.entry.startswith(("dynamo", "huggingfaceserver", "ray", "config")) or any(not word.literal for word in command.words):
        return
    parsed = context.grammar.parse(command.words)
    if any(flag.name is None for flag in parsed.flags):
        return
    words = parsed.positionals
    twice = bool(words) and words[0].text == "serve"
    allowed = 1 if command.entry.endswith(" serve") else 0
    for word in words[:1] if twice else words[allowed:]:
        yield Hit(
            message=msg("{word} stands for itself: no flag takes it", word=word.text),
            why=msg("the image starts the server by itself: serve becomes the model, and the model a word too many")
            if twice
            else msg("argparse stops at a word it has no place for"),
            fix=msg("Remove serve.") if twice else msg("Remove it, or put it behind the flag it belongs to."),
            location=word.location,
        )

"""Cache layouts, pools, choices and refusals against what the engines' own code returned: equal or not, by engine and attention family."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from serveright.families.read import read_model
from serveright.families.verdict import family
from serveright.types.source import ModelFiles
from tests.engines.sglang import oracle as sglang
from tests.engines.vllm import oracle as vllm


def family_of(configs: Path, name: str) -> str:
    """Attention family of a recorded config."""
    path = configs / f"{name.replace('/', '--')}.json"
    return family(read_model(ModelFiles(id=name, origin=name, config=json.loads(path.read_text(encoding="utf-8"))))).name


def table(title: str, rows: list[tuple[str, bool, str]]) -> list[str]:
    """A Markdown table: family, equal, of; and the names of what differs."""
    equal, of = Counter(f for f, same, _ in rows if same), Counter(f for f, _, _ in rows)
    lines = [f"### {title}: {sum(equal.values())} of {sum(of.values())} equal", "", "| family | equal | of |", "|---|---:|---:|"]
    lines += [f"| {name} | {equal[name]} | {of[name]} |" for name in sorted(of)]
    return [*lines, *(f"- differs: {name}" for _, same, name in rows if not same), ""]


def main() -> int:
    """Print the section."""
    shared = Path(sys.argv[1])
    configs = shared / "configs"
    cases: list[dict[str, Any]] = json.loads((shared / "cases" / "vllm_cache.json").read_text(encoding="utf-8"))["cases"]
    ours = [(row["model"], all(vllm.answer(vllm.run(row, configs))[k] == v for k, v in vllm.expected(row).items())) for row in cases]
    print("## Cache layouts against the engines' own code\n")
    print("Compared: bytes per token and block, groups, state, block tokens, precision, backends, bytes of a 32k and a 128k request.\n")
    print("\n".join(table("vLLM 0.33.0", [(family_of(configs, model), same, model) for model, same in ours])))
    recorded: list[dict[str, Any]] = json.loads((shared / "cases" / "sglang_cache.json").read_text(encoding="utf-8"))["cases"]
    executed = [row for row in recorded if row["status"] == "executed"]
    theirs = [(row["model"], not sglang.wrong(row, *sglang.read(configs, row["model"]))) for row in executed]
    print("Compared: bytes per token, state, the pool at 40 GiB, page, precision, backends, memory share.\n")
    print("\n".join(table("SGLang 0.5.23", [(family_of(configs, model), same, model) for model, same in theirs])))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

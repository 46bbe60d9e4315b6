"""Seven hard models: the cache of one sequence of 32,768 tokens in bf16, one GPU, and which tool gets it right."""

import json
import re
import subprocess
from collections.abc import Callable

from benchmarks.peers import AICONFIGURATOR, HF_MEM, KVFIT, PEERS, TOKENS, sizing, version
from serveright.analysis.cache import logical_cache
from serveright.api.loading import load_model

# rows in GiB and state of one sequence in MiB, worked out by hand from each config
RIGHT: dict[str, tuple[float, float]] = {
    "meta-llama/Llama-3.1-70B-Instruct": (10.000, 0.0),
    "deepseek-ai/DeepSeek-V3.2": (2.621, 0.0),
    "zai-org/GLM-5.2": (2.906, 0.0),
    "Qwen/Qwen3.5-397B-A17B": (0.9375, 183.2),
    "Qwen/Qwen3.6-27B": (2.000, 146.8),
    "moonshotai/Kimi-K3": (0.844, 428.6),
    "deepseek-ai/DeepSeek-V4-Pro": (0.308, 0.0),
}
NEAR = 0.002
READ: dict[str, Callable[[str], float]] = {
    KVFIT: lambda text: json.loads(text)["cache"]["bytes_per_sequence"] / 2**30,
    HF_MEM: lambda text: json.loads(text.splitlines()[-1])["kv_cache"] / 2**30,
    AICONFIGURATOR: lambda text: float(re.findall(r"kvcache/seq\s+([\d.]+) GiB", text)[0]),
}


def answered(name: str, model: str) -> float | None:
    """GiB as the peer says, None where it refuses or is not there."""
    words = sizing(name, model)
    if words is None:
        return None
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return READ[name](done.stdout) if done.returncode == 0 else None


def main() -> int:
    """One line a model; a figure within 0.2 % of rows and state together is right."""
    print(f"{', '.join(version(name) for name in PEERS)}; each reads the same config.json. In GiB; bold where within {NEAR:.1%}.\n")
    print(f"| model | rows + state | serveright | {' | '.join(PEERS)} |\n|---|---:|---:|{'---:|' * len(PEERS)}")
    right = dict.fromkeys(("serveright", *PEERS), 0)
    for model, (rows, state) in RIGHT.items():
        true = rows + state / 1024
        said = {"serveright": logical_cache(load_model(model).shape, TOKENS, "bfloat16").bytes / 2**30, **{name: answered(name, model) for name in PEERS}}
        cells: list[str] = []
        for name, value in said.items():
            good = value is not None and abs(value / true - 1) < NEAR
            right[name] += good
            cells.append("refuses" if value is None else f"**{value:.3f}**" if good else f"{value:.3f}")
        print(f"| {model} | {rows:g} + {state / 1024:.3f} | {' | '.join(cells)} |", flush=True)
    print(f"| right | | {' | '.join(f'{count} of {len(RIGHT)}' for count in right.values())} |")
    return 0 if right["serveright"] == len(RIGHT) else 1


if __name__ == "__main__":
    raise SystemExit(main())

"""`python tools/bare.py`: every verb of the installed command, without extras and with warnings as errors; then one clear message for each extra that is absent.

Runs outside the repository's environment: on a fresh machine, on another system, with the lowest or newest dependencies.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMAND = (sys.executable, "-W", "error", "-c", "from serveright.cli.main import main; main()")
MODEL, GPU, TRAFFIC = "Qwen/Qwen3-8B", ("--gpu", "2xh200"), ("--concurrency", "8")
LAUNCH, GOLDEN = str(ROOT / "docs" / "examples" / "launch.sh"), ROOT / "tests" / "diagnose" / "golden" / "half_the_users"
BENCH = {"mean_ttft_ms": 250, "mean_tpot_ms": 12.5, "completed": 100, "total_input_tokens": 204800, "total_output_tokens": 51200, "max_concurrency": 16}
VERBS = (
    ("--version",),
    (),
    ("inspect", MODEL),
    ("size", MODEL, *GPU, "--json"),
    ("check", MODEL, *GPU),
    ("check", "--all", *GPU),
    ("plan", MODEL, *GPU, *TRAFFIC, "--simulate"),
    ("plan", MODEL, *GPU, *TRAFFIC, "--calibrate", "bench.json"),
    ("plan", MODEL, *GPU, *TRAFFIC, "--emit", "kubernetes"),
    ("plan", MODEL, *GPU, *TRAFFIC, "--format", "html", "-o", "plan.html"),
    ("plan", MODEL, *GPU, *TRAFFIC, "--lang", "ko"),
    ("audit", LAUNCH),
    ("migrate", LAUNCH, "--to", "sglang"),
    ("diagnose", "--log", str(GOLDEN / "server.log"), "--metrics", str(GOLDEN / "metrics.txt")),
    ("choose", *GPU, *TRAFFIC, "--among", MODEL),
    ("compare", MODEL, "openai/gpt-oss-20b", *GPU, *TRAFFIC),
    ("explain", "mla", "--model", "deepseek-ai/DeepSeek-V3.1"),
    ("rule", "--all"),
    ("learn", "--state", "learn.json"),
    ("facts", "gpu"),
    ("facts", "engine", "vllm"),
    ("fleet", str(ROOT / "docs" / "examples"), "--jobs", "2"),
    ("scale", MODEL, *GPU, "--curve", "0h:2,8h:20"),
    ("schema", "plan"),
)
EXTRAS = {
    "uvicorn": ("serve",),
    "mcp": ("mcp",),
    "openai": ("measure", "http://127.0.0.1:9"),
    "pyarrow": ("fleet", LAUNCH, "--jobs", "1", "--parquet", "rows.parquet"),
    "scipy": ("place", "stock.toml"),
    "vl_convert": ("plan", MODEL, *GPU, *TRAFFIC, "--plot", "plan.svg"),
    "aiconfigurator": ("plan", MODEL, *GPU, *TRAFFIC, "--cross-check"),
}


def run(words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """One call, offline, its words in UTF-8."""
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONUTF8": "1"}
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, encoding="utf-8", env=env, timeout=600, check=False)


def main() -> int:
    """0 where everything is as promised."""
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("bench.json").write_text(json.dumps(BENCH), encoding="utf-8")
        Path("stock.toml").write_text(f'[stock]\nh200 = 8\n[[model]]\nid = "{MODEL}"\nrate_per_s = 4\n', encoding="utf-8")
        for words in VERBS:
            done = run(words)
            if done.returncode not in (0, 1) or "Traceback" in done.stderr or "Warning" in done.stderr:
                wrong.append(f"{words}: exit {done.returncode}\n{done.stderr[-2000:]}")
        absent = {module: words for module, words in EXTRAS.items() if importlib.util.find_spec(module) is None}
        for module, words in absent.items():
            done = run(words)
            if done.returncode != 2 or "pip install" not in done.stderr or "Traceback" in done.stderr:
                wrong.append(f"{words} without {module}: exit {done.returncode}\n{done.stderr[-2000:]}")
        os.chdir(ROOT)
    print(*wrong, f"{len(VERBS)} calls, {len(absent)} absent extras, {len(wrong)} wrong, Python {sys.version.split()[0]}", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())

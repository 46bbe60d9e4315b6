"""`python -m tools.accuracy [SHARED]`: every accuracy figure against engines' code, public logs, measured performance and symptoms, into docs/reference/accuracy.md.

Each other module of this package prints one section as Markdown when run with the folder of the shared material.
Without that material there is nothing to compare with, and the page is left as it is.
"""

import importlib
import pkgutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import tools.accuracy as package

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "accuracy.md"
HEAD = """# How accurate it is

Made by `make accuracy` on {today}. Exact quantities (cache layouts, block sizes, pool sizes) are compared with what the released engines' own code returns;
estimates with public logs and measurements, the model compared being left out of the fit. Errors are |predicted / observed - 1|.
"""


def section(name: str, shared: Path) -> str:
    """What one module prints. A module that fails stops the page."""
    done = subprocess.run([sys.executable, "-m", f"{package.__name__}.{name}", str(shared)], capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.stderr[-2000:]}")
    text = done.stdout.strip()
    if text.startswith("#"):
        return text
    title = (importlib.import_module(f"{package.__name__}.{name}").__doc__ or name).strip().split("\n")[0].rstrip(".")
    return f"## {title}\n\n```text\n{text}\n```"


def main() -> int:
    """Write the page and print it."""
    shared = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared"
    if not (shared / "cases").is_dir():
        print(f"{shared}: no cases to compare with; the page stays as it is")
        return 0
    names = [info.name for info in pkgutil.iter_modules(package.__path__) if info.name != "__main__"]
    text = HEAD.format(today=date.today().isoformat()) + "\n" + "\n\n".join(section(name, shared) for name in names) + "\n"
    PAGE.write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

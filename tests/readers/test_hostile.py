"""Files made to break a reader: a message or silence, never execution, never a crash, never a hang."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serveright.errors import InputError
from serveright.readers.launch import MAX_BYTES
from tests.budget import examples
from tests.readers.tables import READER

LAUGHS = "a: &a [vllm, vllm]\n" + "".join(f"{chr(97 + n)}: &{chr(97 + n)} [{', '.join(['*' + chr(96 + n)] * 9)}]\n" for n in range(1, 12))
MERGES = "a: &a {image: vllm}\n" + "".join(f"{chr(97 + n)}: &{chr(97 + n)}\n  <<: [{', '.join(['*' + chr(96 + n)] * 9)}]\n" for n in range(1, 12))
HOSTILE = {
    "malformed.yaml": "image: vllm\nargs: [--model, {\n",
    "tabs.yaml": "image: vllm\n\targs: x\n",
    "cycle.yaml": "spec: &a\n  image: vllm/vllm-openai:v1\n  args: [--port, '1']\n  again: *a\n",
    "laughs.yaml": LAUGHS,
    "merges.yaml": MERGES,
    "deep.yaml": "vllm: " + "[" * 50_000,
    "deep-map.yaml": "".join(f"{' ' * n}vllm{n}:\n" for n in range(900)),
    "tag.yaml": "image: !!python/object/apply:os.system ['touch /tmp/serveright-was-here']\nvllm: 1\n",
    "deep.sh": "vllm serve m " + "$(" * 5_000,
    "ifs.sh": "if x; then " * 3_000 + "vllm serve m",
    "doubling.sh": "A=xxxxxxxx\n" + 'A="$A$A"\n' * 60 + "vllm serve $A\n",
    "line.sh": "vllm serve m " + "--port 1 " * 40_000 + "--x " + "y" * 700_000,
    "quote.sh": "vllm serve m --x '" + "y" * 100_000,
    "nul.txt": "vllm\0serve\0m",
    "surrogate.sh": "vllm serve \udcff\n",
    "deep.py": "vllm = " + "(" * 3_000,
    "list.py": "x = [" + "'vllm', 'serve', " * 4_000 + "]",
    "unit.service": "[Service]\nExecStart=vllm serve m \\\n" + "\\\n" * 20_000,
    "bytes.json": '{"vllm": "\ud800"}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_ends_soon_and_softly(name: str) -> None:
    start = time.process_time()
    READER.bytes(HOSTILE[name].encode("utf-8", "surrogatepass"), name)
    assert time.process_time() - start < 8


INJECTIONS = [
    "vllm serve m --port $(touch {mark})",
    "vllm serve m --served-model-name `touch {mark}`",
    "vllm serve m; touch {mark}",
    "A='$(touch {mark})'; vllm serve m --x \"$A\"",
    "vllm serve m <(touch {mark})",
]


@pytest.mark.parametrize("text", INJECTIONS)
def test_nothing_is_ever_executed(text: str, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    commands = READER.text(text.replace("{mark}", str(mark)), "run.sh").commands
    assert commands
    assert not mark.exists()


def test_yaml_tags_build_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    READER.text(f"image: !!python/object/apply:os.system ['touch {mark}']\nvllm: 1\n", "x.yaml")
    assert not mark.exists()


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.yaml"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(InputError):
        READER.file(path)
    with pytest.raises(InputError):
        READER.file(tmp_path / "absent.yaml")


@settings(max_examples=examples(150), deadline=None)
@given(st.text(max_size=300), st.sampled_from(["a.yaml", "a.sh", "a.py", "a.service", "Dockerfile", "a.md", "a"]))
def test_any_text_is_read_without_a_crash(text: str, name: str) -> None:
    READER.text("vllm serve m\n" + text, name)
    READER.text(text + "\nvllm: [image, args]", name)


MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: s{n}}}
spec:
  template:
    spec:
      containers:
        - name: server
          image: vllm/vllm-openai:v0.33.0
          args: [--model, org/m{n}, --tensor-parallel-size, "8", --max-model-len, "32768", --port, "{n}"]
          resources: {{limits: {{nvidia.com/gpu: 8}}}}
"""
COUNT = 2_000


def test_manifests_are_read_fast_and_in_flat_memory(tmp_path: Path) -> None:
    """10,000 in a minute on two cores: 12 ms each on one; memory of a fifth of them must not differ from that of all."""
    for n in range(COUNT):
        (tmp_path / f"{n}.yaml").write_text(MANIFEST.format(n=n))
    READER.file(tmp_path / "0.yaml")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    for n in range(COUNT):
        assert len(READER.file(tmp_path / f"{n}.yaml").commands) == 1
    each = (time.process_time() - start) / COUNT
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"{each * 1000:.2f} ms a manifest, {grown} KiB grown")
    assert each < 0.006
    assert grown < 20_000


def test_importing_the_readers_starts_no_process() -> None:
    code = "import sys; import serveright.readers.launch; sys.exit('subprocess' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ}, check=False).returncode == 0

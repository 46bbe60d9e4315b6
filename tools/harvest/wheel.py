"""Opens a released wheel without installing or importing it, and fetches no more of it than the files asked for."""

import email
import email.message
import io
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from urllib.request import Request, urlopen

from packaging.requirements import Requirement

BLOCK = 1 << 20
PLATFORMS = ("manylinux_2_35_x86_64", "manylinux_2_34_x86_64", "manylinux_2_31_x86_64", "manylinux_2_28_x86_64", "manylinux2014_x86_64", "manylinux1_x86_64")
TARGET = {
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "python_version": "3.12",
    "python_full_version": "3.12.0",
}
# Early SGLang kept what its server needs in extras.
EXTRAS = ("", "srt", "srt_base", "runtime_common", "all")


class RemoteFile(io.RawIOBase):
    """A seekable file behind HTTP range requests, kept in blocks of 1 MiB."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url, self.position = url, 0
        self.blocks: dict[int, bytes] = {}
        with urlopen(Request(url, headers={"Range": "bytes=0-0"}), timeout=60) as answer:
            total = answer.headers.get("Content-Range", "").rpartition("/")[2]
        if not total.isdigit():
            raise OSError("the server does not answer range requests")
        self.size = int(total)

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.size}[whence]
        return self.position

    def read(self, size: int = -1) -> bytes:
        end = self.size if size < 0 else min(self.size, self.position + size)
        first, last = self.position // BLOCK, max(self.position, end - 1) // BLOCK
        self._fetch([n for n in range(first, last + 1) if n not in self.blocks])
        data = b"".join(self.blocks[n] for n in range(first, last + 1))
        start = self.position - first * BLOCK
        self.position = end
        return data[start : start + end - first * BLOCK - start]

    def _fetch(self, missing: list[int]) -> None:
        if not missing:
            return
        low, high = missing[0] * BLOCK, min(self.size, (missing[-1] + 1) * BLOCK) - 1
        with urlopen(Request(self.url, headers={"Range": f"bytes={low}-{high}"}), timeout=120) as answer:
            data = answer.read()
        for number in range(missing[0], missing[-1] + 1):
            at = number * BLOCK - low
            self.blocks[number] = data[at : at + BLOCK]


class Wheel:
    """The files of one wheel: `read(path)` gives text, `names` every path, `metadata` the package's own description."""

    def __init__(self, archive: zipfile.ZipFile, source: str) -> None:
        self.archive, self.source = archive, source
        self.names = frozenset(archive.namelist())
        path = next(n for n in self.names if n.endswith(".dist-info/METADATA") and n.count("/") == 1)
        self.metadata: email.message.Message = email.message_from_string(self.read(path))
        self.built = "{:04}-{:02}-{:02}".format(*archive.getinfo(path).date_time)

    def read(self, path: str) -> str:
        return self.archive.read(path).decode("utf-8-sig", "replace")

    def under(self, folder: str) -> list[str]:
        """Python files under a folder, sorted."""
        return sorted(n for n in self.names if n.startswith(folder.rstrip("/") + "/") and n.endswith(".py"))

    def requires(self) -> dict[str, str]:
        """What an x86-64 Linux server needs, and `cuda` where a requirement names the flavour (`cu13`)."""
        found: dict[str, str] = {}
        flavours: set[str] = set()
        for line in self.metadata.get_all("Requires-Dist", []):
            need = Requirement(line)
            if need.marker is None or any(need.marker.evaluate(TARGET | {"extra": e}) for e in EXTRAS):
                found[need.name.lower().replace("_", "-")] = str(need.specifier)
                flavours.update(m for text in (need.name, *need.extras) for m in re.findall(r"(?:^|-)cu(\d\d)\d*$", text))
        if len(flavours) == 1:
            found["cuda"] = flavours.pop()
        return found


def open_wheel(spec: str) -> Wheel:
    """`NAME==VERSION` from the configured package index, or the path of a wheel on disk."""
    if spec.endswith(".whl"):
        return Wheel(zipfile.ZipFile(spec), Path(spec).name)
    url = address(spec)
    name = url.rpartition("/")[2]
    try:
        return Wheel(zipfile.ZipFile(RemoteFile(url) if url.startswith("http") else open_local(url)), name)
    except OSError:
        return Wheel(zipfile.ZipFile(download(spec)), name)


def open_local(url: str) -> Path:
    """A `file:` address, as pip gives it for a local package folder."""
    return Path(url.removeprefix("file://"))


def address(spec: str) -> str:
    """Where the package index keeps the wheel: pip is asked for a plan, nothing is installed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = ["install", "--dry-run", "--ignore-installed", "--no-cache-dir", "--use-feature=fast-deps", "--target", folder, "--report", str(report)]
        _pip([*command, *_target(), spec])
        return json.loads(report.read_text())["install"][0]["download_info"]["url"]


def download(spec: str) -> io.BytesIO:
    """The whole wheel, for an index that serves no ranges."""
    with tempfile.TemporaryDirectory() as folder:
        _pip(["download", "--no-cache-dir", "--dest", folder, *_target(), spec])
        return io.BytesIO(next(Path(folder).glob("*.whl")).read_bytes())


def _target() -> list[str]:
    return ["--no-deps", "--only-binary=:all:", "--python-version", "3.12", *(f"--platform={p}" for p in PLATFORMS)]


def _pip(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"pip could not find it: {done.stderr.strip().splitlines()[-1]}")

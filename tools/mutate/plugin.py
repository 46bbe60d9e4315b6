"""The pytest plugin that does the work, in one of two ways (environment variable MUTATE): `map` records which test runs which line, `run` tries mutants.

A mutant never touches a file: the process that has collected every test forks a child, the child swaps the code objects of one function (or the value of
one module constant), runs the tests that reach the line, shortest first, and stops at the first failure. Limits are CPU time, never the clock.
"""

import ast
import functools
import gc
import importlib
import json
import math
import os
import pkgutil
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from hypothesis import Phase, settings

from tools.mutate.changes import Change, changes, parsed

PACKAGES = ("serveright.analysis", "serveright.engines")
# a failing example is enough: it need not be the smallest
settings.register_profile("mutate", derandomize=True, database=None, deadline=None, phases=(Phase.explicit, Phase.generate))
LONGEST = 4.0
MEMORY = 12 << 30


def pytest_configure(config: pytest.Config) -> None:
    """Register the way asked for."""
    way = {"map": Mapping, "run": Trying}[os.environ["MUTATE"]]
    config.pluginmanager.register(way(json.loads(os.environ["MUTATE_JOB"])))


def _caches() -> list[Any]:
    """Every memo of the pure layers, so that one test's answer is not another one's."""
    kind = type(functools.cache(lambda: None))
    pure = (*PACKAGES, "serveright.families", "serveright.formats", "serveright.api", "serveright.rules")
    return [found for found in gc.get_objects() if type(found) is kind and str(found.__module__).startswith(pure)]


def _import_all() -> None:
    for package in PACKAGES:
        home = importlib.import_module(package)
        for module in pkgutil.walk_packages(home.__path__, f"{package}."):
            importlib.import_module(module.name)


class Mapping:
    """Runs all tests once under coverage, each its own context, and writes lines and seconds by test."""

    def __init__(self, job: dict[str, Any]) -> None:
        import coverage  # pyright: ignore[reportMissingImports]

        self.out, self.root = Path(job["out"]), Path(job["root"])
        self.coverage = coverage.Coverage(data_file=None, source=[str(self.root / "src/serveright" / name) for name in ("analysis", "engines")])
        self.coverage.start()
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.shared: list[str] = []
        self.fixtures: dict[str, list[str]] = {}
        self.caches: list[Any] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Everything is imported now: remember which tests want the shared material and which share a fixture."""
        _import_all()
        self.caches = _caches()
        for item in session.items:
            if item.get_closest_marker("shared"):
                self.shared.append(item.nodeid)
            wide = [d[-1].argname for d in item._fixtureinfo.name2fixturedefs.values() if d[-1].scope != "function" and "tests" in d[-1].func.__module__]  # type: ignore[attr-defined]
            if wide:
                self.fixtures[item.nodeid] = wide

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """One context a test."""
        for cache in self.caches:
            cache.cache_clear()
        self.coverage.switch_context(item.nodeid)
        before = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - before
            self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that fails by itself tells nothing."""
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write the map."""
        self.coverage.stop()
        data = self.coverage.get_data()
        names = sorted(self.seconds)
        number = {name: place for place, name in enumerate(names)}
        lines: dict[str, dict[int, list[int]]] = {}
        for file in data.measured_files():
            by_line = data.contexts_by_lineno(file)
            lines[str(Path(file).relative_to(self.root))] = {line: [number[c] for c in contexts if c in number] for line, contexts in by_line.items()}
        self.out.write_text(
            json.dumps(
                {
                    "tests": names,
                    "seconds": [round(self.seconds[name], 4) for name in names],
                    "failed": sorted(self.failed),
                    "shared": self.shared,
                    "fixtures": self.fixtures,
                    "lines": lines,
                }
            )
        )


class Trying:
    """Forks one child a mutant and appends what became of it to a file of JSON lines."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.root = Path(job["root"])
        self.items: dict[str, pytest.Item] = {}
        self.functions: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
        self.failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In the child: the first failure ends it."""
        if report.failed:
            self.failed = report.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of running the tests: one child a mutant, as many at once as the job says."""
        _import_all()
        self.items = {item.nodeid: item for item in session.items}
        for found in gc.get_objects():
            if isinstance(found, FunctionType):
                self.functions[found.__code__.co_filename, found.__code__.co_qualname, found.__code__.co_firstlineno].append(found)
        for cache in _caches():
            cache.cache_clear()
        gc.freeze()
        todo = [json.loads(line) for line in Path(self.job["todo"]).read_text().splitlines()]
        running: dict[int, tuple[int, dict[str, Any], Path]] = {}
        with Path(self.job["out"]).open("a", encoding="utf-8") as out:
            while todo or running:
                while todo and len(running) < self.job["jobs"]:
                    task = todo.pop(0)
                    place = Path(tempfile.mkdtemp(prefix="mutant"))
                    child, reader = self._fork(task, place)
                    running[child] = (reader, task, place)
                child, status, used = os.wait4(-1, 0)
                reader, task, place = running.pop(child)
                with os.fdopen(reader) as pipe:
                    answer = pipe.read()
                shutil.rmtree(place, ignore_errors=True)
                got = json.loads(answer.splitlines()[-1]) if answer.strip() else {"status": "survived"}
                if os.WIFSIGNALED(status):
                    got = {**got, "status": "timeout" if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else "killed", "by": got.get("now", "")}
                got.pop("now", None)
                mutant = {key: task[key] for key in ("path", "number", "kind", "line", "before", "after")}
                out.write(json.dumps({**mutant, **got, "cpu": round(used.ru_utime + used.ru_stime, 2)}) + "\n")
                out.flush()
        return True

    def _fork(self, task: dict[str, Any], place: Path) -> tuple[int, int]:
        reader, writer = os.pipe()
        child = os.fork()
        if child:
            os.close(writer)
            return child, reader
        os.close(reader)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            self._child(task, place, writer)
        except BaseException as error:  # noqa: BLE001 the child must end here, whatever a fault in the code raises
            self._say(writer, {"status": "killed", "by": repr(error)[:200]})
        os._exit(0)

    @staticmethod
    def _say(writer: int, answer: dict[str, Any]) -> None:
        os.write(writer, (json.dumps(answer) + "\n").encode())

    def _child(self, task: dict[str, Any], place: Path, writer: int) -> None:
        factory = next(iter(self.items.values())).config._tmp_path_factory  # type: ignore[attr-defined]
        factory._basetemp = place
        tree = parsed(self.root / task["path"])
        number: int = task["number"]
        change = changes(tree)[number]
        change.apply()
        if not self._install(change, ast.fix_missing_locations(tree), task):
            self._say(writer, {"status": "skipped"})
            return
        spent, ran = 0.0, 0
        items = [self.items[name] for name, _ in task["tests"]]
        for (name, seconds), item, after in zip(task["tests"], items, [*items[1:], None], strict=True):
            if spent > self.job["most_seconds"]:
                self._say(writer, {"status": "survived", "ran": ran, "of": len(task["tests"])})
                return
            self._say(writer, {"status": "survived", "now": name, "ran": ran, "of": len(task["tests"])})
            most = math.ceil(time.process_time() + 6 + LONGEST * seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
            before = time.process_time()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            spent += time.process_time() - before
            ran += 1
            if self.failed:
                self._say(writer, {"status": "killed", "by": self.failed, "ran": ran})
                return
        self._say(writer, {"status": "survived", "ran": ran, "of": len(task["tests"])})

    def _install(self, change: Change, tree: ast.Module, task: dict[str, Any]) -> bool:
        """Put the changed function or constant into the running program; False where it is neither (a field of a class)."""
        path = str(self.root / task["path"])
        name = task["path"].removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        module = sys.modules[name]
        if change.function is not None and not isinstance(change.statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for code in _codes(compile(tree, path, "exec")):
                for function in self.functions.get((path, code.co_qualname, code.co_firstlineno), ()):
                    if code.co_firstlineno == _first_line(change.function):
                        function.__code__ = code
            return True
        if isinstance(change.statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return change.function is None and self._defaults(change.statement, module.__dict__, path)
        if change.statement not in tree.body:
            return False
        before = dict(module.__dict__)
        exec(compile(ast.Module([change.statement], []), path, "exec"), module.__dict__)
        for key, value in module.__dict__.items():
            if key in before and before[key] is not value:
                _spread(key, before[key], value)
        return True

    def _defaults(self, statement: ast.FunctionDef | ast.AsyncFunctionDef, names: dict[str, Any], path: str) -> bool:
        scratch = dict(names)
        exec(compile(ast.Module([statement], []), path, "exec"), scratch)
        made = scratch[statement.name]
        made = getattr(made, "__wrapped__", made)
        if not isinstance(made, FunctionType):
            return False
        found = self.functions.get((path, statement.name, _first_line(statement)), ())
        for function in found:
            function.__defaults__, function.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
        return bool(found)


def _spread(name: str, old: object, new: object) -> None:
    """Other modules that imported the constant get the new one too."""
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        if names.get(name) is old:
            names[name] = new


def _codes(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes(inner)


def _first_line(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return function.decorator_list[0].lineno if function.decorator_list else function.lineno

"""Change every numeric constant and comparison of the theory, one at a time, and run the tests that reach it.

A mutant that no test notices is a missing test, or a comment at its line, or just above, says why no test can:
`# mutants: caches`. The reasons stand in tools/mutants-reasons.toml; one comment speaks for all mutants of its line.

    python tools/mutants.py                              calculus, networks and theorems
    python tools/mutants.py theory/calculus/covers.py    some modules
    python tools/mutants.py --explained                  those too that have a reason
    python tools/mutants.py --list                       count the mutants, run nothing

The tests are collected once. They are run once under coverage, which tells which tests reach a line and how long they
take (kept in out/reach until these tests, or a source that they reach, change). Then every mutant is a fork of that
process: the changed code takes the place of the old one, and the tests that reach the line are run, those that noticed
its neighbours and quick ones first, until one fails. Verdicts are kept in out/mutants.json: an interrupted run resumes.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import gc
import hashlib
import importlib
import io
import json
import os
import re
import resource
import signal
import sys
import time
import tokenize
import tomllib
import traceback
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("HYPOTHESIS_PROFILE", "few")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import coverage
import pytest
from _pytest.skipping import evaluate_skip_marks

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "certiformer"
TESTS = ROOT / "tests"
OUT = ROOT / "out"
MEMORY, REACH = OUT / "mutants.json", OUT / "reach"
REASONS = tomllib.loads((ROOT / "tools" / "mutants-reasons.toml").read_text())
BEGAN = time.monotonic()
ROOMS = ("theory/calculus", "theory/networks", "theory/theorems")
SUITES = ("theory/theorems", "theory/calculus", "theory/networks", "certificates")
# Tests with JAX must not be interrupted: its threads would wait for each other for ever.
LABORATORY = re.compile(r"^\s*(import|from) (jax|certiformer\.lab)\b|reference_model", re.M)
# How many tests are recorded at a time: what is lost where a run is interrupted.
SHARE = 100
# What notices a mutant besides a test: its module does not load, or a test does not end.
IMPORT, HANG = "import", "hang"
# Seconds of processor time that the tests of one mutant may take; those that have not noticed by then rarely do.
PATIENCE = 12.0
# A test that takes so many times as long as without the mutant, and these seconds besides, has noticed it.
HANGS, GRACE = 10, 2.0
# A test that takes longer than this under coverage is too slow a witness, and left out.
SLOW = 2.0
# Where a test may not be interrupted, this much later; and the seconds after which no child is waited for.
SOON, LONGEST = 0.01, 1800
COMPARISONS = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
# Documentation, not mathematics: the walk over the registry evaluates every example.
DOCUMENTATION = {"example", "default", "monotone", "year", "low", "high"}


@dataclass(frozen=True)
class Mutant:
    """The `index`-th site of a file, changed; `reasons` why no test need notice, as the comment at its line says."""

    path: Path
    index: int
    line: int
    column: int
    place: str
    what: str
    reasons: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.path.relative_to(SOURCE)}:{self.line}:{self.column}: {self.place}: {self.what}"

    @property
    def module(self) -> str:
        parts = self.path.relative_to(SOURCE).with_suffix("").parts
        return ".".join(("certiformer", *parts)).removesuffix(".__init__")


# --- the mutants --------------------------------------------------------------------------------------------------


def sites(tree: ast.AST) -> Iterator[ast.AST]:
    """Numeric constants and comparisons, in source order, documentation left out."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in DOCUMENTATION:
            skipped |= {id(child) for child in ast.walk(node)}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Paper":
            skipped |= {id(child) for child in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
        if number or (isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS):
            yield node


def change(node: ast.AST) -> None:
    if isinstance(node, ast.Constant):
        assert isinstance(node.value, int | float)
        node.value = node.value + 1 if isinstance(node.value, int) else node.value * 1.1 + (node.value == 0.0)
    elif isinstance(node, ast.Compare):
        node.ops[0] = COMPARISONS[type(node.ops[0])]()


def mutants(path: Path) -> list[Mutant]:
    found = []
    text = path.read_text()
    tree = ast.parse(text)
    places, reasons = {id(node): name for name, node in named(tree, "")}, reasons_by_line(text)
    for index, node in enumerate(sites(tree)):
        before = ast.unparse(node)
        change(node)
        what = f"{before} -> {ast.unparse(node)}"
        line, column = node.lineno, node.col_offset  # type: ignore[attr-defined]
        found.append(Mutant(path, index, line, column, places[id(node)], what, reasons.get(line, ())))
    return found


def reasons_by_line(text: str) -> dict[int, tuple[str, ...]]:
    """What the comments `# mutants: NAME, NAME` say, at the end of a line or on a line of their own above it."""
    found = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.string.startswith("# mutants: "):
            names = tuple(token.string.removeprefix("# mutants: ").split(", "))
            unknown = set(names) - set(REASONS)
            if unknown:
                raise SystemExit(f"line {token.start[0]}: no such reason in mutants-reasons.toml: {', '.join(unknown)}")
            alone = not token.line[: token.start[1]].strip()
            found[token.start[0] + alone] = names
    return found


def named(node: ast.AST, name: str) -> Iterator[tuple[str, ast.AST]]:
    """Every node with the function, class or constant that it is part of."""
    for child in ast.iter_child_nodes(node):
        inner = name
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            inner = f"{name}.{child.name}".lstrip(".")
        elif isinstance(child, ast.Assign | ast.AnnAssign) and not isinstance(node, ast.FunctionDef):
            target = child.targets[0] if isinstance(child, ast.Assign) else child.target
            inner = f"{name}.{ast.unparse(target)}".lstrip(".")
        yield inner, child
        yield from named(child, inner)


def changed_code(mutant: Mutant) -> types.CodeType:
    tree = ast.parse(mutant.path.read_text())
    change(list(sites(tree))[mutant.index])
    return compile(tree, str(mutant.path), "exec")


# --- putting a mutant in place of what is loaded -----------------------------------------------------------------


def install(mutant: Mutant) -> None:
    """Run the changed module beside the loaded one, and move its code and constants into it."""
    module = importlib.import_module(mutant.module)
    fresh = {name: value for name, value in vars(module).items() if name.startswith("__")}
    exec(changed_code(mutant), fresh)
    for name, new in fresh.items():
        old = vars(module).get(name)
        if name.startswith("__") or old is new:
            continue
        if not transplant(old, new):
            replace_everywhere(module, name, old, new)


def transplant(old: Any, new: Any) -> bool:
    """Give an old function or class the code of the new one; False where there is no code to give."""
    if isinstance(old, functools._lru_cache_wrapper) and isinstance(new, functools._lru_cache_wrapper):
        old.cache_clear()
        return transplant(old.__wrapped__, new.__wrapped__)
    if isinstance(old, property) and isinstance(new, property):
        return transplant(old.fget, new.fget)
    if isinstance(old, functools.cached_property) and isinstance(new, functools.cached_property):
        return transplant(old.func, new.func)
    if isinstance(old, staticmethod | classmethod) and type(old) is type(new):
        return transplant(old.__func__, new.__func__)
    if isinstance(old, types.FunctionType) and isinstance(new, types.FunctionType):
        if hasattr(old, "__wrapped__") and hasattr(new, "__wrapped__"):
            return transplant(old.__wrapped__, new.__wrapped__)
        if len(old.__code__.co_freevars) != len(new.__code__.co_freevars):
            return False
        old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__
        return True
    if isinstance(old, type) and isinstance(new, type):
        for name, value in vars(new).items():
            if name in ("__dict__", "__weakref__", "__doc__", "__module__") or name in vars(new).get("__slots__", ()):
                continue
            if not transplant(vars(old).get(name), value) and not isinstance(value, types.MemberDescriptorType):
                with contextlib.suppress(AttributeError, TypeError):
                    type.__setattr__(old, name, value)
        return True
    return False


def replace_everywhere(module: types.ModuleType, name: str, old: Any, new: Any) -> None:
    """A constant is replaced in its module and wherever it was imported by name."""
    for other in [
        loaded for loaded in sys.modules.values() if getattr(loaded, "__name__", "").startswith("certiformer")
    ]:
        if other is module or vars(other).get(name) is old:
            setattr(other, name, new)


# --- which tests reach a line -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reach:
    """Seconds of every test that passes, and the tests that reach a line of a file (0: any line)."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, list[str]]]

    def of(self, mutant: Mutant) -> list[str]:
        by_line = self.lines.get(str(mutant.path.relative_to(ROOT)), {})
        # What runs at import (a constant of the module) is felt by every test that reaches the file.
        found = by_line.get(mutant.line) or by_line.get(0, [])
        return sorted(found, key=lambda test: self.seconds[test])


def record(items: Sequence[pytest.Item], files: Iterable[Path]) -> Reach:
    """Run these tests once under coverage."""
    data = coverage.Coverage(data_file=None, include=[str(file) for file in files], messages=False)
    seconds: dict[str, float] = {}
    data.start()
    for number, item in enumerate(items):
        data.switch_context(item.nodeid)
        began = time.process_time()
        limit = 0.0 if is_laboratory(item) else SLOW
        passed = run_test(item, items[number + 1] if number + 1 < len(items) else None, limit)
        if passed and time.process_time() - began < SLOW:
            seconds[item.nodeid] = time.process_time() - began
    data.stop()
    lines: dict[str, dict[int, list[str]]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tests may reach nothing of all this
        found = data.get_data()
    for name in found.measured_files():
        by_line = lines.setdefault(str(Path(name).relative_to(ROOT)), {})
        for line, contexts in found.contexts_by_lineno(name).items():
            by_line[line] = [context for context in contexts if context in seconds]
    return Reach(seconds, lines)


def is_laboratory(item: pytest.Item) -> bool:
    return LABORATORY.search(item.path.read_text()) is not None


COVERAGE = Path(coverage.__file__).parent


class TooSlow(BaseException):
    """Raised in a test that has used up its time; no `except Exception` holds it back."""


def run_test(item: pytest.Item, following: pytest.Item | None = None, limit: float = 0.0) -> bool:
    """Set up, call and tear down one test; whether it passed. Nobody reads how it failed, so nothing is reported.

    What the test shares with the `following` one stays. With a `limit` a test that takes longer does not count.
    """

    def stop(_: int, frame: types.FrameType | None) -> None:
        if frame is not None and Path(frame.f_code.co_filename).is_relative_to(COVERAGE):
            signal.setitimer(signal.ITIMER_VIRTUAL, SOON)  # it may hold its lock, and would keep it for ever
        else:
            raise TooSlow

    signal.signal(signal.SIGVTALRM, stop)
    state = item.session._setupstate
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, limit)
        item._initrequest()  # type: ignore[attr-defined]
        if evaluate_skip_marks(item) is not None:
            return False
        state.setup(item)
        item.runtest()
        return True
    except BaseException:
        return False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        try:
            state.teardown_exact(following)
        except BaseException:
            with contextlib.suppress(BaseException):
                state.teardown_exact(None)


def digest(files: Iterable[Path]) -> str:
    state = hashlib.sha256()
    for file in files:
        state.update(str(file).encode())
        state.update(file.read_bytes())
    return state.hexdigest()


def test_files() -> list[Path]:
    return sorted(file for suite in SUITES for file in (TESTS / suite).rglob("*.py"))


def shared_state() -> str:
    """What every test stands on: core, and the vectors and helpers of the tests."""
    helpers = [file for file in test_files() if not file.name.startswith("test_")]
    return digest(
        [*sorted((SOURCE / "theory" / "core").rglob("*.py")), *sorted((TESTS / "vectors").glob("*.json")), *helpers]
    )


def shares_of(items: Sequence[pytest.Item]) -> dict[Path, Sequence[pytest.Item]]:
    """The tests, a part of a test file at a time, by the file that keeps what they reach."""
    shared = shared_state()
    shares: dict[Path, Sequence[pytest.Item]] = {}
    for path in dict.fromkeys(item.path for item in items):
        mine = [item for item in items if item.path == path]
        for tests in (mine[start : start + SHARE] for start in range(0, len(mine), SHARE)):
            names = digest([path]) + shared + " ".join(item.nodeid for item in tests)
            shares[REACH / f"{path.stem}-{hashlib.sha256(names.encode()).hexdigest()[:16]}.json"] = tests
    return shares


def keep_record(items: Sequence[pytest.Item], files: Iterable[Path], texts: Mapping[str, str], kept: Path) -> str:
    found = record(items, files)
    content = {"texts": {name: texts[name] for name in found.lines}, "seconds": found.seconds, "lines": found.lines}
    kept.with_suffix(".part").write_text(json.dumps(content))
    kept.with_suffix(".part").rename(kept)
    return kept.stem


def reach_of(items: Sequence[pytest.Item], files: Sequence[Path], jobs: int) -> Reach:
    """What is kept of tests and sources as they are now; what is missing is recorded, and kept."""
    REACH.mkdir(exist_ok=True)
    texts = {str(file.relative_to(ROOT)): digest([file]) for file in files}
    shares = shares_of(items)

    def is_good(kept: Path) -> bool:
        return kept.exists() and json.loads(kept.read_text())["texts"].items() <= texts.items()

    todo = [kept for kept in shares if not is_good(kept)]
    # In children, so that no library of this process has started threads when it is forked for the mutants.
    work = (partial(keep_record, shares[kept], files, texts, kept) for kept in todo)
    for number, (_, done) in enumerate(in_forks(work, jobs, HANGS * SHARE), 1):
        print(f"[{number}/{len(todo)}] under coverage: {done}", flush=True)
    seconds: dict[str, float] = {}
    lines: dict[str, dict[int, list[str]]] = {}
    for kept in shares:
        if not is_good(kept):
            raise SystemExit(f"the tests of {kept.stem} could not be run under coverage")
        content = json.loads(kept.read_text())
        seconds |= content["seconds"]
        for name, by_line in content["lines"].items():
            for line, tests in by_line.items():
                lines.setdefault(name, {}).setdefault(int(line), []).extend(tests)
    anywhere = {name: sorted({test for tests in found.values() for test in tests}) for name, found in lines.items()}
    return Reach(seconds, {name: {**found, 0: anywhere[name]} for name, found in lines.items()})


# --- running them -------------------------------------------------------------------------------------------------


def notices(mutant: Mutant, tests: Sequence[tuple[pytest.Item, float]], patience: float) -> dict[str, str | None]:
    """{"by": the first test that fails with the mutant in place, or does not end}. Tests come with their seconds.

    A module that no longer loads is noticed by any.
    """
    try:
        install(mutant)
    except Exception:
        return {"by": IMPORT}
    began = time.process_time()
    for item, seconds in tests:
        if not run_test(item, limit=0.0 if is_laboratory(item) else HANGS * seconds + GRACE):
            return {"by": item.nodeid}
        if time.process_time() - began > patience:
            break
    return {"by": None}


def in_a_fork(work: Callable[[], Any], seconds: float) -> tuple[int, int]:
    """A child that does the work, in so many seconds, and writes its answer to a pipe; its id and the pipe."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX may be imported, but it has not started its threads
        child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    # A test that hangs is ended by the system, which counts as noticed.
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
    signal.alarm(min(30 * int(seconds), LONGEST))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    code = 1
    try:
        with os.fdopen(writing, "w") as answer:
            json.dump(work(), answer)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)  # whatever happens, a child never goes on with its parent's work


def in_forks(work: Iterable[Callable[[], Any]], jobs: int, seconds: float) -> Iterator[tuple[int, Any]]:
    """Each piece of work in a child of its own, `jobs` at a time; its number and its answer (None if it was ended)."""
    waiting = enumerate(work)
    running: dict[int, tuple[int, int]] = {}
    while True:
        while len(running) < jobs and (piece := next(waiting, None)) is not None:
            child, pipe = in_a_fork(piece[1], seconds)
            running[child] = piece[0], pipe
        if not running:
            return
        child, _ = os.wait()
        if child in running:
            number, pipe = running.pop(child)
            with os.fdopen(pipe) as answer:
                text = answer.read()
            yield number, json.loads(text) if text else None


@dataclass
class Hunt:
    """All mutants, `jobs` at a time, in the order of the files; what noticed one is tried first on its neighbours."""

    items: dict[str, pytest.Item]
    reach: Reach
    jobs: int
    patience: float
    killers: dict[Path, list[str]] = field(default_factory=dict)

    def run(self, todo: Sequence[Mutant]) -> Iterator[tuple[Mutant, str | None]]:
        work = (partial(notices, mutant, self._ordered(mutant), self.patience) for mutant in todo)
        for number, answer in in_forks(work, self.jobs, HANGS * self.patience):
            found = HANG if answer is None else answer["by"]
            if found in self.items:
                known = self.killers.setdefault(todo[number].path, [])
                self.killers[todo[number].path] = [found, *(name for name in known if name != found)][:5]
            yield todo[number], found

    def _ordered(self, mutant: Mutant) -> list[tuple[pytest.Item, float]]:
        reached = self.reach.of(mutant)
        names = [*(name for name in self.killers.get(mutant.path, []) if name in reached), *reached]
        return [(self.items[name], self.reach.seconds[name]) for name in dict.fromkeys(names) if name in self.items]


@dataclass
class Memory:
    """Verdicts of earlier runs. One that was noticed stays noticed while its file and the test that did are the same;
    one that survived is tried again when any test has changed, and with more patience."""

    path: Path
    verdicts: dict[str, dict[str, str | None]]
    tests: dict[str, str]  # digest by test file, "" for all of them

    @staticmethod
    def load(path: Path, items: Iterable[pytest.Item], patience: float) -> Memory:
        suites = sorted({item.path for item in items})
        tests = {str(file.relative_to(ROOT)): digest([file]) for file in test_files()}
        verdicts = json.loads(path.read_text()) if path.exists() else {}
        return Memory(path, verdicts, {**tests, "": f"{digest(suites)} {shared_state()} {patience}"})

    def key(self, mutant: Mutant) -> str:
        return f"{digest([mutant.path])} {mutant.index}"

    def knows(self, mutant: Mutant) -> bool:
        kept = self.verdicts.get(self.key(mutant))
        return kept is not None and kept["seen"] == self._seen(kept["by"])

    def add(self, mutant: Mutant, by: str | None) -> None:
        self.verdicts[self.key(mutant)] = {"by": by, "seen": self._seen(by)}

    def of(self, mutant: Mutant) -> str | None:
        """What noticed it; None if nothing did, or if it was not run."""
        return self.verdicts.get(self.key(mutant), {"by": None})["by"]

    def save(self) -> None:
        self.path.with_suffix(".part").write_text(json.dumps(self.verdicts))
        self.path.with_suffix(".part").rename(self.path)

    def _seen(self, by: str | None) -> str:
        if by in (IMPORT, HANG):
            return ""
        return self.tests.get("" if by is None else by.partition("::")[0], "gone")


class Plugin:
    """Takes the place of pytest's own loop over the tests once they are collected."""

    def __init__(
        self, everything: Sequence[Mutant], files: Sequence[Path], jobs: int, patience: float, explained: bool
    ) -> None:
        self.everything, self.files, self.jobs = everything, files, jobs
        self.patience, self.explained = patience, explained
        self.code = 1

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.collect()
        gc.freeze()  # children share these pages as long as nobody counts their references again
        reach = reach_of(session.items, self.files, self.jobs)
        memory = Memory.load(MEMORY, session.items, self.patience)
        todo = [m for m in self.everything if not memory.knows(m) and (self.explained or not m.reasons)]
        print(f"{len(self.everything)} mutants, {len(todo)} to run with {self.jobs} jobs", flush=True)
        hunt = Hunt({item.nodeid: item for item in session.items}, reach, self.jobs, self.patience)
        for number, (mutant, found) in enumerate(hunt.run(todo), 1):
            memory.add(mutant, found)
            if found is None:
                print(f"[{number}/{len(todo)}] survived  {mutant.name}", flush=True)
            if number % 10 == 0:
                memory.save()
        memory.save()
        self.code = report(self.everything, {mutant: memory.of(mutant) for mutant in self.everything}, reach)
        return True


def report(everything: Sequence[Mutant], verdicts: dict[Mutant, str | None], reach: Reach) -> int:
    survivors = [mutant for mutant in everything if verdicts[mutant] is None]
    unexplained = [mutant for mutant in survivors if not mutant.reasons]
    killed = len(everything) - len(survivors)
    table(everything, survivors, unexplained)
    print(f"{killed} killed, {len(survivors) - len(unexplained)} accepted with a reason, {len(unexplained)} survived")
    for mutant in unexplained:
        note = "" if reach.of(mutant) else "  (no test reaches it)"
        print(f"SURVIVED {mutant.name}{note}")
    return 1 if unexplained else 0


def table(everything: Sequence[Mutant], survivors: Sequence[Mutant], unexplained: Sequence[Mutant]) -> None:
    """A line for each room, and what the run took."""
    print(f"{'package':<18}{'mutants':>9}{'killed':>9}{'explained':>11}{'survived':>10}")
    for room in (*ROOMS, "together"):
        counts = [
            sum(room == "together" or mutant.path.is_relative_to(SOURCE / room) for mutant in those)
            for those in (everything, survivors, unexplained)
        ]
        print(f"{room:<18}{counts[0]:>9}{counts[0] - counts[1]:>9}{counts[1] - counts[2]:>11}{counts[2]:>10}")
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    processor = sum(each.ru_utime + each.ru_stime for each in used)
    print(f"{(time.monotonic() - BEGAN) / 60:.1f} minutes, {processor / 60:.1f} of processor time")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="modules or folders below src/certiformer (default: all)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--tests", nargs="+", default=SUITES, help="below tests/ (default: all of the theory)")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds for the tests of one mutant")
    parser.add_argument("--explained", action="store_true", help="run those too that are accepted with a reason")
    parser.add_argument("--list", action="store_true", help="count the mutants and leave")
    options = parser.parse_args()
    every = sorted(file for room in ROOMS for file in (SOURCE / room).rglob("*.py"))
    roots = [SOURCE / path for path in options.paths or ROOMS]
    if missing := [str(root) for root in roots if not root.exists()]:
        parser.error(f"no such module or folder: {', '.join(missing)}")
    files = [file for file in every if any(file == root or file.is_relative_to(root) for root in roots)]
    everything = [mutant for file in files if file.name != "_template.py" for mutant in mutants(file)]
    print(f"{len(everything)} mutants in {len(files)} files", flush=True)
    if options.list:
        return 0
    OUT.mkdir(exist_ok=True)
    sys.path.insert(0, str(ROOT / "src"))
    suites = [str(TESTS / suite) for suite in options.tests]
    plugin = Plugin(everything, every, options.jobs, options.patience, options.explained)
    quiet = ["-q", "-p", "no:cacheprovider", "-n", "0", "--timeout=0", "--capture=no"]
    code = pytest.main([*suites, *quiet], plugins=[plugin])
    return plugin.code if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) else int(code)


if __name__ == "__main__":
    sys.exit(main())

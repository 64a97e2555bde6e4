"""Change every numeric constant and comparison in calculus/ and theorems/, one at a time, and run the tests.

A mutant that no test notices is a missing test, or is listed with its reason in tools/mutants-accepted.toml.

    python tools/mutants.py                       all modules (hours on two cores; finished work is remembered)
    python tools/mutants.py calculus/covers.py    some modules
    python tools/mutants.py --list                count the mutants, run nothing

Verdicts are kept in out/mutants.json, keyed by the text of the mutated module and of its tests, so an
interrupted run resumes and only what changed is run again.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import copy
import hashlib
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "certiformer"
TESTS = ROOT / "tests"
MEMORY = ROOT / "out" / "mutants.json"
ACCEPTED = ROOT / "tools" / "mutants-accepted.toml"
COMPARISONS = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
# Documentation, not mathematics: the walk over the registry evaluates every example.
DOCUMENTATION = {"example", "default", "monotone", "year", "low", "high"}


@dataclass(frozen=True)
class Mutant:
    path: Path
    index: int
    line: int
    what: str
    source: str

    @property
    def name(self) -> str:
        return f"{self.path.relative_to(SOURCE)}:{self.line}: {self.what}"


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


def mutants(path: Path) -> list[Mutant]:
    tree = ast.parse(path.read_text())
    found = []
    for index, original in enumerate(sites(tree)):
        changed = copy.deepcopy(tree)
        node = list(sites(changed))[index]
        before = ast.unparse(original)
        if isinstance(node, ast.Constant):
            node.value = node.value + 1 if isinstance(node.value, int) else node.value * 1.1 + (node.value == 0.0)
        elif isinstance(node, ast.Compare):
            node.ops[0] = COMPARISONS[type(node.ops[0])]()
        source = ast.unparse(ast.fix_missing_locations(changed))
        found.append(Mutant(path, index, original.lineno, f"{before} -> {ast.unparse(node)}", source))
    return found


def tests_of(path: Path) -> list[str]:
    """The tests that should notice, nearest first: vectors of the paper and its folder, or the module's own tests."""
    relative = path.relative_to(SOURCE)
    if relative.parts[0] == "theorems":
        paper = relative.parts[1]
        return [str(TESTS / "theorems" / "test_vectors.py"), f"-k={paper}", str(TESTS / "theorems" / paper)]
    stem = relative.parts[1].removesuffix(".py")
    own = sorted(str(test) for test in (TESTS / "calculus").glob(f"test_{stem}*.py"))
    return own


RUNNER = """
import sys, importlib.abc, importlib.util, pathlib
target, mutated, *arguments = sys.argv[1:]
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, module=None):
        if name != target: return None
        return importlib.util.spec_from_file_location(name, mutated)
sys.meta_path.insert(0, Finder())
import pytest
keyword = [a for a in arguments if a.startswith("-k=")]
files = [a for a in arguments if not a.startswith("-k=")]
if keyword:
    vectors, rest = files[0], files[1:]
    code = pytest.main([vectors, "-k", keyword[0][3:], "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"])
    files = rest if code in (0, 5) else []
    if not files: sys.exit(1)
code = pytest.main([*files, "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"])
sys.exit(0 if code == 0 else 1)
"""


def survives(mutant: Mutant) -> bool:
    """Whether every test still passes with the mutant in place of the module. A hang is noticed, too."""
    module = ".".join(("certiformer", *mutant.path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    folder = ROOT / "out" / "mutants"
    folder.mkdir(parents=True, exist_ok=True)
    mutated = folder / f"{hashlib.sha256(mutant.source.encode()).hexdigest()[:16]}.py"
    mutated.write_text(mutant.source)
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "fixed", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-c", RUNNER, module, str(mutated), *tests_of(mutant.path)],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            timeout=300,
            check=False,
        )
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        mutated.unlink(missing_ok=True)


def key(mutant: Mutant) -> str:
    digest = hashlib.sha256(mutant.source.encode())
    for name in tests_of(mutant.path):
        place = Path(name)
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place] if place.is_file() else []
        for file in files:
            digest.update(file.read_bytes())
    for file in sorted((TESTS / "vectors").glob("*.json")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="modules or folders below src/certiformer (default: all)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--list", action="store_true", help="count the mutants and leave")
    options = parser.parse_args()
    roots = [SOURCE / path for path in options.paths or ("calculus", "theorems")]
    files = sorted({file for root in roots for file in ([root] if root.is_file() else root.rglob("*.py"))})
    everything = [mutant for file in files if file.name != "_template.py" for mutant in mutants(file)]
    if options.list:
        print(f"{len(everything)} mutants in {len(files)} files")
        return 0
    MEMORY.parent.mkdir(exist_ok=True)
    memory: dict[str, bool] = json.loads(MEMORY.read_text()) if MEMORY.exists() else {}
    accepted = tomllib.loads(ACCEPTED.read_text()) if ACCEPTED.exists() else {}
    known = {mutant: key(mutant) for mutant in everything}
    todo = [mutant for mutant in everything if known[mutant] not in memory]
    print(f"{len(everything)} mutants, {len(todo)} to run with {options.jobs} jobs")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, (mutant, alive) in enumerate(zip(todo, pool.map(survives, todo), strict=True), 1):
            memory[known[mutant]] = alive
            MEMORY.write_text(json.dumps(memory))
            if alive:
                print(f"[{number}/{len(todo)}] survived  {mutant.name}", flush=True)
    reasons = {entry for group in accepted.values() for entry in group["mutants"]}
    survivors = [mutant.name for mutant in everything if memory[known[mutant]]]
    unexplained = [name for name in survivors if name.split(":", 2)[0] + ":" + name.split(":", 2)[2] not in reasons]
    print(f"{len(everything) - len(survivors)} killed, {len(survivors) - len(unexplained)} accepted with a reason")
    for name in unexplained:
        print(f"SURVIVED {name}")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())

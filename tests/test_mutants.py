"""The mutants' tool: it changes one thing, puts it in place of what is loaded, and knows which tests reach a line."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = """
import sys, types
sys.path.insert(0, sys.argv[1] + "/tools")
import mutants
from pathlib import Path
from certiformer.theory.calculus import tails

path = mutants.SOURCE / "theory" / "calculus" / "tails.py"
found = mutants.mutants(path)
assert len({mutant.index for mutant in found}) == len(found) > 20
assert all("->" in mutant.name and mutant.module == "certiformer.theory.calculus.tails" for mutant in found)
assert all(hasattr(tails, mutant.place.split(".")[0]) for mutant in found)
# A comment at a line, or alone above it, says why no test need notice.
said = mutants.reasons_by_line("a = 1  # mutants: caches\\n# mutants: words, search-effort\\nb = [\\n    2,\\n]\\n")
assert said == {1: ("caches",), 3: ("words", "search-effort")}
assert any(mutant.reasons for mutant in found)

# A verdict is kept as long as its witness is the same; a survivor is tried again when any test has changed.
first, second, third = found[:3]
files = {"tests/a.py": "1", "": "1 1"}
memory = mutants.Memory(Path("/nonexistent"), {}, files)
memory.add(first, "tests/a.py::test_it")
memory.add(second, None)
memory.add(third, mutants.HANG)
again = mutants.Memory(Path("/nonexistent"), memory.verdicts, {**files, "tests/b.py": "1", "": "1 2"})
assert [again.knows(mutant) for mutant in found[:4]] == [True, False, True, False]
assert not mutants.Memory(Path("/nonexistent"), memory.verdicts, {"tests/a.py": "2", "": "1 1"}).knows(first)

# A function, a cached function, a property, a method, a constant and where it was imported by name.
old, new = {}, {}
text = '''
import functools
FACTOR = 2.0
def plain(x, y=1.0): return FACTOR * x + y
@functools.cache
def kept(x): return 3.0 * x
class Thing:
    size = 4.0
    @property
    def area(self): return 5.0 * self.size
    def grown(self, by): return by + 6.0
'''
module = types.ModuleType("certiformer.pretended")
exec(text, vars(module))
sys.modules["certiformer.pretended"] = module
other = types.ModuleType("certiformer.importing")
other.FACTOR, other.plain = module.FACTOR, module.plain
sys.modules["certiformer.importing"] = other
thing, plain, kept = module.Thing(), module.plain, module.kept
assert (plain(1.0), kept(1.0), thing.area, thing.grown(1.0)) == (3.0, 3.0, 20.0, 7.0)
for before, after, read, expected in [
    ("2.0", "2.2", lambda: (plain(1.0), other.FACTOR), (3.2, 2.2)),
    ("y=1.0", "y=1.5", lambda: plain(1.0), 3.5),
    ("3.0", "3.3", lambda: kept(1.0), 3.3),
    ("4.0", "4.4", lambda: thing.size, 4.4),
    ("5.0", "5.5", lambda: thing.area, 22.0),
    ("6.0", "6.6", lambda: thing.grown(1.0), 7.6),
]:
    for source, wanted in ((text.replace(before, after), expected), (text, None)):
        fresh = {}
        exec(source, fresh)
        for name, value in fresh.items():
            if not name.startswith("__") and not mutants.transplant(vars(module).get(name), value):
                mutants.replace_everywhere(module, name, vars(module).get(name), value)
        assert wanted is None or read() == wanted, (before, read())
"""


@pytest.mark.skipif(importlib.util.find_spec("coverage") is None, reason="needs coverage, as `make mutants` does")
def test_a_mutant_takes_the_place_of_what_is_loaded():
    paths = os.pathsep.join(path for path in sys.path if path)
    subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT)], check=True, timeout=120, env={**os.environ, "PYTHONPATH": paths}
    )

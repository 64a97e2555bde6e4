"""The house: ten packages, none with a verb's name; importing all of it hides no function."""

import ast
import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import certiformer
from certiformer.cli import VERBS
from subprocesses import python_path

SOURCE = Path(certiformer.__file__).parent
PACKAGES = {
    "auditing", "certificates", "certification", "checkpoints", "cli", "evaluation", "lab", "report", "reproduction",
    "theory",
}  # fmt: skip


def test_ten_packages_without_a_verb_s_name():
    found = {info.name for info in pkgutil.iter_modules([str(SOURCE)]) if info.ispkg}
    assert found == PACKAGES
    modules = {info.name for info in pkgutil.iter_modules([str(SOURCE)])}
    assert not modules & {*VERBS, *certiformer.__all__}


def test_importing_every_module_hides_no_verb():
    """A package of a function's name would take its place in the namespace as soon as it is imported."""
    program = f"""
import importlib, pkgutil, sys, certiformer
verbs = {sorted(name for name in certiformer.__all__ if name != "__version__")}
before = [getattr(certiformer, name) for name in verbs]
for info in pkgutil.walk_packages(certiformer.__path__, "certiformer."):
    if not info.name.endswith("__main__"):
        importlib.import_module(info.name)
assert [getattr(certiformer, name) for name in verbs] == before
hidden = [name for name, module in sys.modules.items() if name.startswith("certiformer.")
          and getattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2]) is not module]
assert not hidden, hidden
for _ in range(2):
    assert certiformer.bound("dudley", C=1, D=1, n=10).sound
    assert certiformer.explain("trauger.lem3.1").id == "trauger.lem3.1"
    assert certiformer.plan(error=0.05, expect=0.01).n
    assert certiformer.certify(predictions=([0, 1] * 60, [0, 1] * 60)).value
    assert certiformer.gate(([0, 1] * 60, [0, 1] * 60), error=0.05).verdict == "pass"
    assert callable(certiformer.audit) and callable(certiformer.reproduce) and callable(certiformer.compare)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, "PYTHONPATH": python_path()},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_certification_meets_the_lab_inside_functions_only():
    for path in (SOURCE / "certification").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert "certiformer.lab" not in ast.unparse(node), f"{path.name}: {ast.unparse(node)}"


def test_every_module_has_a_sentence_of_its_own():
    for name in sorted(PACKAGES):
        assert importlib.import_module(f"certiformer.{name}").__doc__, name

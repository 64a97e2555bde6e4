"""The list of experiments, without what they run on, and the table of their modules."""

import importlib
import os
import pkgutil
import subprocess
import sys

from certiformer import reproduction
from certiformer.reproduction import study_registry
from certiformer.reproduction.study_registry import PAPERS
from subprocesses import python_path


def test_the_list_needs_none_of_what_experiments_run_on():
    code = (
        "import sys; from certiformer.cli.reproduce import status; status.show_list(''); "
        "assert not {'jax', 'numba'} & set(sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": python_path()}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120)
    assert told.returncode == 0, told.stderr
    assert "arda.fig1" in told.stdout


def test_the_table_of_modules_is_what_the_modules_declare():
    names = [
        f"{home}.{module.name}"
        for home in ("papers", "designs")
        for module in pkgutil.iter_modules([f"{reproduction.__path__[0]}/{home}"])
        if not module.name.startswith("_")
    ]
    declared = {
        study.id: name
        for name in names
        for study in getattr(importlib.import_module(f"certiformer.reproduction.{name}"), "STUDIES", ())
    }
    assert declared == study_registry.MODULES
    order = [(PAPERS.index(id.partition(".")[0]), id) for id in study_registry.MODULES]
    assert order == sorted(order)


def test_looking_one_up_imports_its_module_and_no_other():
    code = (
        "import sys; from certiformer.reproduction.study_registry import MODULES, find; "
        "find('arda.fig1').experiment('paper'); "
        "found = {name.removeprefix('certiformer.reproduction.') for name in sys.modules}; "
        "assert found & set(MODULES.values()) == {'papers.arda_figure_1'}, found; assert 'jax' not in sys.modules"
    )
    environment = {**os.environ, "PYTHONPATH": python_path()}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120)
    assert told.returncode == 0, told.stderr

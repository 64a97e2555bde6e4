"""The list of experiments: kept as data, true to the experiments, read without what they run on."""

import importlib
import json
import os
import pkgutil
import subprocess
import sys

from certiformer import experiments
from certiformer.cli.reproduce import listing
from certiformer.experiments import PAPERS
from subprocesses import python_path

ENTRY = {"id": "li.toy", "paper": "li", "title": "A toy", "runs": {"smoke": 1, "quick": 2, "paper": 3}}


def test_what_is_kept_for_this_text_is_what_there_is():
    kept = json.loads(listing.FILE.read_text(encoding="utf-8"))
    if kept["of"] == listing.text_digest():
        assert kept["experiments"] == listing.walked()


def test_another_text_is_walked(tmp_path, monkeypatch):
    file = tmp_path / "listing.json"
    monkeypatch.setattr(listing, "FILE", file)
    file.write_text(json.dumps({"of": listing.text_digest(), "experiments": [ENTRY]}))
    assert listing.listed() == [ENTRY]
    monkeypatch.setattr(listing, "walked", list)
    file.write_text(json.dumps({"of": "another", "experiments": [ENTRY]}))
    assert listing.listed() == []


def test_it_is_read_without_what_experiments_run_on(tmp_path):
    file = tmp_path / "listing.json"
    file.write_text(json.dumps({"of": listing.text_digest(), "experiments": [ENTRY]}))
    code = (
        "import pathlib, sys; from certiformer.cli.reproduce import listing, status; "
        f"listing.FILE = pathlib.Path({str(file)!r}); status.show_list(''); "
        "assert not {'jax', 'scipy', 'matplotlib', 'certiformer.experiments'} & set(sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": python_path()}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120)
    assert told.returncode == 0, told.stderr
    assert "A toy" in told.stdout


def test_the_table_of_modules_is_what_the_modules_declare():
    names = [module.name for module in pkgutil.iter_modules(experiments.__path__) if not module.name.startswith("_")]
    declared = {
        study.id: name
        for name in names
        for study in getattr(importlib.import_module(f"certiformer.experiments.{name}"), "STUDIES", ())
    }
    assert declared == experiments.MODULES
    order = [(PAPERS.index(id.partition(".")[0]), id) for id in experiments.MODULES]
    assert order == sorted(order)


def test_looking_one_up_imports_its_module_and_no_other():
    code = (
        "import sys; from certiformer.experiments import MODULES, find; find('arda.fig1').experiment('paper'); "
        "found = {name.rpartition('.')[2] for name in sys.modules if name.startswith('certiformer.experiments.')}; "
        "assert found & set(MODULES.values()) == {'arda_figure_1'}, found; assert 'jax' not in sys.modules"
    )
    environment = {**os.environ, "PYTHONPATH": python_path()}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120)
    assert told.returncode == 0, told.stderr

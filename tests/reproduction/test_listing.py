"""The list of experiments: kept as data, true to the experiments, read without what they run on."""

import importlib
import json
import os
import pkgutil
import subprocess
import sys

from certiformer import reproduction
from certiformer.cli.reproduce import listing
from certiformer.reproduction import study_registry
from certiformer.reproduction.study_registry import PAPERS
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
        "assert not {'jax', 'scipy', 'matplotlib', 'certiformer.reproduction'} & set(sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": python_path()}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120)
    assert told.returncode == 0, told.stderr
    assert "A toy" in told.stdout


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

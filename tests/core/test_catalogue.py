"""The list of results that is kept on disk, against the results themselves."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from certiformer.core import Result, catalogue, registry


@pytest.fixture(autouse=True)
def _read_anew():
    catalogue.entries.cache_clear()
    yield
    catalogue.entries.cache_clear()


def test_the_list_on_disk_is_that_of_the_results():
    kept = json.loads(catalogue.FILE.read_text(encoding="utf-8"))
    assert kept["results"] == json.loads(catalogue.written())["results"], "run `make docs`"


def test_it_is_read_where_no_file_changed_and_made_anew_where_one_did(tmp_path, monkeypatch):
    made = tuple(map(catalogue.entry, registry.results().values()))
    monkeypatch.setattr(catalogue, "FILE", tmp_path / "catalogue.json")
    assert catalogue.entries() == made
    document = json.loads(catalogue.written())
    document["results"] = document["results"][:1]
    catalogue.FILE.write_text(json.dumps(document))
    catalogue.entries.cache_clear()
    assert catalogue.entries() == made[:1]
    document["files"]["theorems/arda/lemma_1.py"] += 1
    catalogue.FILE.write_text(json.dumps(document))
    catalogue.entries.cache_clear()
    assert catalogue.entries() == made


def test_every_class_that_a_result_stands_on_is_in_a_file_that_is_watched():
    watched = {"certiformer." + name.removesuffix(".py").replace("/", ".") for name in registry.checksums()}
    bases = {base for result in registry.results().values() for base in result.__mro__ if issubclass(base, Result)}
    assert not {base.__module__ for base in bases} - watched - {Result.__module__}


def test_closed_forms_need_neither_numpy_nor_scipy():
    code = (
        "import sys; from certiformer.core import find, registry; registry.results;"
        "find('trauger.rad2gap').evaluate({entry.name: entry.example for entry in find('trauger.rad2gap').inputs"
        " if entry.required}); find('arda.lem1'); find('li.thm5.3'); find('mwigo.thm5');"
        "heavy = [name for name in ('numpy', 'scipy', 'jax') if name in sys.modules]; assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)

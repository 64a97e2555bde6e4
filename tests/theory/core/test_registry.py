"""Which results there are, from where they come, and what happens when one cannot be loaded."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import pytest
from typer.testing import CliRunner

import certiformer
import certiformer.theory.theorems
from certiformer.cli import application
from certiformer.theory.core import InputError, UnknownNameError, find, register, registry, results
from certiformer.theory.core.registry import FaultyResultError, FaultyResultWarning, places_in

OUTSIDE = '''
from certiformer.theory.core import Paper, Quantity, Result, Status, count, upper_bound

class Lemma1(Result):
    """A mean of n numbers in [0, 1].

    Sound: deviation <= 1/sqrt(n)
    Because: a tool
    """

    paper, place = Paper("outside", "A. Author", "Notes"), "Lemma 1"
    bounds, status = Quantity.GAP, Status.NONE
    n: int = count("sample size")

    def sound(self):
        return {"value": upper_bound(self.n**-0.5)}
'''


def forget():
    registry._registered.clear()
    for cached in (registry._loaded, registry._own, registry._of_other_packages, registry._modules, registry._found):
        cached.cache_clear()


@pytest.fixture
def clean():
    forget()
    yield
    forget()


@pytest.fixture
def outside(tmp_path, monkeypatch):
    (tmp_path / "outside_results.py").write_text(OUTSIDE)
    monkeypatch.syspath_prepend(tmp_path)
    import outside_results

    yield outside_results
    del sys.modules["outside_results"]


def run(*words):
    return CliRunner().invoke(application((words[0],)), list(words))


def test_a_class_of_ones_own_is_evaluated_and_after_registering_found_by_every_verb(clean, outside):
    assert certiformer.bound(outside.Lemma1, n=100).sound["value"].value == pytest.approx(0.1)
    assert certiformer.bound(outside.Lemma1, n=[1, 4]).sound["value"] == pytest.approx([1.0, 0.5])
    with pytest.raises(UnknownNameError):
        certiformer.bound("outside.lem1", n=100)
    assert register(outside.Lemma1) is outside.Lemma1
    assert certiformer.bound("outside.lem1", n=100).sound["value"].value == pytest.approx(0.1)
    assert certiformer.explain("outside lemma 1") is outside.Lemma1
    assert certiformer.results("outside") == [outside.Lemma1]
    for words in (("theorems", "outside"), ("search", "mean", "numbers"), ("explain", "outside.lem1")):
        assert "outside.lem1" in run(*words).output, words
    assert "0.1" in run("bound", "outside.lem1", "n=100").output
    assert certiformer.audit("outside.lem1").of("outside.lem1", "sound").outcome == "not attackable"


def test_an_id_is_given_once_and_a_cell_may_be_run_again(clean, outside):
    register(outside.Lemma1)
    again = type("Lemma1", (outside.Lemma1,), {"__doc__": outside.Lemma1.__doc__, "place": "Lemma 1"})
    again.__module__ = outside.Lemma1.__module__
    assert register(again) is again
    assert find("outside.lem1") is again
    taken = type("Other", (outside.Lemma1,), {"__doc__": "Other.", "place": "Lemma 1"})
    with pytest.raises(InputError, match="an id that is free"):
        register(taken)
    stolen = type("Stolen", (outside.Lemma1,), {"__doc__": "Stolen.", "id": "trauger.thm4.1", "place": "Lemma 1"})
    with pytest.raises(InputError, match="an id that is free"):
        register(stolen)
    for wrong in (3, int, "outside.lem1"):
        with pytest.raises(InputError, match="a subclass of"):
            register(wrong)


def test_results_of_an_installed_package_are_found_by_its_entry_point(clean, outside, monkeypatch):
    points = [
        metadata.EntryPoint("outside", "outside_results", registry.ENTRY_POINTS),
        metadata.EntryPoint("broken", "no_such_module_anywhere", registry.ENTRY_POINTS),
        metadata.EntryPoint("empty", "json", registry.ENTRY_POINTS),
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda group: points)
    with pytest.warns(FaultyResultWarning) as warned:
        assert results()["outside.lem1"] is outside.Lemma1
    told = sorted(str(one.message) for one in warned)
    assert len(told) == 2
    assert told[0].startswith("entry point broken = no_such_module_anywhere: its results cannot be loaded")
    assert told[1].startswith("entry point empty = json: ")
    assert find("trauger.thm4.1").id == "trauger.thm4.1"
    assert find("Outside Lemma 1") is outside.Lemma1


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("def broken(:", "line 1: its results cannot be loaded (SyntaxError"),
        ("import no_such_module_anywhere", "ModuleNotFoundError"),
        (OUTSIDE.replace("Lemma 1", "Lemma one"), "gives no id"),
        (OUTSIDE.replace("Quantity.GAP", "Quantity.GAPS"), "GAPS"),
    ],
)
def test_a_faulty_file_names_itself_and_breaks_nothing_else(clean, tmp_path, monkeypatch, text, cause):
    many = len(results())
    (tmp_path / "faulty_lemma.py").write_text(text)
    forget()
    monkeypatch.setattr(certiformer.theory.theorems, "__path__", [*certiformer.theory.theorems.__path__, str(tmp_path)])
    monkeypatch.setattr(
        certiformer.theory.theorems.__spec__, "submodule_search_locations", list(certiformer.theory.theorems.__path__)
    )
    with pytest.warns(FaultyResultWarning, match="faulty_lemma.py"):
        assert len(results()) == many
    (fault,) = registry.faults()
    assert cause in str(fault)
    assert certiformer.bound("holdout", n=100, errors=0, delta=0.05).best
    assert run("search", "heavy", "tails").exit_code == 0


def test_who_asks_for_the_faulty_result_is_told_the_file(clean, tmp_path, monkeypatch):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "lemma_1.py").write_text("def broken(:")
    monkeypatch.setattr(registry, "_modules", lambda: {"certiformer.outside.lemma_1": folder / "lemma_1.py"})
    with pytest.raises(FaultyResultError, match=r"lemma_1\.py"):
        find("outside.lem1")


@pytest.mark.parametrize(
    ("words", "id"),
    [
        ("Arda Fact 1", "arda.fact1"),
        ("Arda Fact 2", "arda.rem3"),
        ("arda equation 49", "arda.prop2"),
        ("Deora (14)", "deora.eq14"),
        ("Deora Definition 1", "deora.def1"),
        ("theorem 4.1 of Trauger and Tewari", "trauger.thm4.1"),
        ("Corollary D.0.1", "trauger.corD.0.1"),
        ("Trauger & Tewari (2024), Thm. 4.1", "trauger.thm4.1"),
        ("thm4.1", "trauger.thm4.1"),
    ],
)
def test_a_place_is_paper_kind_and_number(words, id):
    assert find(words).id == id


@pytest.mark.parametrize(
    ("words", "near"),
    [
        ("Deora Assumption 1", "deora.ass2"),
        ("Arda Fact 3", "arda.fact4"),
        ("Trauger Theorem 3.4", "trauger.lem3.4"),
        ("Theorem 1", "arda.thm1, deora.thm1"),
        ("li B.4", "li.thmB.4"),
        ("Maurey", "trauger.lem3.1"),
        ("foo.thm4.1", "did you mean"),
    ],
)
def test_another_kind_or_number_is_refused_with_those_near_it(words, near):
    with pytest.raises(UnknownNameError, match=near):
        find(words)


def test_places_that_words_name():
    assert places_in("Section 5.4, equations (10) and (11), Remark 10") == [
        ("Section", "5.4"),
        ("Equation", "10"),
        ("Equation", "11"),
        ("Remark", "10"),
    ]
    assert places_in("T8; Trauger & Tewari, Section 2.4") == [("Section", "2.4")]
    assert places_in("no place") == []


def test_closed_forms_need_neither_numpy_nor_scipy():
    code = (
        "import sys; from certiformer.theory.core import find, registry;"
        "find('trauger.rad2gap').evaluate({entry.name: entry.example for entry in find('trauger.rad2gap').inputs"
        " if entry.required}); find('arda.lem1'); find('li.thm5.3'); find('mwigo.thm5');"
        "heavy = [name for name in ('numpy', 'scipy', 'jax') if name in sys.modules]; assert not heavy, heavy;"
        "others = [name for name in sys.modules if '.theorems.deora' in name or '.certificates' in name];"
        "assert not others, others; registry.results();"  # nor does the whole list: `theorems`, `search`
        "heavy = [name for name in ('numpy', 'certiformer.theory.networks') if name in sys.modules];"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)

"""Ledgers and published files of certiformer 0.1: carried over with all that their runs found."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sqlite3
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from certiformer.cli import application
from certiformer.reproduction.study_registry import find
from certiformer.reproduction.sweep import Experiment, Inline, Ledger, LedgerError, publish, read, sweep, verify
from certiformer.reproduction.sweep.former import former_digest
from certiformer.reproduction.sweep.ledger import digest
from certiformer.reproduction.sweep.upgrade_files import upgrade
from certiformer.theory.core.errors import CertiformerError, InputError

ROOT = Path(__file__).parents[3]
FORMER = ROOT / "tests" / "vectors" / "former"
PUBLISHED = json.loads((FORMER / "digests.json").read_text())


@pytest.fixture
def former(tmp_path):
    shutil.copytree(FORMER, tmp_path / "former")
    return tmp_path / "former"


def grid(count=3):
    whole = find("li.misspecified").experiment("smoke")
    return dataclasses.replace(whole, configs=whole.configs[:count])


def test_a_file_of_format_1_is_read(former):
    found = read(former / "li.misspecified.runs")
    assert found.format_version == 1
    assert {row.key for row in found.rows} == {run.key for run in grid().runs}
    for row in found.rows:
        assert (row.version, row.origin["code"], row.origin["commit"]) == (1, "3a4181fd8cf03885", "87308d591f62")
    with Ledger(former / "new.db") as ledger:
        sweep(grid(), ledger, Inline())
        assert ledger.digest(grid()) == found.digest  # whoever does them again finds the same digest
    own = read(former / "walk.runs")
    assert {row.version for row in own.rows} == {0}
    assert {row.origin["code"] for row in own.rows} == {"5eed5eed5eed5eed"}
    assert {row.version for row in read(former / "walk.runs", {"walk": 3}).rows} == {3}


def test_a_file_of_format_1_is_upgraded_once_and_finds_the_same(former):
    path = former / "li.misspecified.runs"
    before = read(path)
    told = upgrade(path)
    assert (told.runs, told.unknown, told.left, told.kept) == (3, 0, 0, None)
    after = read(path)
    assert after.format_version == 2
    assert (after.digest, after.rows[0].origin) == (before.digest, before.rows[0].origin)
    assert former_digest(after.rows) == former_digest(before.rows)
    data = path.read_bytes()
    assert str(upgrade(path)) == f"{path} has the present format"
    assert path.read_bytes() == data


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_what_was_published_before_is_what_is_published_now(name):
    """The digest of certiformer 0.1, over the same runs in the present file."""
    found = [row for row in read(ROOT / "docs" / "reproduction" / "runs" / f"{name}.runs").rows if "code" in row.origin]
    if len(found) == PUBLISHED[name]["runs"]:  # later runs of the same configurations may have replaced some
        assert former_digest(found) == PUBLISHED[name]["digest"]


def test_a_former_ledger_is_refused_with_the_command_and_carried_over_by_it(former):
    path = former / "ledger.db"
    for read_only in (False, True):
        with pytest.raises(LedgerError, match=f"certiformer reproduce upgrade {path}"):
            Ledger(path, read_only=read_only)
    result = CliRunner().invoke(application(), ["reproduce", "upgrade", str(path), "--as", "walk=2"])
    assert result.exit_code == 0, result.output
    assert "6 runs carried over" in result.stdout
    assert f"the old ledger is {path}.0.1" in " ".join(result.stdout.split())
    with Ledger(path) as book:
        assert book.status(grid()).done == 3
        assert digest(book.rows(grid())) == read(former / "li.misspecified.runs").digest
        walk = Experiment(
            "walk", "reproduction.sweep.toy_runs:walk", [{"seed": s, "n": 5} for s in range(2)], version=2
        )
        assert verify(walk, book.rows("walk"), 2, Inline()).agrees
        (adopted,) = book.rows("arda.fig1")
        assert (adopted.version, adopted.origin["commit"]) == (1, "5bc3d491edcb")
        assert sweep(grid(5), book, Inline()).reused == 3
    assert json.loads(CliRunner().invoke(application(), ["reproduce", "upgrade", str(path), "--json"]).stdout) == [
        {"path": str(path), "runs": 0, "unknown": 0, "left": 0, "kept": None}
    ]


def test_runs_by_unknown_code_are_kept_apart(former):
    told = upgrade(former / "ledger.db")
    assert told.unknown == 2
    assert "2 of them by unknown code, filed as version 0" in str(told)
    with Ledger(former / "ledger.db") as book:
        assert {row.version for row in book.rows("walk")} == {0}


def test_what_cannot_be_upgraded_is_left_alone(former, tmp_path):
    db = sqlite3.connect(former / "ledger.db")
    db.execute("INSERT INTO owners VALUES ('o', 'elsewhere', 1, '', 9e9)")
    db.commit()
    db.close()
    with pytest.raises(LedgerError, match="a sweep is using"):
        upgrade(former / "ledger.db")
    text = tmp_path / "notes.db"
    text.write_text("dear diary, " * 1000)
    for path, match in ((text, "no ledger"), (tmp_path / "nothing.db", "no file"), (tmp_path / "no.runs", "no such")):
        with pytest.raises(CertiformerError, match=match):
            upgrade(path)
    changed = former / "changed.runs"
    publish(read(former / "walk.runs").rows, changed)
    assert upgrade(changed).runs == 0
    for wrong in ("walk=0", "walk=a", "walk"):
        result = CliRunner().invoke(application(), ["reproduce", "upgrade", "--as", wrong, str(former / "walk.runs")])
        with pytest.raises(InputError, match="--as"):
            raise result.exception


def test_a_changed_file_of_format_1_is_refused(former):
    with zipfile.ZipFile(former / "walk.runs") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(former / "walk.runs", "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data.replace(b'"n":5', b'"n":6') if name == "runs.jsonl" else data)
    with pytest.raises(CertiformerError, match="changed after it was written"):
        read(former / "walk.runs")

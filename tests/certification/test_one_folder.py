"""Two commands with one `--out` leave the files of one of them."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import numpy as np
import pytest

import certiformer
from certiformer.theory.core import locks, whole_files
from certiformer.theory.core.errors import CertiformerError

FILES = ("report.html", "report.json", "model-card.md", "badge.svg")


def test_two_writers_leave_a_whole_set(tmp_path, monkeypatch):
    reports = []
    for wrong in (3, 40):
        path = tmp_path / f"{wrong}.npz"
        np.savez(path, heldout_correct=np.arange(100) >= wrong)
        reports.append(certiformer.certify(predictions=path))
    alone = []
    for index, report in enumerate(reports):
        report.write(tmp_path / str(index))
        alone.append({name: (tmp_path / str(index) / name).read_bytes() for name in FILES})
    assert all(alone[0][name] != alone[1][name] for name in FILES)
    both = tmp_path / "both"
    replace, entered = os.replace, threading.Event()
    second = threading.Thread(target=reports[1].write, args=(both,))

    def slowly(source, target):
        replace(source, target)
        if not entered.is_set():
            # the second writer comes when the first has one of its files there
            entered.set()
            second.start()
            second.join(0.3)

    monkeypatch.setattr(whole_files.os, "replace", slowly)
    reports[0].write(both)
    second.join(60)
    assert {name: (both / name).read_bytes() for name in FILES} == alone[1]
    assert {path.name for path in both.iterdir()} == {path.name for path in (tmp_path / "1").iterdir()}


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
@pytest.mark.parametrize("name", FILES)
def test_a_set_that_cannot_be_written_leaves_the_one_before(name, tmp_path, monkeypatch):
    """The disk is full from one file on, or a folder has its name: the others keep what they had."""
    np.savez(tmp_path / "x.npz", heldout_correct=np.arange(100) >= 3)
    report = certiformer.certify(predictions=tmp_path / "x.npz")
    report.write(tmp_path / "o")
    before = {path.name: path.read_bytes() for path in (tmp_path / "o").iterdir()}
    np.savez(tmp_path / "x.npz", heldout_correct=np.arange(100) >= 40)
    other = certiformer.certify(predictions=tmp_path / "x.npz")
    sync = os.fsync

    def full(descriptor):
        if name in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(whole_files.os, "fsync", full)
        with pytest.raises(CertiformerError, match=f"cannot write .*{name}: No space left"):
            other.write(tmp_path / "o")
    assert {path.name: path.read_bytes() for path in (tmp_path / "o").iterdir()} == before
    (tmp_path / "o" / name).unlink()
    (tmp_path / "o" / name).mkdir()
    with pytest.raises(CertiformerError, match=f"cannot write .*{name}: it is a folder"):
        other.write(tmp_path / "o")
    del before[name]
    assert {path.name: path.read_bytes() for path in (tmp_path / "o").iterdir() if path.is_file()} == before


def test_a_file_has_one_holder_and_its_lock_goes_with_the_last(tmp_path):
    """Whoever waits for a lock whose file was taken away meanwhile asks for the new one."""
    count = tmp_path / "count"
    count.write_text("0")

    def add():
        for _ in range(25):
            with locks.held(count):
                count.write_text(str(int(count.read_text()) + 1))

    adding = [threading.Thread(target=add) for _ in range(4)]
    for thread in adding:
        thread.start()
    for thread in adding:
        thread.join(60)
    assert count.read_text() == "100"
    assert [path.name for path in tmp_path.iterdir()] == ["count"]

"""Two commands with one `--out` leave the files of one of them."""

from __future__ import annotations

import threading

import numpy as np

import certiformer
from certiformer.theory.core import whole_files

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
    write, entered, second = (
        whole_files.write_bytes,
        threading.Event(),
        threading.Thread(target=reports[1].write, args=(both,)),
    )

    def slowly(path, content):
        write(path, content)
        if not entered.is_set():
            # the second writer comes when the first has one of its files there
            entered.set()
            second.start()
            second.join(0.3)

    monkeypatch.setattr(whole_files, "write_bytes", slowly)
    reports[0].write(both)
    second.join(60)
    assert {name: (both / name).read_bytes() for name in FILES} == alone[1]
    assert {path.name for path in both.iterdir()} == {path.name for path in (tmp_path / "1").iterdir()}

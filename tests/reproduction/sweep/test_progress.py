"""What a sweep shows while it runs."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from certiformer.reproduction.sweep import progress as module
from certiformer.reproduction.sweep.progress import SweepProgress, duration


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_the_time_left_follows_the_pace_of_this_sweep_not_of_reused_runs(clock):
    console = Console(file=io.StringIO())
    shown = SweepProgress("e", total=100, reused=50, console=console)
    assert shown.left() == ""
    clock[0] = 100.0
    shown.update(60, failed=0)
    assert shown.left() == "6 min 40 s left"
    shown.update(100, failed=0)
    assert shown.left() == ""


def test_a_terminal_gets_a_bar(clock):
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120)
    with SweepProgress("arda [fig1]", total=4, reused=1, console=console) as shown:
        clock[0] = 10.0
        shown.update(3, failed=1, waiting_for="1 with another process")
    text = stream.getvalue()
    assert "arda [fig1]" in text
    assert "3/4" in text
    assert "5 s left, 1 failed, 1 with another process" in text


def test_a_log_file_gets_a_line_now_and_then(clock):
    stream = io.StringIO()
    with SweepProgress("e", total=10, reused=0, console=Console(file=stream, width=200)) as shown:
        for second in range(1, 130):
            clock[0] = float(second)
            shown.update(1, failed=0)
    assert stream.getvalue().splitlines() == ["e: 1 of 10 runs, 9 min 9 s left", "e: 1 of 10 runs, 18 min 18 s left"]


def test_silence_on_request(clock):
    stream = io.StringIO()
    with SweepProgress("e", total=2, reused=0, show=False, console=Console(file=stream, force_terminal=True)) as shown:
        clock[0] = 1000.0
        shown.update(1, failed=0)
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (18720, "5 h 12 min"), (187200, "2 d 4 h")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text

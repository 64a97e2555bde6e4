"""How far a sweep is and how long it will take: a bar on a terminal, a line now and then in a log file."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

LINE_SECONDS = 60.0


class SweepProgress:
    """Shows `settled` of `total` runs, those that failed, and the time left at the pace of this sweep so far.

    Where runs are known to be of different length, `work` is what there is to do in any unit (runs, if not given).
    """

    def __init__(
        self,
        name: str,
        total: int,
        reused: int,
        *,
        work: float | None = None,
        show: bool = True,
        console: Console | None = None,
    ) -> None:
        self.name, self.total, self.reused, self.show = name, total, reused, show
        self.console = console or Console(stderr=True)
        self.settled = reused
        self.work = self.work_left = float(total - reused) if work is None else work
        self._began = self._line = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=self.console,
            disable=not (show and self.console.is_terminal),
        )
        self._task = self._bar.add_task(name, total=total, completed=reused, note="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def update(self, settled: int, failed: int, waiting_for: str = "", work_left: float | None = None) -> None:
        self.settled = settled
        self.work_left = float(self.total - settled) if work_left is None else work_left
        note = ", ".join(filter(None, (self.left(), f"{failed} failed" if failed else "", waiting_for)))
        self._bar.update(self._task, completed=settled, note=note)
        if self.show and not self.console.is_terminal and time.monotonic() - self._line > LINE_SECONDS:
            self._line = time.monotonic()
            self.console.print(f"{self.name}: {settled} of {self.total} runs, {note}", markup=False, highlight=False)

    def left(self) -> str:
        """The time left, once there is a pace to judge by."""
        done = self.work - self.work_left
        if done <= 0 or self.settled <= self.reused or self.settled >= self.total:
            return ""
        seconds = (time.monotonic() - self._began) / done * self.work_left
        return f"{duration(seconds)} left"


def duration(seconds: float) -> str:
    """Seconds as a person says them: 42 s, 3 min 20 s, 5 h 12 min, 2 d 4 h."""
    whole = round(seconds)
    for big, small, size, unit in (("d", "h", 86400, 3600), ("h", "min", 3600, 60), ("min", "s", 60, 1)):
        if whole >= size:
            return f"{whole // size} {big} {whole % size // unit} {small}"
    return f"{whole} s"

"""The sweep itself: claim, hand out, record, until every run is settled. Only this process writes the ledger."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from certiformer.reproduction.sweep.ledger import Claims, Ledger
from certiformer.reproduction.sweep.progress import SweepProgress
from certiformer.reproduction.sweep.run import Experiment, Failure, Finished, Run, Task
from certiformer.theory.core.errors import CertiformerError

POLL_SECONDS = 0.5
BATCH_SECONDS = 0.2  # of work that a killed process may lose beside what was in hand


class Engine(Protocol):
    """Something that executes tasks, one after another or many at a time, here or elsewhere."""

    @property
    def slots(self) -> int:
        """How many tasks it wants to have in hand."""

    def submit(self, number: int, task: Task) -> None:
        """Start on a task, to be reported under `number`."""

    def wait(self, timeout: float) -> list[tuple[int, list[Finished] | Failure]]:
        """What has ended, at latest after `timeout` seconds; a `Failure` where the worker itself was lost."""

    def abandon(self) -> None:
        """Drop every task in hand; the engine stays usable."""


@dataclass(frozen=True)
class Swept:
    """What a sweep did: `runs` in all, of which `reused` from the ledger, `failed` now in it, and the wall time."""

    experiment: str
    version: int
    runs: int
    reused: int
    failed: int
    seconds: float
    digest: str


def sweep(
    experiment: Experiment,
    ledger: Ledger,
    engine: Engine,
    *,
    retry: bool = False,
    fresh: bool = False,
    progress: bool = True,
    lengths: Mapping[str, float] | None = None,
) -> Swept:
    """Settle every run of the experiment that the ledger has not yet; with `retry`, failed ones too; with `fresh`, all.

    Runs that another process is doing on the same ledger are waited for, and taken over if that process dies. An
    interruption gives back what was claimed and leaves what was finished. `lengths`, how long runs
    take, by key, only make the time left more exact.
    """
    began = time.monotonic()
    if fresh:
        ledger.forget(experiment)
    ledger.enrol(experiment, retry=retry)
    states = ledger.states(experiment)
    open_runs = {run.key for run in experiment.runs if states[run.key] in ("pending", "running")}
    reused = len(experiment.runs) - len(open_runs)
    batches = [[run for run in batch if run.key in open_runs] for batch in experiment.batches]
    typical = sum(lengths.values()) / len(lengths) if lengths else 1.0
    weights = {key: (lengths or {}).get(key, typical) for key in open_runs}
    work = sum(weights.values())
    with (
        ledger.claims() as claims,
        SweepProgress(
            experiment.name, len(experiment.runs), reused, work=work, show=progress and bool(open_runs)
        ) as shown,
    ):
        try:
            drive = _Drive(experiment, claims, engine, shown, weights, [batch for batch in batches if batch])
            drive.through()
        except BaseException:
            engine.abandon()
            raise
    status = ledger.status(experiment)
    return Swept(
        experiment=experiment.name,
        version=experiment.version,
        runs=len(experiment.runs),
        # another process on the same ledger may have done some of those that were open
        reused=len(experiment.runs) - drive.recorded,
        failed=status.failed,
        seconds=time.monotonic() - began,
        digest=ledger.digest(experiment),
    )


class _Drive:
    """The state of a sweep under way: every open run is in exactly one of the five places.

    Short runs are claimed and recorded together, about BATCH_SECONDS of work at a time: a transaction waits for the
    disk, which takes longer than many a run. Runs that take longer than that are claimed and recorded one by one.
    """

    def __init__(
        self,
        experiment: Experiment,
        claims: Claims,
        engine: Engine,
        shown: SweepProgress,
        lengths: dict[str, float],
        batches: list[list[Run]],
    ) -> None:
        self.experiment, self.claims, self.engine, self.shown = experiment, claims, engine, shown
        self.lengths = lengths  # how long each open run is, in any unit
        self.waiting: deque[Sequence[Run]] = deque(batches)  # nobody's yet, as far as we know
        self.claimed: deque[Sequence[Run]] = deque()  # ours, not with the engine yet
        self.flying: dict[int, Task] = {}  # ours, with the engine
        self.ended: list[tuple[Task, list[Finished]]] = []  # ours, to be recorded
        self.held: list[Sequence[Run]] = []  # another process's
        self.elsewhere = 0  # how many runs are held
        self.left, self.work_left = len(lengths), sum(lengths.values())
        self.numbers = 0
        self.failed = 0
        self.recorded = 0
        self.wrote = self.polled = time.monotonic()
        self.together = 1  # how many batches are claimed at once

    def through(self) -> None:
        try:
            while self.waiting or self.claimed or self.flying or self.ended or self.held:
                self._step()
        except BaseException:
            with contextlib.suppress(CertiformerError):
                self._write()
            raise

    def _step(self) -> None:
        self._look_at_held()
        self._hand_out()
        due = self.wrote + BATCH_SECONDS - time.monotonic()
        if self.flying:
            for number, ended in self.engine.wait(max(0.0, due) if self.ended else POLL_SECONDS):
                self._take_in(self.flying.pop(number), ended)
        elif self.held and not self.waiting and not self.ended:
            time.sleep(POLL_SECONDS)
        self.claims.beat()
        now = time.monotonic()
        if now - self.wrote >= BATCH_SECONDS or not (self.flying or self.claimed or self.waiting):
            # so many batches ended in that time: the next claim is for as many
            self.together = max(1, int(len(self.ended) * BATCH_SECONDS / max(BATCH_SECONDS, now - self.wrote)))
            self._write()
            self._show()

    def _look_at_held(self) -> None:
        if self.held and time.monotonic() - self.polled >= POLL_SECONDS:
            self.polled = time.monotonic()
            self.waiting.extend(self.held)
            self.held, self.elsewhere = [], 0

    def _hand_out(self) -> None:
        slots, together = self.engine.slots, self.together
        while len(self.flying) < slots and (self.claimed or self.waiting):
            if self.claimed:
                self._submit(self.claimed.popleft())
                continue
            wanted = max(together, slots - len(self.flying))
            self._claim([self.waiting.popleft() for _ in range(min(wanted, len(self.waiting)))])
            together *= 2  # where others have claimed much, what is free is found in few steps

    def _claim(self, batches: Sequence[Sequence[Run]]) -> None:
        taken = self.claims.take([run for batch in batches for run in batch])
        mine, theirs = ({run.key for run in runs} for runs in taken)
        for batch in batches:
            ours, held = ([run for run in batch if run.key in keys] for keys in (mine, theirs))
            if ours:
                self.claimed.append(ours)
            if held:
                self.held.append(held)
                self.elsewhere += len(held)
            self._settled(run for run in batch if run.key not in mine and run.key not in theirs)

    def _submit(self, runs: Sequence[Run]) -> None:
        task = self.experiment.task(runs)
        self.numbers += 1
        self.flying[self.numbers] = task
        self.engine.submit(self.numbers, task)

    def _take_in(self, task: Task, ended: list[Finished] | Failure) -> None:
        if isinstance(ended, Failure) and len(task.runs) > 1:
            # one of them took the worker down: alone, the others can still be done
            self.claimed.extend((run,) for run in task.runs)
            return
        self.ended.append((task, [Finished(ended, 0.0, "lost")] if isinstance(ended, Failure) else ended))

    def _write(self) -> None:
        """Record what has ended; only then is it reported as done."""
        ended, self.ended = self.ended, []
        runs = [run for task, _ in ended for run in task.runs]
        finished = [end for _, ends in ended for end in ends]
        self.wrote = time.monotonic()
        if not runs:
            return
        self.claims.record(runs, finished)
        self.recorded += len(runs)
        self.failed += sum(isinstance(end.result, Failure) for end in finished)
        self._settled(runs)

    def _settled(self, runs: Iterable[Run]) -> None:
        for run in runs:
            self.left -= 1
            self.work_left -= self.lengths[run.key]

    def _show(self) -> None:
        self.shown.update(
            self.shown.total - self.left,
            self.failed,
            f"{self.elsewhere} with another process" if self.elsewhere else "",
            max(0.0, self.work_left),
        )

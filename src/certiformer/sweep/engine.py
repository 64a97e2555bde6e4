"""The sweep itself: claim, hand out, record, until every run is settled. Only this process writes the ledger."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from certiformer.sweep.ledger import Claims, Ledger
from certiformer.sweep.progress import SweepProgress
from certiformer.sweep.run import Experiment, Failure, Finished, Run, Task

POLL_SECONDS = 0.5


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
    """The state of a sweep under way: every open run is in exactly one of the four places."""

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
        self.claimed: deque[Sequence[Run]] = deque()  # ours, to be done one by one after their batch took a worker down
        self.flying: dict[int, Task] = {}  # ours, with the engine
        self.held: list[Sequence[Run]] = []  # another process's
        self.numbers = 0
        self.failed = 0
        self.recorded = 0
        self.polled = time.monotonic()

    def through(self) -> None:
        while self.waiting or self.claimed or self.flying or self.held:
            self._look_at_held()
            self._hand_out()
            if self.flying:
                for number, ended in self.engine.wait(POLL_SECONDS):
                    self._take_in(self.flying.pop(number), ended)
            elif self.held and not self.waiting:
                time.sleep(POLL_SECONDS)
            self.claims.beat()
            self._show()

    def _look_at_held(self) -> None:
        if self.held and time.monotonic() - self.polled >= POLL_SECONDS:
            self.polled = time.monotonic()
            self.waiting.extend(self.held)
            self.held = []

    def _hand_out(self) -> None:
        slots = self.engine.slots
        while len(self.flying) < slots and (self.claimed or self.waiting):
            if self.claimed:
                self._submit(self.claimed.popleft())
                continue
            mine, theirs = self.claims.take(self.waiting.popleft())
            if theirs:
                self.held.append(theirs)
            if mine:
                self._submit(mine)

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
        finished = [Finished(ended, 0.0, "lost")] if isinstance(ended, Failure) else ended
        self.claims.record(task.runs, finished)
        self.recorded += len(task.runs)
        self.failed += sum(isinstance(end.result, Failure) for end in finished)

    def _show(self) -> None:
        places: tuple[Iterable[Sequence[Run]], ...] = (
            self.waiting,
            self.claimed,
            self.held,
            (task.runs for task in self.flying.values()),
        )
        left = [run for place in places for runs in place for run in runs]
        elsewhere = sum(map(len, self.held))
        self.shown.update(
            self.shown.total - len(left),
            self.failed,
            f"{elsewhere} with another process" if elsewhere else "",
            sum(self.lengths[run.key] for run in left),
        )

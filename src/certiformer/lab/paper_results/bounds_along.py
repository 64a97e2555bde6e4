"""Bounds along training: at every so many steps, losses, what theorems give at these weights, and what they rest on.

One delta serves all steps. A sound row here is uniform over the class of networks and over the grid of radii and
margins (`calculus/strata`), so it holds for every iterate at once; looking more often costs nothing. What shares delta
are the results that were asked for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from certiformer.certification.statements import does_not_apply
from certiformer.lab.paper_results import BINDINGS, Application
from certiformer.lab.paper_results.model_profile import coded_labels, described
from certiformer.lab.paper_results.result_rows import paper_rows
from certiformer.theory.core import find
from certiformer.theory.core.csv_writer import csv_text
from certiformer.theory.core.errors import CertiformerError, InputError, UnknownNameError
from certiformer.theory.core.report import Statement
from certiformer.theory.measure.example_losses import cross_entropy
from certiformer.theory.measure.margins import margins
from certiformer.theory.measure.measured import Measured
from certiformer.theory.measure.profile import Profile, measure, token_entries

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Part = tuple[npt.ArrayLike, npt.ArrayLike]
OF_START = (" start F", " start spectral")  # how the names of entries end that the initial weights decide
RAMP = "ramp loss on the training sample"
DECISIONS_ONLY = "the labels are real numbers; the result is read for decisions here (classes, or -1 and +1)"


@dataclass(frozen=True)
class Look:
    """One step: losses (cross-entropy, or squared for real labels), error rates, and the rows of every result."""

    step: int
    losses: Mapping[str, float]
    rows: tuple[Statement, ...]


@dataclass
class BoundsAlong:
    """Call it with `(step, model, train, test)` in a training loop; every `every`-th step is looked at.

    `bounds` are ids of results ("trauger.thm4.1"); `train` and `test` are pairs of inputs and labels; the model is one
    of `certiformer.lab.models`. The first call gives the initial weights, unless `initial` does. `training` says what a
    result needs to know about the run: `optimiser`, `step_size` for Deora; `eta`, `rho_c`, ..., `nu_c`, ..., `delta`
    for Arda. The number of steps is filled in.
    """

    bounds: Iterable[str]
    every: int = 10
    delta: float = 0.05
    initial: Any = None
    training: Mapping[str, Any] = field(default_factory=dict)
    looks: list[Look] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.bounds = tuple(dict.fromkeys(find(id).id for id in self.bounds))
        for id in self.bounds:
            if id not in BINDINGS:
                raise UnknownNameError("bound", id, BINDINGS, hint=f"(read off a network: {', '.join(BINDINGS)})")
        if not self.bounds:
            raise InputError("bounds", "none", "at least one result", f"Known are {', '.join(BINDINGS)}")
        if isinstance(self.every, bool) or not isinstance(self.every, int) or self.every < 1:
            raise InputError("every", self.every, "a positive number of steps")
        if not 0.0 < self.delta < 1.0:
            raise InputError("delta", self.delta, "a number in (0, 1)")
        self._start: Mapping[str, npt.NDArray[np.float64]] | None = None
        self._start_loss = math.nan
        self._of_sample: tuple[Any, dict[str, Measured], int] | None = None
        self._of_start: dict[str, Measured] = {}

    def __call__(self, step: int, model: Any, train: Part, test: Part) -> None:
        """Look at the model if its step is due; a step that was seen is not looked at again."""
        if step % self.every == 0:
            self.look(step, model, train, test)

    def look(self, step: int, model: Any, train: Part, test: Part) -> None:
        """Look at the model at any step, such as the last one."""
        if self.looks and step <= self.looks[-1].step:
            return
        from certiformer.certification.frameworks import outputs_along, tensors_of

        tensors = tensors_of(model)
        if self._start is None:
            self._start = tensors if self.initial is None else tensors_of(self.initial)
        outputs = [outputs_along(model, part[0]) for part in (train, test)]
        labels = [np.asarray(part[1]) for part in (train, test)]
        losses, coded = _losses(outputs, labels)
        if not self.looks and step == 0:
            self._start_loss = losses["train_loss"]
        profile = self._profile(step, model, tensors, train[0], outputs[0], coded, labels[0])
        self.looks.append(Look(step, losses, tuple(row for id in self.bounds for row in self._rows(id, profile))))

    def _profile(
        self, step: int, model: Any, tensors: Any, inputs: Any, outputs: Any, coded: Any, labels: Any
    ) -> Profile:
        """As `lab.paper_results.profile.measured`; what depends on the sample or the start alone is measured once."""
        if self._of_sample is None or self._of_sample[0] is not inputs:
            values = np.asarray(inputs)
            self._of_sample = inputs, token_entries(values), int(values.shape[-2]) if values.ndim == 3 else 1
        _, entries, tokens = self._of_sample
        if coded is None:
            label = float(np.max(np.abs(np.asarray(labels, np.float64))))
            entries = {**entries, "largest label": Measured(label, "exact", "on the sample")}
        run = {**self.training, "steps": step, "tau": step}
        if math.isfinite(self._start_loss):
            run["start_loss"] = self._start_loss
        what = {"initial": self._start, "training": run, **described(model)}
        found = measure(tensors, None, outputs, coded, brief=bool(self._of_start), **what)
        if not self._of_start:
            of_start = {name: entry for name, entry in found.entries.items() if name.endswith(OF_START)}
            self._of_start = {name: entry for name, entry in of_start.items() if "distance" not in name}
        return replace(found, entries={**found.entries, **self._of_start, **entries}, tokens=tokens)

    def _rows(self, id: str, profile: Profile) -> list[Statement]:
        result = find(id)
        try:
            bound: Application | str = BINDINGS[id](profile)
            if isinstance(bound, Application) and not len(profile.margins) and bound.bounds != "training_loss":
                bound = DECISIONS_ONLY
            pays = not isinstance(bound, str) and (bound.kind == "rademacher" or bound.takes_delta)
            share = self.delta / len(tuple(self.bounds)) if pays else None
            rows = paper_rows(result, bound, share, profile, needed=False)
            # The printed row is read beside the same training loss as the sound one.
            terms = {} if isinstance(bound, str) else bound.terms
            return [replace(row, terms={**row.terms, **terms}) for row in rows]
        except CertiformerError as error:
            return [does_not_apply(result, "gap", str(error))]

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row per step, result and side: losses, the value, what it limits, and whether its hypotheses hold."""
        return [
            {
                "step": look.step,
                **look.losses,
                "bound": row.id,
                "side": row.version,
                "bounds": row.bounds,
                "value": row.value,
                "limit": limit(row),
                "verdict": row.verdict,
                "hypotheses": holds(row),
                "failing": "; ".join(one.requires for one in row.conditions if one.blocks) or row_reason(row),
            }
            for look in self.looks
            for row in look.rows
        ]

    def as_json(self) -> dict[str, Any]:
        """The table, and every hypothesis of every row by step."""
        return {
            "every": self.every,
            "delta": self.delta,
            "table": [{name: _plain(value) for name, value in row.items()} for row in self.table],
            "hypotheses": [
                {"step": look.step, "bound": row.id, "side": row.version, **one.as_json()}
                for look in self.looks
                for row in look.rows
                for one in row.conditions
            ],
        }

    def write(self, path: str | Path) -> None:
        """The table as .csv or, with every hypothesis, as .json; the picture as .png, .pdf or .svg."""
        from certiformer.report import figure
        from certiformer.theory.core.whole_files import write_bytes

        file = Path(path)
        if file.suffix == ".json":
            write_bytes(file, (json.dumps(self.as_json(), indent=1) + "\n").encode())
        elif file.suffix == ".csv":
            rows = self.table
            write_bytes(file, csv_text(rows, list(rows[0]) if rows else ["step"]).encode())
        else:
            figure.save(self.plot(), file)

    def plot(self) -> Figure:
        """Losses, error rates and the limits of both sides against the step, and whether each hypothesis holds."""
        from certiformer.report.along_training import along_figure

        return along_figure(self.table, hypotheses(self.looks))


def limit(row: Statement) -> float | None:
    """What the row says about the error on new data, or about the loss it bounds: a gap has the training loss added."""
    if row.value is None or row.bounds != "gap":
        return row.value
    return None if row.version == "printed" and row.value < 0 else row.value + row.terms.get(RAMP, 0.0)


def holds(row: Statement) -> str:
    """`hold`, `fail`, `open` (nobody can decide them from here), or `not applicable`."""
    if any(one.state == "fails" for one in row.conditions):
        return "fail"
    if row.value is None:
        return "not applicable"
    return "open" if any(one.state == "open" for one in row.conditions) else "hold"


def row_reason(row: Statement) -> str:
    """Why there is no number."""
    return row.reason if row.value is None else ""


def _losses(outputs: list[Any], labels: list[Any]) -> tuple[dict[str, float], Any]:
    """Losses and error rates of both parts; the training labels as signs or classes, None for real ones."""
    real = any(part.dtype.kind == "f" and not np.all(part == np.round(part)) for part in labels)
    losses: dict[str, float] = {}
    coded = []
    for name, values, given in zip(("train", "test"), outputs, labels, strict=True):
        if real:
            losses[f"{name}_loss"] = float(np.mean((values - given) ** 2))
            continue
        classes = values.shape[1] if values.ndim == 2 else 2
        coded.append(coded_labels(f"{name} labels", given, classes, scalar=values.ndim == 1))
        losses[f"{name}_loss"] = float(np.mean(cross_entropy(values, coded[-1])))
        losses[f"{name}_error"] = float(np.mean(margins(values, coded[-1]) <= 0))
    return losses, coded[0] if coded else None


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def facts(recipe: Any, task: Mapping[str, Any], delta: float) -> dict[str, Any]:
    """What the results need to know about a run of `lab.training.fit` on a task with these settings."""
    known: dict[str, Any] = {}
    if recipe.optimiser == "gd" and recipe.loss in ("auto", "logistic"):
        known |= {"optimiser": "gradient_descent", "step_size": recipe.rate}
    # The released teacher is not in the student's space, and noise has no norm.
    realisable = "nu" in task and task.get("variant") == "paper" and not task.get("noise")
    if recipe.optimiser.startswith("projected") and realisable:
        known |= dict(zip(("rho_c", "rho_u", "rho_w"), recipe.rho, strict=True))
        known |= dict(zip(("nu_c", "nu_u", "nu_w"), task["nu"], strict=True))
        known |= {"eta": recipe.rate, "delta": delta / 2, "delta_R": delta / 2}
    return known


def hypotheses(looks: Iterable[Look]) -> dict[tuple[str, str, str], dict[int, str]]:
    """By result, side and words: the state of the hypothesis at every step that has it."""
    found: dict[tuple[str, str, str], dict[int, str]] = {}
    for look in looks:
        for row in look.rows:
            for one in row.conditions:
                found.setdefault((row.id, row.version, one.requires), {})[look.step] = one.state
    return found

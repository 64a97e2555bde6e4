"""Pass, fail or undecided: whether a declared threshold holds, with a report of how sure that is.

A fixed gate looks once. `anytime` looks as often as one likes: its state keeps what was counted. `against` asks about a
baseline on the same items. `ledger` divides delta among the runs of a pipeline, and sees items that were gated before.
Each verdict is wrong with probability at most delta (docs/gates.md; proofs: docs/proofs/gates.md).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from certiformer.certificates import THE_MODEL
from certiformer.certificates.holdout import HoldOut
from certiformer.certificates.mean_loss import MeanLoss
from certiformer.certification import comparing
from certiformer.certification.declaration import MOVED, Declaration
from certiformer.certification.gate_files import Ledger, Run, State, digest, items_of
from certiformer.certification.losses import Asked, Units, clipped, means_of, range_said, records
from certiformer.certification.sample import Sample
from certiformer.certification.sources.table import Outcome
from certiformer.certification.statements import closed, figure
from certiformer.certification.statements import confidence as sure
from certiformer.evaluation import mean_limits, rate_limits
from certiformer.evaluation._given import failure_probability
from certiformer.evaluation.gates import (
    AnytimeGate,
    Comparison,
    Gate,
    Verdict,
    compare_with_baseline,
    gate_mean,
    gate_rate,
    items_to_decide,
)
from certiformer.evaluation.planning import units_about
from certiformer.evaluation.tries import Kind, task_scores
from certiformer.report.numbers import percent
from certiformer.theory.core.errors import InputError, refuse_unknown_options
from certiformer.theory.core.hypothesis import assumed
from certiformer.theory.core.locks import held
from certiformer.theory.core.report import Report, Statement, confidence_text, fitting, visible

EXIT = {"pass": 0, "fail": 1, "undecided": 3}
"""The exit codes of the command line; 2 is wrong use."""
FIXED = (
    "the model, the threshold and the number of items were fixed before these items were scored",
    "the units (items or groups) are independent draws from the population the claim is about",
)
JUDGED = (
    "the items with a human label were drawn at random among all of them, blind to the judge and to all else",
    "the judge was fixed before these items were seen, and works item by item, blind to who is labelled",
    "what was expected of the judge was said before it was run on these items; a human label is the truth",
)
ANYTIME = (
    "the model and the threshold stay as they were when the state began",
    "the items are draws from the population the claim is about, in an order that their outcomes did not decide",
    "the rate is constant; if it drifts, PASS and FAIL speak of its average so far, each wrong with probability delta",
)
UNSEEN = "how many items came between two looks was not decided by their losses"
"""Of real losses the order in which items are counted matters, and it is not that in which they came."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GateReport(Report):
    """A report with a verdict: pass, fail or undecided."""

    verdict: Verdict = "undecided"
    elsewhere: ClassVar[str] = "with --json"

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 3 undecided."""
        return EXIT[self.verdict]


@dataclass(frozen=True, eq=False, kw_only=True)
class Question(Asked):
    """What is asked about, and the threshold it must not exceed."""

    threshold: float
    over: str = ""
    """What the mean is taken over, where that is not the items: groups, their rows, tokens."""

    @property
    def rate(self) -> bool:
        return self.outcome.kind == "rate"

    @property
    def counted(self) -> bool:
        """Right or wrong of independent rows: the exact binomial applies."""
        return self.rate and self.units.groups is None

    @property
    def mean(self) -> str:
        """What is asked about, in words."""
        if self.outcome.asks:
            return self.outcome.asks
        part = self.subject.removeprefix(THE_MODEL).lstrip(", ")
        over = f", a mean over {self.over}" if self.over else ""
        what = self.outcome.what if self.rate else f"mean {self.outcome.what}"
        return closed(f"the {what} {part or f'of {THE_MODEL}'}{over}")

    def answer(self, verdict: str) -> str:
        """What is said of the mean."""
        limit = self.figure(self.threshold)
        return {
            "pass": f"at most {limit}",
            "fail": f"above {limit}",
            "undecided": f"not shown to be at most {limit}, nor above",
        }[verdict]

    def figure(self, value: float) -> str:
        return percent(value) if self.rate else f"{value:.12g}"


@refuse_unknown_options(moved=MOVED)
def gate(
    source: Any,
    *,
    error: float | Mapping[str, float] | None = None,
    against: Any = None,
    margin: float | None = None,
    anytime: str | Path | None = None,
    ledger: str | Path | None = None,
    pass_all: int | None = None,
    pass_any: int | None = None,
    delta: float | None = None,
    confidence: float | None = None,
    declaration: Declaration | Mapping[str, Any] | None = None,
) -> GateReport:
    """Whether the error rate, or mean loss, of a model on new items is at most `error`: pass, fail or undecided.

    `source` is what `certify` reads as predictions. `error` may name a threshold for each metric. Metrics and slices
    share delta: the verdict passes if all pass and fails if one fails. `anytime` names a state file: items may be added
    and looked at as often as one likes. `against` and `margin` ask instead whether the model is at most that much worse
    than a baseline on the same items. `ledger` names a file that divides delta among the runs of a pipeline. With rows
    that are tries, and tasks as groups, `pass_all=k` asks about 1 - pass^k (k fresh tries of a new task all succeed),
    `pass_any=k` about 1 - pass@k (at least one does).
    """
    level, declared = failure_probability(delta, confidence), Declaration.of(declaration)
    if level >= 0.5:
        raise InputError("delta", level, "a number below 0.5", "For example 0.05")
    if pass_all is not None and pass_any is not None:
        raise InputError("pass_all, pass_any", (pass_all, pass_any), "one of the two", "Each is a question of its own")

    def read(given: Any) -> Sample:
        found = Sample.of(given, declared, stopped=anytime is not None)
        if pass_all is None and pass_any is None:
            return found
        return by_task(found, pass_any or pass_all or 0, "pass^k" if pass_any is None else "pass@k")

    sample = read(source)
    declared = sample.declaration.for_verb("gate")
    _refuse(error, against, margin, anytime, ledger, declared)
    said = {"delta": level, "pass_all": pass_all, "pass_any": pass_any, "declaration": declared.as_json()}
    seen: tuple[Sample, ...] = (sample,)
    if margin is not None:
        baseline = read(against)
        seen, settings = (sample, baseline), {"margin": margin, **said}
        judged = functools.partial(_against, sample, baseline, margin)
    else:
        assert error is not None
        sample.refuse_idle_order()
        questions = _questions(sample, error)
        thresholds: Any = (
            {str(name): float(error[name]) for name in error} if isinstance(error, Mapping) else float(error)
        )
        settings = {"error": thresholds, **said}
        if anytime is not None:
            return _anytime(sample, questions, level, Path(anytime), settings)
        judged = functools.partial(_fixed, sample, questions)
    if ledger is None:
        return judged(level)
    with Ledger(Path(ledger), settings).run(items_of(sample), digest(*seen)) as run:
        return _spent(judged(run.share), run, level)


def _refuse(error: Any, against: Any, margin: Any, anytime: Any, ledger: Any, declared: Declaration) -> None:
    if (error is None) == (against is None):
        raise InputError(
            "error, against", "both" if error is not None else "neither", "one of the two",
            "For example --error 0.05, or --against baseline.csv --margin 0.02",
        )  # fmt: skip
    if (against is None) != (margin is None):
        raise InputError("margin", margin, "a baseline and a margin together", "--against FILE --margin 0.02")
    if anytime is not None and (against is not None or ledger is not None):
        other = "--against" if against is not None else "--ledger"
        raise InputError("--anytime", other, "a state alone", "It spends delta once, for one threshold, for ever")
    if against is not None and declared.order != "average":
        raise InputError("order", declared.order, "nothing beside --against", "Its order is the average of 16")
    if against is not None and (declared.slices is not None or declared.models != 1):
        raise InputError("--against", "slices or models", "one comparison", "Compare several: certiformer compare")
    if declared.judging is not None and (against is not None or anytime is not None or ledger is not None):
        raise InputError("human, judge", "--against, --anytime or --ledger", "a fixed gate with --error alone")


def _questions(sample: Sample, error: float | Mapping[str, float]) -> list[Question]:
    """Every outcome of all rows and of every slice, with its threshold."""
    names = [one.label or one.name for one in sample.outcomes]
    if isinstance(error, Mapping):
        for name in error:
            if name not in names:
                raise InputError("error", name, f"a metric of {sample.name}: {', '.join(names)}")
        for name in names:
            if name not in error:
                raise InputError("error", f"no threshold of {name}", "one for each metric", f"--error {name}=0.05")
    found = []
    declared = sample.declaration
    over = comparing.apart_from_rows(sample.units, declared)
    for asked in sample.asked():
        one, units = clipped(asked.outcome, declared.clip), asked.units
        threshold = float(error[one.label or one.name] if isinstance(error, Mapping) else error)
        if one.high is None or one.kind == "log":
            raise InputError("clip", None, f"where to cut {one.what} off", "A gate needs a range: --clip 5")
        if not one.low < threshold < one.high:
            raise InputError(
                "error", threshold, f"a mean strictly between {one.low:g} and {one.high:g}", "For example --error 0.05"
            )
        if asked.slice and units.groups is not None and len(np.unique(units.groups)) < 2:
            raise InputError(
                "--slice", f"{asked.slice}: rows of one group", "at least 2 groups in every slice",
                "Nothing can be said about a single draw: leave the slice out",
            )  # fmt: skip
        found.append(Question(outcome=one, units=units, slice=asked.slice, threshold=threshold, over=over))
    return found


def by_task(sample: Sample, k: int, kind: Kind) -> Sample:
    """Tries of tasks as one loss per task, 1 - pass^k or 1 - pass@k, estimated without bias from its tries."""
    outcome, units, declared = sample.outcome(), sample.units, sample.declaration
    if units.groups is None:
        raise InputError(
            "group", None, "the task of every try", "Name its column: --group COLUMN (rows are tries, groups are tasks)"
        )
    for name, idle in (("slices", sample.slices is None), ("estimand", declared.estimand == "groups")):
        if not idle:
            raise InputError(name, getattr(declared, name), "nothing beside tries", "The unit is the task")
    if outcome.kind != "rate":
        raise InputError("metric", outcome.what, "right or wrong for every try")
    tasks, index = np.unique(units.groups.astype(str), return_inverse=True)
    tries = np.bincount(index)
    failures = np.bincount(index, weights=outcome.losses)
    losses = np.clip(1.0 - task_scores(tries - failures, tries, k, kind, tasks.tolist()), 0.0, 1.0)
    name = kind.replace("k", str(k))
    done, missed = ("all succeed", "do not all succeed") if kind == "pass^k" else ("succeed at least once", "all fail")
    fresh = f"{k} fresh tries of a new task"
    if k == 1:
        fresh, done, missed = "a fresh try of a new task", "succeeds", "fails"
    asks = f"the probability that {fresh} {missed}"
    return replace(
        sample,
        outcomes=(Outcome(name=name, losses=losses, kind="number", what=f"of 1 - {name}", asks=asks),),
        units=Units(len(tasks), tasks.tolist(), row="task"),
        conditions=(
            f"{name} is meant: the probability that {fresh} {done}, not a power of the pass rate",
            "tasks are drawn independently from one population; tries were not stopped at a success",
            *sample.conditions,
        ),
    )


def required(report: Report, most: float) -> tuple[Verdict, str]:
    """Whether the limits of a certificate show that its error rate, or mean loss, is at most `most`; and in words."""
    if not math.isfinite(most):
        raise InputError("--require", most, "a number", "For example 0.05")
    best = report.best
    if best is not None and best.rate and not 0.0 < most < 1.0:
        raise InputError("--require", most, "an error rate strictly between 0 and 1", "For example 0.05")
    parts = [one for one in report.statements if one.subject.startswith(f"{THE_MODEL} on ")]
    if parts or len(report.declaration.get("metric", ())) > 1:
        raise InputError(
            "--require", "several metrics or slices", "one limit",
            "A gate asks about all of them: certiformer gate FILE --error X",
        )  # fmt: skip
    if best is not None and best.value is not None and best.value <= most:
        return "pass", f"PASS: the limit is at most the required {most:.12g}."
    if best is not None and best.lower is not None and best.lower > most:
        return "fail", f"FAIL: even the lower limit is above the required {most:.12g}."
    more = "" if best is not None and best.lower is not None else " (--two-sided can show that it is above)"
    return "undecided", f"UNDECIDED: it is not shown to be at most the required {most:.12g}{more}."


def required_of(found: Sequence[comparing.Comparison], wish: str) -> tuple[Verdict, str]:
    """Whether the intervals show that every model is `noninferior` to the reference (by the margin), or `better`."""
    verdicts: list[Verdict] = []
    for one in found:
        low, high = one.interval  # loss of the reference minus loss of the other
        if wish == "noninferior":
            if one.margin is None:
                raise InputError("--require", wish, "a margin beside it", "For example --margin 0.02")
            holds, fails = -low <= one.margin, -high > one.margin
        elif wish == "better":
            holds, fails = low > 0.0, high <= 0.0
        else:
            raise InputError("--require", wish, "noninferior or better")
        verdicts.append("pass" if holds else "fail" if fails else "undecided")
    verdict: Verdict = "fail" if "fail" in verdicts else "undecided" if "undecided" in verdicts else "pass"
    said = {"pass": "shown", "fail": "refuted", "undecided": "not shown, nor refuted"}[verdict]
    return verdict, f"{verdict.upper()}: {wish} is {said}."


# --- fixed ------------------------------------------------------------------------------------------------------------


def _fixed(sample: Sample, questions: list[Question], delta: float) -> GateReport:
    declared = replace(sample.declaration, clip=None)
    level = delta / (len(questions) * declared.models)
    rows, warnings, conditions = [], list(sample.warnings), list[str]()
    for one in questions:
        asked = FIXED if one.outcome.blocks is None else (*JUDGED, *FIXED)
        holds = (*sample.conditions, *asked, *range_said(one.outcome))
        conditions += holds
        (record,), more = records(one, declared)
        warnings += more
        if isinstance(record, HoldOut):
            found = gate_rate(record.errors, record.n, one.threshold, level)
            exact = rate_limits(record.errors, record.n, level, two_sided=True)
            limits = exact.lower, exact.upper
        elif one.outcome.blocks is not None and isinstance(record, MeanLoss):
            found = one.outcome.blocks.gate(one.threshold, level)
            limits = one.outcome.blocks.limits(level / 2.0)
        else:
            assert isinstance(record, MeanLoss)
            order = "average" if record.order == "average" else "given"
            said: dict[str, Any] = {"order": order, "in_order": True, "weights": record.weights}
            said |= {"low": record.low, "high": record.high}
            found = gate_mean(record.losses, one.threshold, level, **said)
            both = mean_limits(record.losses, level, two_sided=True, **said)
            limits = both.lower, both.upper
        seen = record.seen() + record.beside(level / 2.0)
        found = replace(found, n=record.size)  # of very many several were averaged
        rows.append(_row(one, found, limits, _new_items(one, found, record), seen, holds))
    return _report(sample, questions, rows, delta, conditions, warnings)


def _new_items(one: Question, found: Gate, record: HoldOut | MeanLoss) -> int | None:
    """About how many new units decide, with a chance of 80 %, if they come as these did."""
    if found.verdict != "undecided":
        return None
    if isinstance(record, HoldOut):
        return items_to_decide(found.mean, one.threshold, found.delta)
    width = record.high - record.low
    mean, threshold = (found.mean - record.low) / width, (one.threshold - record.low) / width
    return units_about(record.merged * float(np.var(record.losses)) / width**2, mean, threshold, found.delta)


def _row(
    one: Question, found: Gate, limits: tuple[float, float], needed: int | None, seen: str, holds: Iterable[str]
) -> Statement:
    """The verdict on a question as a statement; its limits have a confidence of their own."""
    claim = f"{one.mean} is {one.answer(found.verdict)}"
    return Statement(
        id=f"gate ({one.label})" if one.label else "gate",
        title=f"Gate at {one.figure(one.threshold)}",
        bounds="risk_01" if one.rate else "mean_loss",
        value=limits[1],
        log10=math.log10(limits[1]) if limits[1] > 0.0 else None,
        confidence=sure(found.delta),
        verdict=found.verdict,
        subject=one.subject,
        quantity=one.mean.removeprefix("the "),
        lower=limits[0],
        jointly=True,
        claim=claim,
        seen=seen,
        n_needed=needed,
        conditions=tuple(map(assumed, holds)),
        terms={
            "threshold": one.threshold,
            "observed": found.mean,
            "items": float(found.n),
            "ln p (pass)": found.ln_pass,
            "ln p (fail)": found.ln_fail,
        },
        guarantee="The verdict is wrong with probability at most 1 - confidence. The limits beside it have a "
        "confidence of their own, of the same size.",
        variant=found.method,
    )


def _report(
    sample: Sample,
    questions: list[Question],
    rows: list[Statement],
    delta: float,
    conditions: Iterable[str],
    warnings: Iterable[str],
    *,
    pooled: bool = False,
) -> GateReport:
    verdicts = [row.verdict for row in rows]
    verdict: Verdict = "fail" if "fail" in verdicts else "undecided" if "undecided" in verdicts else "pass"
    place = verdicts.index(verdict)
    lead, question = rows[place], questions[place]
    sure = f"confidence {confidence_text(delta)}"
    head, at = f"{verdict.upper()}:", f", {'at' if verdict == 'undecided' else 'with'} {sure}."
    if len(rows) > 1:
        counts = ", ".join(f"{verdicts.count(kind)} {kind}" for kind in EXIT if kind in verdicts)
        head, at = f"{verdict.upper()} ({counts}; together {confidence_text(delta)}):", "."
    headline = fitting(lambda short: f"{head} {short(question.mean)} is {question.answer(verdict)}{at}")
    level = delta / (len(rows) * sample.declaration.models)
    evidence = ""
    if not pooled:  # there the first verdict stands, whatever came after it
        ln = lead.terms["ln p (pass)"], lead.terms["ln p (fail)"]
        least = min(0.0, min(ln) if verdict == "undecided" else ln[verdict == "fail"])
        evidence = f"; p = {math.exp(least):.3g}" if least > -690.0 else "; p < 1e-299"
    low, high = lead.lower, lead.value
    assert low is not None
    assert high is not None
    between = f"between {figure(lead, low, down=True)} and {figure(lead, high)}"
    advice = ""
    if verdict == "undecided":
        near = question.figure(question.threshold)
        items = question.units.called
        advice = f"What was seen is so near to {near} that no number of {items} is likely to decide."
        if lead.n_needed is not None:
            items += "" if sample.declaration.judging is None else " with a human label"
            items += f" of {question.label}" if question.slice else ""
            this = "" if len(rows) == 1 else " this question"
            which = f"new {items} would decide{this} with a chance of 80 %"
            how = "if they come as these did; the old ones are not counted again"
            if pooled:
                which = f"more {items} decide{this}"
                how = "if their mean is the one so far; fewer or many more by chance"
            advice = f"About {int(lead.n_needed):,} {which}, {how}."
    declared = sample.declaration
    return GateReport(
        verdict=verdict,
        title=declared.title or visible(sample.name),
        headline=headline,
        statements=tuple(rows),
        decisive=lead.key,
        basis=f"{lead.seen}; {between} (a separate {confidence_text(level)} confidence interval){evidence}",
        summary="" if len(rows) == 1 else f"{len(rows)} questions share delta = {delta:g}.",
        advice=advice,
        conditions=tuple(dict.fromkeys(conditions)),
        not_checked=sample.not_checked,
        warnings=tuple(dict.fromkeys(warnings)),
        observed={row.key: row.terms["observed"] for row in rows},
        delta=delta,
        shares={row.key: level for row in rows},
        classes=sample.classes,
        declaration={**declared.as_json(), "delta": delta},
        decisions=sample.decisions,
        provenance={f"{name}_sha256": found for name, found in sample.hashes.items()},
    )


def _spent(report: GateReport, run: Run, delta: float) -> GateReport:
    """The report of one run of a ledger, which says what it spent."""
    run.verdict = report.verdict
    told = f"Run {run.number} of the ledger spends {run.share:.3g} of delta = {delta:g}: all runs together are covered."
    if run.again:
        told = f"Items and outcomes of run {run.number} of the ledger again: the same verdict, nothing is spent."
    return replace(report, summary=f"{report.summary} {told}".strip())


# --- at any time ------------------------------------------------------------------------------------------------------


def _anytime(sample: Sample, questions: list[Question], delta: float, path: Path, asked: Any) -> GateReport:
    asked_of = [one.outcome for one in questions if not one.slice]
    outcomes = [f"{one.name} ({one.kind} from {one.low:g} to {one.high:g})" for one in asked_of]
    asked = {**asked, "outcomes": outcomes, "questions": [one.label for one in questions]}
    with held(path):
        return _looked(sample, questions, delta, State(path, asked))


def _looked(sample: Sample, questions: list[Question], delta: float, state: State) -> GateReport:
    level = delta / (len(questions) * sample.declaration.models)
    rows, added, conditions, warnings = [], 0, list[str](), list(sample.warnings)
    before = {one.label: state.counted(one.label) for one in questions if not one.slice}
    for one in questions:
        ids, losses = keyed(one, sample)
        if one.slice:
            state.refuse_moved(one.label, ids, before[one.outcome.label])
        low, high = one.outcome.low, one.outcome.high
        assert high is not None
        gate = state.gate(one.label, AnytimeGate(one.threshold, level, binary=one.counted, low=low, high=high))
        fresh = state.fresh(one.label, ids, losses)
        if len(fresh):
            gate.update(fresh)
        added += len(fresh)
        state.keep(one.label, gate)
        ln_pass, ln_fail = gate.ln_capital
        found = Gate(gate.decided, one.threshold, level, gate.n, gate.mean, -ln_pass, -ln_fail, "fixed tilts")
        at = "" if gate.decided_at is None else f"; decided after {gate.decided_at:,}"
        mean = f"{100 * gate.mean:.6g} %" if one.rate else f"{gate.mean:.6g}"
        seen = f"a mean of {mean} over {gate.n:,} {one.units.called} since the state began{at}"
        unseen = () if one.counted else (UNSEEN,)
        holds = (*sample.conditions, *ANYTIME, *unseen, *range_said(one.outcome))
        rows.append(_row(one, found, gate.limits, _more_items(gate), seen, holds))
        conditions += holds
        least, most = gate.limits
        if (gate.decided == "pass" and least > one.threshold) or (gate.decided == "fail" and most <= one.threshold):
            part = f" on {one.label}" if one.label else ""
            warnings.append(f"what came after the verdict{part} speaks against it: a rate that changes is for `watch`")
    state.save()
    report = _report(sample, questions, rows, delta, conditions, warnings, pooled=True)
    told = f"{added:,} outcomes were new; the verdict may be asked for after every item."
    return replace(report, summary=f"{report.summary} {told}".strip())


def keyed(one: Asked, sample: Sample) -> tuple[list[str], npt.NDArray[np.float64]]:
    """One loss for every unit, and the name by which a state knows it again; refused where there is none."""
    units, x, declared = one.units, one.outcome.losses, sample.declaration
    if "stopped_early" in sample.facts and (one.outcome.kind != "rate" or units.groups is not None):
        raise InputError(
            "samples", "an evaluation that was stopped by its outcomes", "right or wrong of independent samples",
            "What was shown about other scores stands in the log: results.early_stopping",
        )  # fmt: skip
    if declared.estimand == "rows":
        raise InputError("--anytime", "a mean over rows", "items, or groups, of equal weight", "Or a fixed gate")
    if units.groups is not None:
        if declared.repeats == "group":
            raise InputError("--anytime", "--repeats group", "a column of groups", "A state knows units by their name")
        grouped = means_of(x, units, declared)
        return grouped.ids or [], grouped.losses
    if declared.repeats == "natural" and "repeated_ids" not in sample.facts:
        raise InputError(
            "--anytime", "--repeats natural", "ids: equal inputs would be taken for items that were counted",
            "Name the column: --id COLUMN",
        )  # fmt: skip
    if units.ids is None:
        raise InputError(
            "--anytime", "rows without ids", "ids, or inputs, to know counted items by", "Name the column: --id COLUMN"
        )
    return list(units.ids), x


def _more_items(gate: AnytimeGate) -> int | None:
    """About how many more items decide, if they come at the mean so far."""
    if gate.decided != "undecided" or gate.n == 0:
        return None
    low, high = gate.n, gate.n
    while not gate.decides_at(high):
        low, high = high, 2 * high
        if high > 100_000_000:
            return None
    while high - low > max(1, low // 1000):
        middle = (low + high) // 2
        low, high = (low, middle) if gate.decides_at(middle) else (middle, high)
    return max(1, high - gate.n)


# --- against a baseline -----------------------------------------------------------------------------------------------


def _against(sample: Sample, baseline: Sample, margin: float, delta: float) -> GateReport:
    pairs = comparing.paired(sample, baseline)
    declared = sample.declaration
    said: Any = {"weights": pairs.weights, "ids": pairs.units.ids}
    said |= {"independent_rows": pairs.units.groups is None and pairs.outcome.kind == "rate"}
    found = compare_with_baseline(pairs.first, pairs.second, margin, delta, pairs.outcome.low, pairs.high, **said)
    width, drawn = pairs.high - pairs.outcome.low, pairs.units.called
    verdict: Verdict = "undecided"
    if found.non_inferior != found.worse_by_margin:
        verdict = "pass" if found.non_inferior else "fail"
    unit = comparing.measured(pairs.outcome.what, pairs.over)
    g = f"{margin:.12g}"
    said_of = {
        "pass": f"the {unit} is at most {g} above that of the baseline",
        "fail": f"the {unit} is more than {g} above that of the baseline",
        "undecided": f"the {unit} is not shown to be at most {g} above that of the baseline, nor more",
    }[verdict]
    table = f"a difference of {found.difference:+.4g} over {found.n:,} {drawn}"
    if found.wins is not None:
        table = (
            f"{found.wins:,} wins, {found.losses:,} losses, {found.both_right:,} both right, "
            f"{found.both_wrong:,} both wrong"
        )
    return GateReport(
        verdict=verdict,
        title=declared.title or f"{visible(sample.name)} against {visible(baseline.name)}",
        headline=f"{verdict.upper()}: {said_of}, {'at' if verdict == 'undecided' else 'with'} confidence "
        f"{confidence_text(delta)}.",
        statements=_claims(found, unit, drawn, width),
        decisive="non-inferior" if verdict == "pass" else None,
        basis=table,
        summary=f"{_in_words(found)} All of this together: {confidence_text(delta)}.",
        advice="" if verdict != "undecided" else _more_pairs(pairs.first - pairs.second, found, width, drawn),
        conditions=tuple(
            dict.fromkeys((*comparing.CONDITIONS, *range_said(pairs.outcome), *sample.conditions, *baseline.conditions))
        ),
        not_checked=tuple(dict.fromkeys((*sample.not_checked, *baseline.not_checked))),
        warnings=tuple(dict.fromkeys((*pairs.warnings, *sample.warnings, *baseline.warnings))),
        observed={
            "difference": found.difference,
            "wins": found.wins,
            "losses": found.losses,
            "both right": found.both_right,
            "both wrong": found.both_wrong,
        },
        delta=delta,
        shares={"down": delta / 2.0, "up": delta / 2.0},
        classes=sample.classes,
        declaration={**declared.as_json(), "delta": delta, "margin": margin},
        decisions=sample.decisions,
        provenance={f"{name}_sha256": value for name, value in sample.hashes.items()}
        | {f"baseline_{name}_sha256": value for name, value in baseline.hashes.items()},
    )


def _in_words(found: Comparison) -> str:
    g = f"{found.margin:.12g}"

    def said(holds: bool) -> str:
        return "yes" if holds else "not shown"

    worse = f"Worse by more than {g}: yes. " if found.worse_by_margin else "Worse: yes. " if found.inferior else ""
    return (
        f"Non-inferior by {g}: {said(found.non_inferior)}. Superior: {said(found.superior)}. "
        f"Equivalent within {g}: {said(found.equivalent)}. {worse}".strip()
    )


def _claims(found: Comparison, unit: str, drawn: str, width: float) -> tuple[Statement, ...]:
    """The links of both chains as statements about the difference; what is not shown has no value."""
    g, reason = found.margin, "not shown at this confidence"
    links = (
        ("non-inferior", f"at most {g:g} above", found.non_inferior, g, None),
        ("superior", "below", found.superior, 0.0, None),
        ("better by the margin", f"more than {g:g} below", found.better_by_margin, -g, None),
        ("no better than the margin", f"at most {g:g} below", found.no_better, width, -g),
        ("inferior", "above", found.inferior, width, 0.0),
        ("worse by the margin", f"more than {g:g} above", found.worse_by_margin, width, g),
    )
    return tuple(
        Statement(
            id=name,
            title=name,
            bounds="difference",
            value=value if shown else None,
            trivial=width,
            confidence=sure(found.delta),
            verdict="shown" if shown else "not shown",
            subject="the model, against the baseline",
            quantity=f"difference of the {unit}",
            lower=lower if shown else None,
            jointly=True,
            claim=f"the {unit} is {words} that of the baseline",
            seen=f"{found.difference:+.4g} over {found.n:,} {drawn}",
            conditions=tuple(map(assumed, comparing.CONDITIONS)),
            reason="" if shown else reason,
        )
        for name, words, shown, value, lower in links
    )


def _more_pairs(differences: npt.NDArray[np.float64], found: Comparison, width: float, units: str) -> str:
    mean, most = ((1.0 + one / width) / 2.0 for one in (found.difference, found.margin))
    needed = units_about(float(np.var(differences)) / (2.0 * width) ** 2, mean, most, found.delta / 2.0)
    if needed is None:
        return f"What was seen is so near to {found.margin:g} that no number of {units} is likely to decide."
    return comparing.would_decide(needed, units)

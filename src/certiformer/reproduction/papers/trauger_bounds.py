"""Trauger and Tewari, Theorem 4.1 at the networks of section 6: what the bound says about what was trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import certiformer
from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.papers._trauger_grid import gap, released
from certiformer.reproduction.papers.trauger_figures import learned, slope
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import mean_interval
from certiformer.reproduction.study import Analysis, Finding, study
from certiformer.reproduction.sweep import Config, Row
from certiformer.reproduction.trend import Notes
from certiformer.reproduction.verdicts import bound_always, no_more_than

THEOREM = "trauger.thm4.1"
GUESSING = math.log(2.0)
"""The loss of guessing: training loss is not negative, so a gap bound of this size cannot tell learning from it."""
CLASSES = 2
GROWTH = 0.1
"""Decades per 100 tokens worth speaking of."""
# E[test - training loss] <= 2 Rad(loss). The mean of two sigmoid losses is 1/2-Lipschitz in each logit, so by
# contraction Rad(loss) <= (Rad(f_1) + Rad(f_2))/2, at most that of the worse logit.
SYMMETRISATION = 2.0
SAMPLES = 10**6
"""So many that the bound is below the range of its class."""


@dataclass(frozen=True)
class Bounds:
    """Bounds on a run's gap, in nats.

    printed   Theorem 4.1 as printed, heads added (section 4.2), two logits (Theorem 5.1), C from the one CLS token;
    literal   the same with C from ||W_QK||_{1,1}, as Corollary 4.1.1 has it;
    sound     the sound side, C from the one CLS token;
    ceiling   what holds without a theorem: twice the largest output of the class.
    """

    printed: float
    literal: float
    sound: float
    ceiling: float


def bounds(norms: Config, sizes: Config, samples: int, dimension: int) -> Bounds:
    """The theorem for the class of networks with these norms, each head its own.

    The network's ReLU comes after its heads are summed. The proof's contraction then applies to the sum, so the sum of
    the heads' bounds holds, unless it is the ceiling for some of them: then only the ceiling is known to hold.
    """
    result = certiformer.explain(THEOREM)
    if not result.has_printed():
        raise AssertionError("Theorem 4.1 is printed")
    printed: list[float] = []
    literal: list[float] = []
    sound: list[float] = []
    ceiling: list[float] = []
    for h in range(len(norms["Bv"])):
        tokens = {name: sizes[name] for name in ("Bx", "rho", "D")}
        given = {"Bw": norms["Bw"], "L_sigma": 1.0, "n": samples, "d": dimension, **tokens}
        cover = norms["scores"][h] ** 2 * math.log(2 * dimension + 1)
        corollary = (norms["BQK"][h] * sizes["Bx"]) ** 2 * math.log(2 * dimension**2 + 1)
        stated = {**given, "Bc": norms["Bc_transposed"], "Bv": norms["Bv_transposed"][h]}
        for found, constant in ((printed, cover), (literal, corollary)):
            found.append(result(**{**stated, "C": constant}).printed()["value"].value)
        # C is Maurey's, for the l1 ball of W_QK^T x_CLS: its points are means of vertices, hence in the ball.
        evaluation = certiformer.bound(THEOREM, **given, Bc=norms["Bc"], Bv=norms["Bv"][h], C=cover, proper=True)
        sound.append(evaluation.sound[evaluation.best].value if evaluation.best else math.inf)
        ceiling.append(norms["Bw"] * norms["Bc"] * norms["Bv"][h] * sizes["D"])
    several = certiformer.bound("trauger.thm5.1", K=CLASSES, rad=1.0).printed["value"].value
    highest = SYMMETRISATION * math.fsum(ceiling)
    reached = any(value >= most for value, most in zip(sound, ceiling, strict=True))
    return Bounds(
        SYMMETRISATION * several * math.fsum(printed),
        SYMMETRISATION * several * math.fsum(literal),
        highest if reached else SYMMETRISATION * math.fsum(sound),
        highest,
    )


def of_run(row: Row) -> Bounds:
    """The theorem at the weights a run kept."""
    return bounds(row.values["norms"], row.values["token_sizes"], row.config["samples"], row.config["d"] + 1)


def powers_of_ten(value: float) -> float:
    """By how many powers of ten a bound is above the loss of guessing."""
    return math.log10(value / GUESSING)


def samples_needed(norms: Config, sizes: Config, dimension: int) -> float:
    """n at which the sound bound falls to the loss of guessing, to a few per cent: secant steps on logarithms."""
    target = math.log(GUESSING)

    def log_bound(log_n: float) -> float:
        return math.log(bounds(norms, sizes, math.ceil(math.exp(log_n)), dimension).sound)

    at, value = math.log(SAMPLES), log_bound(math.log(SAMPLES))
    steepness = -0.5  # the bound falls like n^(-1/2), up to a logarithm
    for _ in range(8):
        following = at + (target - value) / steepness
        reached = log_bound(following)
        if abs(reached - target) < 0.02:
            return math.exp(following + (target - reached) / steepness)
        if reached != value:
            steepness = min(-0.1, (reached - value) / (following - at))
        at, value = following, reached
    return math.exp(at)


def analyse(rows: Sequence[Row]) -> Analysis:
    """Bounds against measured gaps at every T, for networks that have learned, and how the bounds move with T."""
    everything, notes = Table(rows), Notes()
    table = learned(everything)
    if not len(table):
        notes.remarks.append(f"None of {len(everything)} runs has learned: bounds at them say nothing about training.")
        return notes.analysis(f"none of {len(everything)} networks has learned, so there is nothing to bound.")
    found = {row.key: of_run(row) for row in table}
    negative = sum(each.printed <= 0 for each in found.values())
    for side in ("printed", "sound"):
        values = {key: getattr(each, side) for key, each in found.items()}
        ratios = [abs(gap(row.values)) / values[row.key] if values[row.key] > 0 else math.inf for row in table]
        setting = f"gap over the {side} bound, largest of {len(table)} networks that learned"
        setting += f" ({negative} printed bounds are negative)" if negative and side == "printed" else ""
        row_of = Finding(setting, None, max(ratios), None, bound_always(ratios))
        notes.findings.append(row_of.told(**{"paper" if side == "printed" else "sound": "≤ 1"}))
    above = table.column(lambda row: powers_of_ten(found[row.key].sound))
    for T, part in table.by("tokens").items():
        level = mean_interval(part.column(lambda row: powers_of_ten(found[row.key].sound)))
        notes.found(f"T = {T}: log10 of the sound bound over the loss of guessing", level)
    moving = slope(table, lambda row: math.log10(found[row.key].sound))
    setting = "log10 of the sound bound, all norms measured: slope per 100 tokens"
    notes.found(setting, moving, no_more_than(moving, GROWTH), paper="no increase")
    _weights_fixed(notes, table)
    capped = sum(each.sound >= each.ceiling for each in found.values())
    literal = sum(each.literal < 0 for each in found.values())
    notes.remarks.append(
        f"For {capped} of {len(found)} networks the sound bound is no less than the range of the class itself: at this "
        "sample size the theorem adds nothing to the norms. With C from ||W_QK||_{1,1}, as in Corollary 4.1.1, the "
        f"printed formula is negative for {literal} of them."
    )
    level = mean_interval(above)
    caption = (
        "Bounds on the gap of the networks that learned sparse majority, and the gaps measured, for each number of "
        "tokens T: means of logarithms of the bounds, means of the gaps with 95 % intervals. A bound above the dotted "
        "line, the loss of guessing, is vacuous."
        + (f" Of the printed bounds {negative} of {len(table)} are negative and cannot be drawn." if negative else "")
    )
    return notes.analysis(
        f"at the {len(table)} of {len(everything)} networks that learned, the sound Theorem 4.1 is "
        f"10^{level.value:.1f} times the loss of guessing{': it is vacuous' if level.low > 0 else ''}.",
        bounds=Plot([_panel(table, found)], caption, height=3.0),
    )


def _panel(table: Table, found: Mapping[str, Bounds]) -> Panel:
    def middle(side: str) -> Callable[[Table], float]:
        def value(part: Table) -> float:
            values = [getattr(found[row.key], side) for row in part]
            return math.exp(float(np.mean(np.log(values)))) if min(values) > 0 else math.nan

        return value

    series = [
        Series.means("gap at the best epoch", table.points("tokens", lambda row: gap(row.values))),
        Series.means("largest gap during training", table.points("tokens", "largest_gap")),
        Series.theory("Theorem 4.1, printed", table.curve("tokens", middle("printed")), printed=True),
        Series.theory("Theorem 4.1, sound", table.curve("tokens", middle("sound"))),
    ]
    return Panel("tokens T", "gap (nats)", series, log="y", marks={"loss of guessing, ln 2": GUESSING})


def _weights_fixed(notes: Notes, table: Table) -> None:
    """Weights with the median norms of all runs, on the tokens of the shortest and of the longest inputs."""
    lengths = table.by("tokens")
    norms = _median([row.values["norms"] for row in table])
    dimension = table.config["d"] + 1
    at = {}
    for T in sorted({min(lengths), max(lengths)}):
        sizes = _median([row.values["token_sizes"] for row in lengths[T]])
        at[T] = (bounds(norms, sizes, SAMPLES, dimension).sound, samples_needed(norms, sizes, dimension))
        notes.remarks.append(
            f"Weight norms fixed at their medians, T = {T}: tokens have half-diameter {sizes['rho']:.2f}, and "
            f"{at[T][1]:.2g} samples bring the sound bound down to the loss of guessing."
        )
    if len(at) == 2:
        short, long = at.values()
        for name, index in ((f"sound bound for {SAMPLES:,} samples", 0), ("samples until the loss of guessing", 1)):
            setting = f"{name}, T = {max(at)} / T = {min(at)}, weight norms fixed, tokens as they are"
            notes.findings.append(Finding(setting, None, long[index] / short[index]))


def _median(dictionaries: Sequence[Config]) -> Config:
    columns = {name: np.median([d[name] for d in dictionaries], axis=0) for name in dictionaries[0]}
    return {name: value.tolist() for name, value in columns.items()}


STUDIES = (study("trauger.bounds", released, analyse, cell=("tokens",)),)

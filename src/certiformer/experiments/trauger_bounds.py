"""Trauger and Tewari, Theorem 4.1 at the networks of section 6: what the bound says about what was trained."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import certiformer
from certiformer.experiments import statistics
from certiformer.experiments._trauger_runs import cost, experiment, gap, probe
from certiformer.experiments.statistics import Interval
from certiformer.experiments.study import Analysis, Finding, Plot, Study
from certiformer.experiments.trauger_figures import READINGS, change, slope
from certiformer.report import plots
from certiformer.sweep import Row
from certiformer.sweep.run import Config

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
        evaluation = certiformer.bound(THEOREM, **given, Bc=norms["Bc"], Bv=norms["Bv"][h], C=cover)
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


def of_run(row: Row, which: str = "norms") -> Bounds:
    """The theorem at the weights a run kept (or, `norms_last`, at its last ones)."""
    return bounds(row.values[which], row.values["token_sizes"], row.config["samples"], row.config["d"] + 1)


def decades(value: float) -> float:
    """How far a bound is above the loss of guessing."""
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
    """Bounds against measured gaps at every T, and how the bounds move with T."""
    by_length: dict[int, list[tuple[Row, Bounds]]] = {}
    for row in sorted(rows, key=lambda r: (r.config["tokens"], r.config["seed"])):
        by_length.setdefault(row.config["tokens"], []).append((row, of_run(row)))
    if not by_length:
        return Analysis(())
    logs = {T: [math.log10(found.sound) for _, found in runs] for T, runs in by_length.items()}
    logs_last = {T: [math.log10(of_run(row, "norms_last").sound) for row, _ in runs] for T, runs in by_length.items()}
    slopes = {"kept": slope(logs), "last": slope(logs_last)}
    fixed = _weights_fixed(by_length)
    findings = [
        *(_length_finding(T, runs) for T, runs in by_length.items()),
        *(
            Finding(
                f"log10 of the sound bound, all norms measured, {name} weights: slope per 100 tokens",
                "0",
                None if math.isnan(found.value) else found.value,
                found.ends,
                change(found, GROWTH),
            )
            for name, found in slopes.items()
        ),
        _fixed_finding(),
        *_tokens_findings(fixed),
    ]
    fits: dict[str, Any] = {
        "log10_sound_per_100_tokens": {name: found.as_json() for name, found in slopes.items()},
        "decades_above_guessing": {
            str(T): statistics.mean_interval([decades(found.sound) for _, found in runs]).as_json()
            for T, runs in by_length.items()
        },
        "weights_fixed": {str(T): entry for T, entry in fixed.items()},
    }
    caption = (
        "Bounds on the gap of the networks trained on sparse majority, and the gaps measured, for each number of "
        "tokens T: geometric means of the bounds over the runs, means of the gaps, and for the gap at the best epoch "
        "the 95 % confidence interval of its mean, where that is positive. A bound above the dotted "
        f"line, the loss of guessing, says nothing. {_literal_remark(by_length)}"
    )
    return Analysis(
        tuple(findings), fits, {"bounds": Plot(_draw(by_length), caption)}, _remarks(by_length, slopes, fixed)
    )


Runs = Mapping[int, Sequence[tuple[Row, Bounds]]]


def _mean_of_logs(values: Sequence[float]) -> float:
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def _printed(runs: Sequence[tuple[Row, Bounds]]) -> float | str:
    values = [found.printed for _, found in runs]
    return _mean_of_logs(values) if min(values) > 0 else "negative"


def _length_finding(T: int, runs: Sequence[tuple[Row, Bounds]]) -> Finding:
    measured = statistics.mean_interval([gap(row.values) for row, _ in runs])
    sound = _mean_of_logs([found.sound for _, found in runs])
    above = decades(sound)
    verdict = f"sound: vacuous by {above:.1f} decades" if above >= 0 else "sound: informative"
    return Finding(f"T = {T}: gap (nats)", _printed(runs), measured.value, measured.ends, verdict, sound)


def _fixed_finding() -> Finding:
    names = {entry.name for entry in certiformer.explain(THEOREM).inputs}
    free = names.isdisjoint({"T", "tokens"})
    verdict = "agrees: the theorem has no T among its inputs" if free else "does not agree"
    return Finding("bound at T / bound at any other T, all norms fixed", 1.0, 1.0 if free else None, None, verdict, 1.0)


def _weights_fixed(by_length: Runs) -> dict[int, dict[str, float]]:
    """Weights with the median norms of all runs, on the tokens of the shortest and of the longest inputs."""
    every = [row for runs in by_length.values() for row, _ in runs]
    norms = _median([row.values["norms"] for row in every])
    found = {}
    for T in sorted({min(by_length), max(by_length)}):
        sizes = _median([row.values["token_sizes"] for row, _ in by_length[T]])
        dimension = every[0].config["d"] + 1
        found[T] = {
            "rho": sizes["rho"],
            "sound_at_a_million": bounds(norms, sizes, SAMPLES, dimension).sound,
            "samples_needed": samples_needed(norms, sizes, dimension),
        }
    return found


def _median(dictionaries: Sequence[Config]) -> Config:
    columns = {name: np.median([d[name] for d in dictionaries], axis=0) for name in dictionaries[0]}
    return {name: value.tolist() for name, value in columns.items()}


def _tokens_findings(fixed: Mapping[int, Mapping[str, float]]) -> list[Finding]:
    if len(fixed) < 2:
        return []
    (short, at_short), (long, at_long) = sorted(fixed.items())
    findings = []
    for name, what in (
        ("sound_at_a_million", f"sound bound for {SAMPLES:,} samples"),
        ("samples_needed", "samples until the sound bound reaches the loss of guessing"),
    ):
        ratio = at_long[name] / at_short[name]
        grows = "grows with the spread of the tokens" if ratio > 1.01 else "does not grow"
        setting = f"{what}, T = {long} / T = {short}, weight norms fixed, tokens as they are"
        findings.append(Finding(setting, 1.0, ratio, None, grows))
    return findings


def _draw(by_length: Runs) -> Any:
    figure, (axes,) = plots.panels(1, height=3.0)
    lengths = list(by_length)
    measured = [statistics.mean_interval([gap(row.values) for row, _ in by_length[T]]) for T in lengths]
    largest = [float(np.mean([row.values["largest_gap"] for row, _ in by_length[T]])) for T in lengths]
    positive = [T for T in lengths if not isinstance(_printed(by_length[T]), str)]
    if positive:
        values = [_mean_of_logs([found.printed for _, found in by_length[T]]) for T in positive]
        plots.theory(axes, positive, values, label="Theorem 4.1, printed", printed=True)
    sound = [_mean_of_logs([found.sound for _, found in by_length[T]]) for T in lengths]
    plots.theory(axes, lengths, sound, label="Theorem 4.1, sound")
    axes.axhline(GUESSING, color="0.45", lw=1.0, ls=":", label="loss of guessing, ln 2")
    plots.band(axes, lengths, largest, label="largest gap during training", index=1)
    floor = 0.5 * min([*largest, *(m.value for m in measured if m.value > 0)])
    shown = [(T, m) for T, m in zip(lengths, measured, strict=True) if m.value > 0]
    plots.band(
        axes,
        [T for T, _ in shown],
        [m.value for _, m in shown],
        [max(m.low, floor) for _, m in shown],
        [m.high for _, m in shown],
        label="gap at the best epoch",
        index=0,
    )
    plots.label(axes, "tokens T", "gap (nats)", log="y", legend=False)
    axes.set_ylim(bottom=0.8 * floor)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=7.5, frameon=False)
    return figure


def _literal_remark(by_length: Runs) -> str:
    every = [found for runs in by_length.values() for _, found in runs]
    below = sum(found.literal < 0 for found in every)
    return (
        f"With C from ||W_QK||_{{1,1}}, as in Corollary 4.1.1, the printed formula is negative for {below} of "
        f"{len(every)} networks and is not drawn."
    )


def _remarks(
    by_length: Runs, slopes: Mapping[str, Interval], fixed: Mapping[int, Mapping[str, float]]
) -> tuple[str, ...]:
    every = [found for runs in by_length.values() for _, found in runs]
    capped = sum(found.sound >= found.ceiling for found in every)
    above = [decades(found.sound) for found in every]
    said = [
        (
            f"The sound bound is at least {min(above):.1f} and at most {max(above):.1f} decades above the loss of "
            f"guessing. For {capped} "
            f"of {len(every)} networks it is no less than the range of the class itself: at this sample size the "
            "theorem adds nothing to the norms."
        ),
        _literal_remark(by_length),
    ]
    found = slopes["kept"]
    if not math.isinf(found.low):
        said.append(
            f"With all norms as measured, log10 of the sound bound changes by {found.value:.3g} per 100 tokens (95 % "
            f"interval {found.low:.3g} to {found.high:.3g})."
        )
    if fixed:
        said += [
            f"Weight norms fixed at their medians, T = {T}: tokens have half-diameter {entry['rho']:.2f}, and "
            f"{entry['samples_needed']:.2g} samples bring the sound bound down to the loss of guessing."
            for T, entry in sorted(fixed.items())
        ]
    return tuple(said)


STUDIES = (
    Study(
        id="trauger.bounds",
        paper="trauger",
        title="Theorem 4.1 at the trained networks",
        claim=(
            "With bounded norms the bound on the generalization gap does not grow with the sequence length. The paper "
            "evaluates no bound at its networks."
        ),
        experiment=experiment,
        analyse=analyse,
        cost=cost,
        probe=probe,
        readings=(
            (
                "The trained network has biases, which the theorem has not: they become weights of one more token "
                "coordinate that is 1 everywhere, an identity, so norms and token sizes include it. The key's bias "
                "cancels in the softmax; there is no layer norm."
            ),
            (
                "Value and output projection of a head make up W_v, the dense layer is W_c, a column of the last "
                "matrix is w. The network has its ReLU after the heads are summed, the theorem inside a head; the "
                "sum of the heads' bounds (section 4.2) holds for both, by the same contraction."
            ),
            (
                "All inputs have the same CLS token, so C is that of the vectors W_QK^T x_CLS in an l1 ball. The "
                "printed side takes the norms of the transposes, as the statement does, with its O() constants 1."
            ),
            (
                "A bound on the expected gap of the training loss: 2 Rad, without a term for confidence. The norms are "
                "read off after training and not paid for, which flatters the bound; a certificate would have to."
            ),
            "Theorem 4.2 does not apply: its layers project onto the unit ball, and this network does not.",
            *READINGS[:2],
            READINGS[3],
        ),
    ),
)

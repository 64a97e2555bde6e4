"""Populations whose truth is known, put before the doors that users go through: certify, compare, watch, select, plan.

Each experiment takes a generator and says whether what was claimed is false. `VALID` ones may be false in at most a
fraction DELTA of repetitions; `BROKEN` ones break a rule in the way people break it, through the same doors.
"""

import atexit
import contextlib
import io
import json
import math
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import certiformer
from certiformer.cli import plan as plan_verb
from certiformer.cli import select as select_verb
from certiformer.evaluation import (
    ConfidenceSequence,
    Monitor,
    anytime_rate_limits,
    mean_limits,
    plan_pairs,
    rate_limits,
    sign_test,
)
from certiformer.theory.core.errors import InputError

DELTA = 0.1
_FOLDER = tempfile.TemporaryDirectory()
atexit.register(_FOLDER.cleanup)


def judged(experiment, repetitions, seed=0):
    """Failures, and the probability of as many or more at failure rate DELTA."""
    from scipy.stats import binom

    failures = sum(_is_false(experiment, np.random.default_rng([seed, index])) for index in range(repetitions))
    return failures, float(binom.sf(failures - 1, repetitions, DELTA))


def _is_false(experiment, random):
    """Whether what was claimed is false; rows that chance has sorted, once in 10,000 draws, are refused: no claim."""
    try:
        return bool(experiment(random))
    except InputError as refused:
        if "a list sorted by its own values" not in str(refused):
            raise
        return False


def certified(arrays, **options):
    """The report of `certify` at DELTA."""
    return certiformer.certify(predictions=arrays, delta=DELTA, declaration=options)


def file_of(name, **arrays):
    path = Path(_FOLDER.name) / f"{name}.npz"
    np.savez(path, **arrays)
    return path


def printed(verb, **options):
    """The JSON lines that a verb writes to stdout."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        verb(**options, json=True)
    return text.getvalue()


def outside(row, truth):
    return not row.lower <= truth <= row.value


def ids_of(random, n):
    return random.integers(2**60, size=n)


# Losses: skewed, atomic, rare, near both ends


def rare(random, n):
    return np.where(random.random(n) < 0.02, random.uniform(0.5, 1.0, n), 0.0), 0.015


def levels(random, n):
    return random.choice([0, 0.25, 0.5, 1.0], p=[0.7, 0.15, 0.1, 0.05], size=n), 0.1375


def coin(random, n):
    return (random.random(n) < 0.1).astype(float), 0.1


def arcsine(random, n):
    return random.beta(0.5, 0.5, n), 0.5


def near_one(random, n):
    return 1.0 - (random.random(n) < 0.05) * 0.9, 1 - 0.045


LAWS = {"rare": rare, "levels": levels, "coin": coin, "arcsine": arcsine, "near one": near_one}


def mean(law, n, order, side):
    """One limit of the mean of a loss in [-1, 2]; the lower one as the upper one of the mirrored loss."""

    def experiment(random):
        x, truth = law(random, n)
        if side == "lower":
            x, truth = 1.0 - x, 1.0 - truth
        arrays = {"heldout_losses": 3 * x - 1, "heldout_ids": ids_of(random, n)}
        return certified(arrays, range=(-1.0, 2.0), order=order)["mean_loss"].value < 3 * truth - 1

    return experiment


def both_limits(random):
    x, truth = levels(random, 25)
    return outside(certified({"heldout_losses": x}, two_sided=True, order="hash")["mean_loss"], truth)


def rate(random):
    wrong = random.random(60) < 0.07
    return outside(certified({"heldout_correct": ~wrong}, two_sided=True)["holdout"], 0.07)


def two_metrics(random):
    """The analyst quotes whichever of two metrics fails."""
    x, truth = levels(random, 25)
    report = certified({"heldout_losses_a": x, "heldout_losses_b": 1 - x}, order="hash")
    rows = {row.evidence.label: row.value for row in report.statements if row.evidence is not None}
    return rows["a"] < truth or rows["b"] < 1 - truth


def clipped(random):
    """An unbounded loss: its clipped mean, and the rate beyond the clip."""
    x = random.exponential(size=25)
    report = certified({"heldout_losses": x}, clip=2.0, order="hash")
    return report["mean_loss"].value < 1 - math.exp(-2) or report["holdout"].value < math.exp(-2)


def sorted_file_with_ids(random):
    """The file was sorted by its losses after scoring; ids given at drawing restore an honest order."""
    x, truth = coin(random, 30)
    rank = np.argsort(x, kind="stable")
    arrays = {"heldout_losses": x[rank], "heldout_ids": ids_of(random, 30)[rank]}
    return certified(arrays, order="hash")["mean_loss"].value < truth


def oversampled(random):
    """25 distinct inputs, 8 copies of each; one in five is wrong."""
    wrong, inputs = random.random(25) < 0.2, random.random(25)
    return {"heldout_correct": np.repeat(~wrong, 8), "heldout_inputs": np.repeat(inputs, 8)}


def repeats_grouped(random):
    return certified(oversampled(random), repeats="group")["mean_loss"].value < 0.2


def repeats_taken_for_draws(random):
    """Broken: `repeats="natural"` declared for oversampled rows."""
    return certified(oversampled(random), repeats="natural")["holdout"].value < 0.2


def groups_of(random, groups=25):
    """Sizes 1 to 20; whole groups are wrong together, large ones more often."""
    sizes = random.integers(1, 21, size=groups)
    wrong = random.random(groups) < sizes / 60
    return {"heldout_correct": np.repeat(~wrong, sizes), "heldout_groups": np.repeat(np.arange(groups), sizes)}


ROWS_TRUTH = float(np.sum(np.arange(1, 21) ** 2) / 60 / np.sum(np.arange(1, 21)))
GROUPS_TRUTH = float(np.mean(np.arange(1, 21)) / 60)


def groups_mean(random):
    return certified(groups_of(random))["mean_loss"].value < GROUPS_TRUTH


def rows_mean(random):
    found = certified(groups_of(random), estimand="rows", max_size=20, order="hash", two_sided=True)
    return outside(found["mean_loss"], ROWS_TRUTH)


def rows_as_independent(random):
    """Broken: rows of one group counted as independent."""
    return certified({"heldout_correct": groups_of(random)["heldout_correct"]})["holdout"].value < ROWS_TRUTH


def slices(random):
    """Whichever slice fails is quoted."""
    names = random.choice(["a", "b", "c"], p=[0.6, 0.3, 0.1], size=120)
    truth = {"a": 0.05, "b": 0.2, "c": 0.5}
    wrong = random.random(120) < np.array([truth[name] for name in names])
    report = certified({"heldout_correct": ~wrong, "heldout_slices": names})
    return any(row.value < truth[row.evidence.label.split()[1]] for row in sliced(report))


def sliced(report):
    return [row for row in report.statements if row.evidence is not None and row.evidence.label.startswith("slice")]


def slices_of_groups(random):
    """Groups with rows in one slice or in both; whole groups are wrong together, those of slice b more often."""
    kinds = random.choice(3, size=30, p=[0.4, 0.4, 0.2])  # a only, b only, both
    wrong = random.random(30) < np.array([0.1, 0.4, 0.25])[kinds]
    rows = np.repeat(np.arange(30), 4)
    names = np.array([["a"] * 4, ["b"] * 4, ["a", "a", "b", "b"]])[kinds].reshape(-1)
    arrays = {"heldout_correct": ~wrong[rows], "heldout_groups": rows, "heldout_slices": names}
    truth = {"a": (0.4 * 0.1 + 0.2 * 0.25) / 0.6, "b": (0.4 * 0.4 + 0.2 * 0.25) / 0.6}
    found = sliced(certified(arrays, order="hash"))
    return any(row.value < truth[row.evidence.label.split()[1]] for row in found)


SIZES = np.arange(1, 11)
TOKENS_TRUTH = float(np.sum(SIZES * SIZES / 5) / np.sum(SIZES))


def tokens(random):
    """Documents of 1 to 10 tokens, long ones harder: the mean over tokens of a log-loss clipped at 3."""
    sizes = random.choice(SIZES, size=30)
    losses = np.where(random.random(30) < 0.2, sizes, 0.0)
    arrays = {"heldout_log_losses": losses, "heldout_sizes": sizes}
    found = certified(arrays, clip=10.0, estimand="rows", max_size=10, order="hash", two_sided=True)["mean_loss"]
    return outside(found, TOKENS_TRUTH)


def smoothed(random):
    """Two tokens a document with p = 1 or p = 1/1000, V = 50: the loss of the predictor smoothed by one percent."""
    p = np.where(random.random((25, 2)) < 0.3, 1e-3, 1.0)
    truth = -0.3 * math.log(0.99e-3 + 0.01 / 50) - 0.7 * math.log(0.99 + 0.01 / 50)
    arrays = {"heldout_log_losses": -np.log(p).mean(axis=1)}
    return certified(arrays, classes=50, order="hash")["mean_loss"].value < truth


def best_of(models, paid):
    """An analyst scores equal models, all fixed beforehand, and certifies the one with the fewest errors."""

    def experiment(random):
        errors = int((random.random((models, 100)) < 0.2).sum(axis=1).min())
        correct = np.arange(100) >= errors
        return certified({"heldout_correct": correct}, models=models if paid else 1)["holdout"].value < 0.2

    return experiment


def looks_again(random):
    """Broken: certify after every batch, stop when the number is pleasing."""
    wrong = random.random(1000) < 0.1
    looks = np.unique(np.geomspace(20, 1000, 15).astype(int)).tolist()
    return any(certified({"heldout_correct": ~wrong[:n]})["holdout"].value < 0.1 for n in looks)


def range_read_off(random):
    """Broken: the largest loss seen declared to be the largest possible."""
    x, truth = rare(random, 30)
    return (
        certified({"heldout_losses": x}, range=(0.0, max(float(x.max()), 1e-3)), order="hash")["mean_loss"].value
        < truth
    )


def best_of_shuffles(random):
    """Broken: twelve shuffles, the best is quoted."""
    x, truth = (random.random(40) < 0.4).astype(float), 0.4
    return min(mean_limits(random.permutation(x), DELTA, order="given").upper for _ in range(12)) < truth


def normal_limit(random):
    """Broken: mean + 1.28 standard errors of a skewed loss."""
    x, truth = rare(random, 60)
    return x.mean() + 1.2816 * x.std() / math.sqrt(60) < truth


def judge_and_humans(random):
    """A third of the items has a human label; the judge finds most errors, and is said to beforehand."""
    truth = random.random(48) < 0.2
    judge = np.where(truth, random.random(48) < 0.85, random.random(48) < 0.05).astype(float)
    human = [("wrong" if one else "right") if place < 16 else "" for place, one in enumerate(truth)]
    said = {"human": "human", "judge": "judge", "labelled": "random", "expect": 0.95, "correlation": 0.9}
    arrays = {"id": ids_of(random, 48), "human": human, "judge": judge}
    return outside(certified(arrays, two_sided=True, better="lower", judging=said)["mean_loss"], 0.2)


# Pairs: compare


def pair(random, n, p10, p01):
    u = random.random(n)
    return u >= p10, (u < p10) | (u >= p10 + p01)


def compared(*correct, groups=None, **options):
    ids = np.arange(len(correct[0]))
    more = {} if groups is None else {"heldout_groups": groups}
    files = [file_of(f"{at}", heldout_correct=one, heldout_ids=ids, **more) for at, one in enumerate(correct)]
    return certiformer.compare(*files, delta=DELTA, declaration={"order": "hash"}, **options)


def paired(p10, p01, n=30):
    def experiment(random):
        low, high = compared(*pair(random, n, p10, p01))[0].interval
        return not low <= p10 - p01 <= high

    return experiment


def paired_groups(random):
    """Groups of 4 in which both models are right or wrong together."""
    a, b = pair(random, 25, 0.3, 0.2)
    found = compared(np.repeat(a, 4), np.repeat(b, 4), groups=np.repeat(np.arange(25), 4))[0]
    low, high = found.interval
    return not low <= 0.1 <= high


def pairs_as_independent(random):
    """Broken: the rows of groups compared as items."""
    a, b = pair(random, 25, 0.3, 0.3)
    low, high = compared(np.repeat(a, 4), np.repeat(b, 4))[0].interval
    return not low <= 0 <= high


def not_inferior(random):
    """B is 0.1 worse: to say that it is at most 0.09 worse is false."""
    a, b = pair(random, 40, 0.05, 0.15)
    return "is at most" in compared(a, b, margin=0.09)[0].verdict


def four_models(random):
    """Three equal models against the reference; any of them said to be better or worse is false."""
    models = [random.random(25) >= 0.2 for _ in range(4)]
    return any(not one.interval[0] <= 0 <= one.interval[1] for one in compared(*models))


def signs(random):
    a, b = pair(random, 60, 0.3, 0.3)
    return compared(a, b)[0].p <= DELTA


def best_of_ten_models(random):
    """Broken: ten equal models against a reference, the best is said to be better without paying."""
    reference = random.random(300) < 0.2
    tests = []
    for _ in range(10):
        model = random.random(300) < 0.2
        tests.append(sign_test(int(np.sum(model & ~reference)), int(np.sum(reference & ~model))).b_worse)
    return min(tests) <= DELTA


# Streams: watch


def watched(values, **options):
    path = Path(_FOLDER.name) / "stream.txt"
    path.write_text("\n".join(map(repr, values.tolist())) + "\n")
    return [one.as_json() for one in certiformer.watch(path, delta=DELTA, **options)]


RATES = {"constant": np.full(200, 0.2), "step": np.repeat([0.05, 0.4], 100), "ramp": np.linspace(0.4, 0.05, 200)}


def watched_limits(shape):
    """The limits are those of the average of the rates so far, whatever these did."""

    def experiment(random):
        found = watched((random.random(200) < RATES[shape]).astype(int), every=25)
        averages = np.cumsum(RATES[shape]) / np.arange(1, 201)
        return any(not one["lower"] <= averages[one["n"] - 1] <= one["upper"] for one in found)

    return experiment


def watched_change(random):
    """A rate that is constant is said to have changed."""
    return watched((random.random(200) < 0.2).astype(int), every=200)[-1]["changed_at"] is not None


def watched_losses(random):
    """Losses whose mean falls: uniform up to twice the mean of their time."""
    means = np.linspace(0.4, 0.05, 80)
    found = watched(2.0 * means * random.random(80), every=20, declaration={"range": (0.0, 1.0)})
    averages = np.cumsum(means) / np.arange(1, 81)
    return any(not one["lower"] <= averages[one["n"] - 1] <= one["upper"] for one in found)


def intersected(random):
    """Broken: limits of all times together, as if the average of a stream that changes stayed where it was."""
    found = watched((random.random(200) < RATES["step"]).astype(int), every=25)
    lower, upper = max(one["lower"] for one in found), min(one["upper"] for one in found)
    return not lower <= float(np.mean(RATES["step"])) <= upper


def watched_alarm(random):
    return watched((random.random(1500) < 0.05).astype(int), certified=0.05, every=500)[-1]["alarm"]


def sequence_of_rates(random):
    """The analyst looks after every example and stops at the worst moment."""
    counts = np.cumsum(random.random(1500) < 0.05)
    looks = np.unique(np.geomspace(1, 1500, 60).astype(int))
    limits = (anytime_rate_limits(int(counts[n - 1]), int(n), DELTA) for n in looks)
    return any(not low <= 0.05 <= high for low, high in limits)


def sequence_of_losses(random):
    sequence = ConfidenceSequence(DELTA)
    x, truth = arcsine(random, 80)
    sequence.update(x)
    return not sequence.lower <= truth <= sequence.upper


def dependent_stream(random):
    """Conditional means at most p0, but decided by the past."""
    watch = Monitor(0.05, DELTA)
    u = random.random(2000)
    x = np.zeros(2000)
    rate = 0.05
    for t in range(2000):
        x[t] = u[t] < rate
        rate = 0.05 if x[max(0, t - 20) : t + 1].sum() > 1 else 0.04
    return watch.update(x)


def peeking(random):
    """Broken: the exact limits of a fixed n, looked at again and again."""
    counts = np.cumsum(random.random(1500) < 0.05)
    looks = np.unique(np.geomspace(20, 1500, 15).astype(int))
    found = (rate_limits(int(counts[n - 1]), int(n), DELTA, two_sided=True) for n in looks)
    return any(not limits.lower <= 0.05 <= limits.upper for limits in found)


def uncorrected_alarm(random):
    """Broken: an exact test every hundred examples."""
    from scipy.stats import binom

    counts = np.cumsum(random.random(3000) < 0.05)[99::100]
    return np.any(binom.sf(counts - 1, 100 * np.arange(1, 31), 0.05) <= DELTA)


# Abstention: the risk just above alpha everywhere, a bump, ties


def selected(conf, wrong, **options):
    path = file_of("select", heldout_correct=~wrong, heldout_confidences=conf)
    return json.loads(printed(select_verb.select, source=path, error=0.1, delta=DELTA, **options))


def abstaining(risk_at, truth, ties=False, **options):
    def experiment(random):
        conf = random.random(400)
        if ties:
            conf = np.round(conf, 1)
        found = selected(conf, random.random(400) < risk_at(conf), **options)
        return found["threshold"] is not None and truth(float(found["threshold"])) > 0.1

    return experiment


def just_above(conf):
    return np.full(len(conf), 0.105)


def bump(conf):
    """Wrong at the top: P(error | conf > t) is 0.3 x 0.1/(1 - t) below t = 0.9, and 0.3 above."""
    return np.where(conf > 0.9, 0.3, 0.05)


def bump_truth(t):
    t = max(t, 0.0)
    return 0.3 if t >= 0.9 else (0.3 * 0.1 + 0.05 * (0.9 - t)) / (1 - t)


def most_generous(random):
    """Broken: the largest coverage whose observed error is at most alpha."""
    conf = random.random(400)
    wrong = random.random(400) < 0.11
    falling = wrong[np.argsort(-conf)]
    rates = np.cumsum(falling) / np.arange(1, 401)
    return bool(np.any(rates[20:] <= 0.1))


# Plans


@cache
def planned():
    """plan --error 0.2 --expect 0.1"""
    return json.loads(printed(plan_verb.plan, error=0.2, confidence=1 - DELTA, expect=0.1))


@cache
def planned_for_pairs():
    return plan_pairs(0.25, 0.05, DELTA)


def promise(rate):
    """Whether the planned number of labels, drawn at this rate, ends with the certificate that was planned for."""

    def experiment(random):
        correct = random.random(planned()["n"]) >= rate
        return certified({"heldout_correct": correct})["holdout"].value <= 0.2

    return experiment


def planned_failure(random):
    """At the expected rate the plan fails in at most a fifth: thinned by a half that is at most DELTA."""
    return not promise(0.1)(random) and random.random() < 0.5


def planned_pairs(random):
    """A plan for two models that differ by 0.2: fails in at most a fifth, thinned by a half."""
    a, b = pair(random, planned_for_pairs().n, 0.25, 0.05)
    return compared(a, b)[0].p > DELTA and random.random() < 0.5


VALID = {
    "certify: rate, two-sided": rate,
    "certify: mean, rare": mean(rare, 25, "average", "upper"),
    "certify: mean, levels": mean(levels, 25, "average", "lower"),
    "certify: mean, coin": mean(coin, 25, "hash", "upper"),
    "certify: mean, arcsine": mean(arcsine, 25, "hash", "upper"),
    "certify: mean, near one": mean(near_one, 25, "hash", "lower"),
    "certify: mean, two-sided": both_limits,
    "certify: two metrics": two_metrics,
    "certify: clipped": clipped,
    "certify: a sorted file with ids": sorted_file_with_ids,
    "certify: repeats, grouped": repeats_grouped,
    "certify: mean over groups": groups_mean,
    "certify: mean over rows": rows_mean,
    "certify: slices": slices,
    "certify: slices of groups": slices_of_groups,
    "certify: tokens": tokens,
    "certify: smoothed log-loss": smoothed,
    "certify: best of 5 models, paid": best_of(5, True),
    "compare: .2 .2": paired(0.2, 0.2),
    "compare: .1 0": paired(0.1, 0.0),
    "compare: groups": paired_groups,
    "compare: non-inferiority": not_inferior,
    "compare: four models": four_models,
    "compare: sign test": signs,
    **{f"watch: limits, {shape} rate": watched_limits(shape) for shape in RATES},
    "watch: it changed": watched_change,
    "watch: losses": watched_losses,
    "watch: alarm": watched_alarm,
    "watch: adaptive stop": sequence_of_rates,
    "watch: losses, arcsine": sequence_of_losses,
    "watch: dependent stream": dependent_stream,
    "select: counts": abstaining(just_above, lambda _: 0.105),
    "select: thresholds": abstaining(just_above, lambda _: 0.105, thresholds="0.6,0.4,0.2,0.0"),
    "select: ties": abstaining(just_above, lambda _: 0.105, ties=True),
    "select: confidently wrong": abstaining(bump, bump_truth),
    "plan: false promise": promise(0.2001),
    "plan: chance of success": planned_failure,
    "plan: pairs": planned_pairs,
}
LONG = {
    **VALID,
    "certify: human labels and a judge": judge_and_humans,
    **{
        f"certify: mean, {name}, n = 80, {order}, {side}": mean(law, 80, order, side)
        for name, law in LAWS.items()
        for order, side in (("hash", "upper"), ("hash", "lower"))
    },
}
BROKEN = {
    "rows as independent": rows_as_independent,
    "repeats taken for draws": repeats_taken_for_draws,
    "best of 10 models, unpaid": best_of(10, False),
    "certify until it pleases": looks_again,
    "the range read off the losses": range_read_off,
    "pairs of groups as items": pairs_as_independent,
    "best of shuffles": best_of_shuffles,
    "normal limit": normal_limit,
    "best of ten against a reference": best_of_ten_models,
    "peeking": peeking,
    "limits of a changing stream, intersected": intersected,
    "uncorrected alarm": uncorrected_alarm,
    "most generous threshold": most_generous,
}

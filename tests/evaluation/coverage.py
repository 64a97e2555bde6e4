"""Populations whose truth is known, and procedures applied to samples of them through the public functions.

Each experiment takes a generator and says whether what was claimed is false. `VALID` ones may be false in at most a
fraction DELTA of repetitions; `BROKEN` ones break a rule in the way people break it.
"""

import math

import numpy as np

from certiformer.evaluation import (
    ConfidenceSequence,
    Monitor,
    anytime_rate_limits,
    choose_threshold,
    mean_limits,
    paired_limits,
    rate_limits,
    sign_test,
    units_of,
)

DELTA = 0.1


def judged(experiment, repetitions, seed=0):
    """Failures, and the probability of as many or more at failure rate DELTA."""
    from scipy.stats import binom

    failures = sum(bool(experiment(np.random.default_rng([seed, index]))) for index in range(repetitions))
    return failures, float(binom.sf(failures - 1, repetitions, DELTA))


# Losses: skewed, atomic, rare, near both ends


def rare(random, n):
    return np.where(random.random(n) < 0.02, random.uniform(0.5, 1.0, n), 0.0), 0.015


def levels(random, n):
    return random.choice([0, 0.25, 0.5, 1.0], p=[0.7, 0.15, 0.1, 0.05], size=n), 0.1375


def coin(random, n):
    return (random.random(n) < 0.1).astype(float), 0.1


def skewed(random, n):
    return random.beta(0.5, 0.5, n), 0.5


def high(random, n):
    return 1.0 - (random.random(n) < 0.05) * 0.9, 1 - 0.045


LAWS = {"rare": rare, "levels": levels, "coin": coin, "arcsine": skewed, "near one": high}


def mean(law, n, order, side):
    def experiment(random):
        x, truth = law(random, n)
        ids = [str(v) for v in random.integers(2**60, size=n)] if order == "hash" else None
        found = mean_limits(3 * x - 1, DELTA, -1, 2, order=order, ids=ids)
        return found.upper < 3 * truth - 1 if side == "upper" else found.lower > 3 * truth - 1

    return experiment


def two_sided(random):
    x, truth = levels(random, 25)
    found = mean_limits(x, DELTA, two_sided=True, order="given")
    return not found.lower <= truth <= found.upper


def sorted_file_with_ids(random):
    """The file was sorted by its losses after scoring; ids given at drawing restore an honest order."""
    x, truth = coin(random, 30)
    ids = np.array([str(v) for v in random.integers(2**60, size=30)])
    rank = np.argsort(x, kind="stable")
    return mean_limits(x[rank], DELTA, ids=ids[rank].tolist(), order="hash").upper < truth


def groups_of(random, groups=25):
    """Sizes 1 to 20; whole groups tend to be wrong together, large ones more often."""
    sizes = random.integers(1, 21, size=groups)
    wrong = random.random(groups) < sizes / 60
    rows = np.repeat(np.arange(groups), sizes)
    return np.repeat(wrong, sizes).astype(float), rows, sizes


ROWS_TRUTH = float(np.sum(np.arange(1, 21) ** 2) / 60 / np.sum(np.arange(1, 21)))
GROUPS_TRUTH = float(np.mean(np.arange(1, 21)) / 60)


def groups_mean(random):
    x, rows, _ = groups_of(random)
    units = units_of(x, rows.tolist())
    return mean_limits(units.losses, DELTA, ids=units.ids).upper < GROUPS_TRUTH


def rows_mean(random):
    x, rows, _ = groups_of(random)
    units = units_of(x, rows.tolist(), estimand="rows", max_size=20)
    return mean_limits(units.losses, DELTA, weights=units.weights, order="given").upper < ROWS_TRUTH


def rows_as_independent(random):
    """Broken: rows of one group counted as independent."""
    x, _, _ = groups_of(random)
    return rate_limits(int(x.sum()), len(x), DELTA).upper < ROWS_TRUTH


def best_of_shuffles(random):
    """Broken: twelve shuffles, the best is quoted."""
    x, truth = (random.random(40) < 0.4).astype(float), 0.4
    return min(mean_limits(random.permutation(x), DELTA, order="given").upper for _ in range(12)) < truth


def normal_limit(random):
    """Broken: mean + 1.28 standard errors of a skewed loss."""
    x, truth = rare(random, 60)
    return x.mean() + 1.2816 * x.std() / math.sqrt(60) < truth


# Pairs


def pair(random, n, p10, p01):
    u = random.random(n)
    return (u < p10).astype(float), ((u >= p10) & (u < p10 + p01)).astype(float)


def paired(p10, p01, n=30):
    def experiment(random):
        a, b = pair(random, n, p10, p01)
        found = paired_limits(a, b, DELTA, order="given")
        return not found.lower <= p10 - p01 <= found.upper

    return experiment


def signs(random):
    a, b = pair(random, 200, 0.1, 0.1)
    return sign_test(int(np.sum(a > b)), int(np.sum(b > a))).two_sided <= DELTA


def best_of_ten_models(random):
    """Broken: ten equal models against a reference, the best is said to be better without paying."""
    reference = random.random(300) < 0.2
    tests = []
    for _ in range(10):
        model = random.random(300) < 0.2
        tests.append(sign_test(int(np.sum(model & ~reference)), int(np.sum(reference & ~model))).b_worse)
    return min(tests) <= DELTA


# Streams


def sequence_of_rates(random):
    outcomes = random.random(1500) < 0.05
    counts = np.cumsum(outcomes)
    looks = np.unique(np.geomspace(1, 1500, 60).astype(int))
    limits = (anytime_rate_limits(int(counts[n - 1]), int(n), DELTA) for n in looks)
    return any(not low <= 0.05 <= high for low, high in limits)


def sequence_of_losses(random):
    sequence = ConfidenceSequence(DELTA)
    x, truth = levels(random, 80)
    sequence.update(x)
    return not sequence.lower <= truth <= sequence.upper


def peeking(random):
    """Broken: the exact limits of a fixed n, looked at again and again."""
    counts = np.cumsum(random.random(1500) < 0.05)
    looks = np.unique(np.geomspace(20, 1500, 15).astype(int))
    found = (rate_limits(int(counts[n - 1]), int(n), DELTA, two_sided=True) for n in looks)
    return any(not limits.lower <= 0.05 <= limits.upper for limits in found)


def quiet_stream(random):
    return Monitor(0.05, DELTA).update(random.random(3000) < 0.05)


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


def uncorrected_alarm(random):
    """Broken: an exact test every hundred examples."""
    from scipy.stats import binom

    counts = np.cumsum(random.random(3000) < 0.05)[99::100]
    return np.any(binom.sf(counts - 1, 100 * np.arange(1, 31), 0.05) <= DELTA)


# Abstention: the risk just above alpha everywhere, a bump, ties


def abstaining(risk_at, truth, thresholds=None, ties=False):
    def experiment(random):
        conf = random.random(400)
        if ties:
            conf = np.round(conf, 1)
        wrong = random.random(400) < risk_at(conf)
        found = choose_threshold(conf, wrong, 0.1, DELTA, thresholds)
        return found.threshold is not None and truth(found.threshold) > 0.1

    return experiment


def just_above(conf):
    return np.full(len(conf), 0.105)


def most_generous(random):
    """Broken: the largest coverage whose observed error is at most alpha."""
    conf = random.random(400)
    wrong = random.random(400) < 0.11
    falling = wrong[np.argsort(-conf)]
    rates = np.cumsum(falling) / np.arange(1, 401)
    return bool(np.any(rates[20:] <= 0.1))


VALID = {
    "mean, rare": mean(rare, 25, "average", "upper"),
    "mean, levels": mean(levels, 25, "average", "lower"),
    "mean, coin": mean(coin, 25, "hash", "upper"),
    "mean, arcsine": mean(skewed, 25, "given", "upper"),
    "mean, near one": mean(high, 25, "given", "lower"),
    "mean, two-sided": two_sided,
    "a sorted file with ids": sorted_file_with_ids,
    "mean over groups": groups_mean,
    "mean over rows": rows_mean,
    "pairs .2 .2": paired(0.2, 0.2),
    "pairs .1 0": paired(0.1, 0.0),
    "sign test": signs,
    "sequence of rates": sequence_of_rates,
    "sequence of losses": sequence_of_losses,
    "monitor": quiet_stream,
    "monitor, dependent": dependent_stream,
    "abstain, counts": abstaining(just_above, lambda _: 0.105),
    "abstain, thresholds": abstaining(just_above, lambda _: 0.105, [0.6, 0.4, 0.2, 0.0]),
    "abstain, ties": abstaining(just_above, lambda _: 0.105, ties=True),
}
LONG = {
    **VALID,
    **{
        f"mean, {name}, {order}, {side}": mean(law, 80, order, side)
        for name, law in LAWS.items()
        for order, side in (("average", "upper"), ("hash", "upper"), ("given", "lower"))
    },
}
BROKEN = {
    "rows as independent": rows_as_independent,
    "best of shuffles": best_of_shuffles,
    "normal limit": normal_limit,
    "best of ten models": best_of_ten_models,
    "peeking": peeking,
    "uncorrected alarm": uncorrected_alarm,
    "most generous threshold": most_generous,
}

"""Each certificate: coverage by simulation or enumeration, orderings, and what breaks when a price is not paid."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import certiformer
from certiformer.theory.calculus.tails import binary_kl, binomial_upper, kl_inverse
from certiformer.theory.core.errors import InputError

DELTA = 0.1


def value(id, **inputs):
    return certiformer.bound(id, **inputs).sound["value"].value


def allowed(trials):
    """Three standard errors above delta."""
    return trials * DELTA + 3 * math.sqrt(trials * DELTA * (1 - DELTA))


@pytest.mark.independent("holdout")
def test_holdout_of_the_best_of_several_models():
    # Twenty models, all with risk 0.3, the best one reported: unpaid it fails often, paid it does not.
    rng = np.random.default_rng(0)
    limits = {
        k: (value("holdout", errors=k, n=50, delta=DELTA), value("holdout", errors=k, n=50, delta=DELTA, models=20))
        for k in range(51)
    }
    unpaid = paid = 0
    for _ in range(500):
        best = int(rng.binomial(50, 0.3, 20).min())
        unpaid += limits[best][0] < 0.3
        paid += limits[best][1] < 0.3
    assert unpaid > 200
    assert paid <= allowed(500)


@pytest.mark.property_of("holdout")
@given(errors=st.integers(0, 200), delta=st.floats(0.001, 0.5))
def test_holdout_shrinks_to_the_error_rate(errors, delta):
    assert errors / 200 < value("holdout", errors=errors, n=200, delta=delta) or errors == 200
    assert value("holdout", errors=errors, n=200, delta=delta) >= value(
        "holdout", errors=100 * errors, n=20000, delta=delta
    )


@pytest.mark.independent("betting")
def test_betting_through_the_front_door_and_on_another_scale():
    losses = [0.1, 0.4, 0.0, 0.2] * 50
    assert value("betting", losses=losses, delta=0.05) < 0.35
    stretched = [10 * loss - 2 for loss in losses]
    assert value("betting", losses=stretched, delta=0.05, low=-2, high=8) == pytest.approx(
        10 * value("betting", losses=losses, delta=0.05) - 2, rel=1e-9
    )


@pytest.mark.property_of("betting")
def test_betting_refuses_a_learner_that_changes_and_a_range_that_is_none():
    with pytest.raises(InputError, match="progressive"):
        certiformer.bound("betting", losses=[0.1], delta=0.05, progressive=True)
    with pytest.raises(InputError, match="high"):
        certiformer.bound("betting", losses=[0.1], delta=0.05, low=1, high=1)


@pytest.mark.independent("occam")
def test_occam_holds_for_every_predictor_at_once():
    # Eight predictors with a geometric prior and adversarial choice among them.
    rng = np.random.default_rng(1)
    prior = 0.5 ** np.arange(1, 9)
    risks = rng.uniform(0.1, 0.5, 8)
    limits = [[value("occam", errors=k, n=30, delta=DELTA, code_length=-math.log(p)) for k in range(31)] for p in prior]
    missed = sum(any(limits[h][int(rng.binomial(30, risks[h]))] < risks[h] for h in range(8)) for _ in range(400))
    assert missed <= allowed(400)


@pytest.mark.property_of("occam")
def test_occam_without_a_message_is_a_holdout():
    assert value("occam", errors=3, n=100, delta=0.05, code_length=0) == value("holdout", errors=3, n=100, delta=0.05)
    assert value("occam", errors=3, n=100, delta=0.05, code_length=math.log(7)) == pytest.approx(
        value("holdout", errors=3, n=100, delta=0.05, models=7)
    )


@pytest.mark.independent("pacbayes.gibbs")
def test_the_constant_of_pac_bayes_by_enumeration():
    # E exp(n kl(k/n || p)) <= 2 sqrt(n), the inequality everything rests on.
    for n, p in itertools.product((1, 2, 5, 20, 100), (0.01, 0.3, 0.5, 0.9)):
        total = sum(
            math.comb(n, k) * p**k * (1 - p) ** (n - k) * math.exp(n * binary_kl(k / n, p)) for k in range(n + 1)
        )
        assert total <= 2 * math.sqrt(n) * (1 + 1e-12)


@pytest.mark.property_of("pacbayes.gibbs")
def test_gibbs_inverts_its_own_inequality_and_monte_carlo_costs():
    bound = value("pacbayes.gibbs", error=0.02, n=1000, KL=5.0, delta=0.05)
    assert binary_kl(0.02, bound) == pytest.approx((5 + math.log(2 * math.sqrt(1000) / 0.05)) / 1000)
    sampled = value("pacbayes.gibbs", error=0.02, n=1000, KL=5.0, delta=0.05, pairs=10_000)
    assert sampled > bound
    assert value("pacbayes.gibbs", error=0.02, n=1000, KL=5.0, delta=0.05, pairs=10_000_000) < sampled


@pytest.mark.independent("pacbayes.single")
def test_the_best_of_many_draws_must_be_paid_for():
    # Q = P, every hypothesis has risk 0.3: the best of 2,000 draws looks good by chance.
    rng = np.random.default_rng(2)
    n, draws = 100, 2000
    one = [value("pacbayes.single", errors=k, n=n, log_ratio=0, delta=DELTA) for k in range(n + 1)]
    many = [value("pacbayes.single", errors=k, n=n, log_ratio=0, delta=DELTA, draws=draws) for k in range(n + 1)]
    best = rng.binomial(n, 0.3, (300, draws)).min(axis=1)
    single = rng.binomial(n, 0.3, 300)
    assert sum(one[k] < 0.3 for k in best) > 150
    assert sum(many[k] < 0.3 for k in best) <= allowed(300)
    assert sum(one[k] < 0.3 for k in single) <= allowed(300)


@pytest.mark.property_of("pacbayes.single")
def test_single_draw_never_beats_the_holdout_when_posterior_is_prior():
    for k in (0, 3, 40):
        assert value("pacbayes.single", errors=k, n=200, log_ratio=0, delta=0.05) > value(
            "holdout", errors=k, n=200, delta=0.05
        )
    assert value("pacbayes.single", errors=3, n=200, log_ratio=-1000, delta=0.05) == pytest.approx(0.015, rel=1e-6)


@pytest.mark.independent("margin")
def test_margin_covers_with_an_explicit_cover():
    # f(x) = w x on [-1, 1], |w| <= 1, cover of w at gamma/2; labels are noisy; all w at once.
    rng = np.random.default_rng(3)
    n, gamma, noise = 60, 0.2, 0.2
    size = math.ceil(1 / (gamma / 2))
    weights = np.linspace(-1, 1, 41)
    limits = [value("margin", margin_errors=k, n=n, delta=DELTA, logN=math.log(size)) for k in range(n + 1)]
    missed = 0
    for _ in range(300):
        x = rng.uniform(-1, 1, n)
        y = np.sign(x) * np.where(rng.random(n) < noise, -1, 1)
        for w in weights:
            risk = noise if w > 0 else 1 - noise if w < 0 else 1.0
            if limits[int(np.sum(y * w * x <= gamma))] < risk:
                missed += 1
                break
    assert missed <= allowed(300)


@pytest.mark.property_of("margin")
def test_a_cover_on_the_sample_is_refused():
    with pytest.raises(InputError, match="sample"):
        certiformer.bound("margin", margin_errors=0, n=100, delta=0.05, logN=69.3, sample_cover=True)
    # What it would have certified: the class of all sign patterns on the sample, wrong everywhere else.
    assert value("margin", margin_errors=0, n=100, delta=0.05, logN=100 * math.log(2)) < 0.52


@pytest.mark.property_of("margin")
def test_margin_counts_nats_like_occam():
    assert value("margin", margin_errors=4, n=500, delta=0.05, logN=20, paid=3) == pytest.approx(
        value("occam", errors=4, n=500, delta=0.05, code_length=23)
    )
    assert value("margin", margin_errors=4, n=500, delta=0.05, logN=423) < 1.0


@pytest.mark.independent("disagreement")
def test_disagreement_covers():
    rng = np.random.default_rng(4)
    missed = 0
    for _ in range(400):
        errors, differ = int(rng.binomial(100, 0.1)), int(rng.binomial(100, 0.05))
        missed += value("disagreement", errors=errors, n=100, disagreements=differ, unlabelled=100, delta=DELTA) < 0.15
    assert missed <= allowed(400)


@pytest.mark.property_of("disagreement")
def test_disagreement_adds_its_two_parts():
    bound = certiformer.bound("disagreement", errors=3, n=300, disagreements=2, unlabelled=900, delta=0.05).sound[
        "value"
    ]
    assert sum(bound.terms.values()) == pytest.approx(bound.value)
    assert bound.terms["risk of h1"] == pytest.approx(value("holdout", errors=3, n=300, delta=0.025))


@pytest.mark.independent("progressive")
def test_progressive_covers_a_learner_that_stops_when_it_suits():
    # Keep risk 0.2 until the running bound is exceeded, then be perfect: the worst an adaptive learner can do.
    rng = np.random.default_rng(5)
    n, missed = 400, 0
    for _ in range(200):
        losses = (rng.random(n) < 0.2).astype(float)
        seen = np.cumsum(losses)
        for stop in range(20, n + 1, 20):
            truth, mean = 0.2 * stop / n, float(seen[stop - 1]) / n
            if value("progressive", mean_loss=mean, n=n, delta=DELTA) < truth:
                missed += 1
                break
    assert missed <= allowed(200)


@pytest.mark.property_of("progressive")
def test_progressive_lies_above_what_was_seen_and_azuma_is_not_free():
    evaluation = certiformer.bound("progressive", mean_loss=0.4, n=1000, delta=0.05)
    assert evaluation.sound["value"].value > 0.4
    assert evaluation.best == "value"
    assert not evaluation.sound["azuma"].applies


@pytest.mark.parametrize(
    ("id", "inputs"),
    [
        ("holdout", {"errors": 5, "n": 4, "delta": 0.1}),
        ("occam", {"errors": 5, "n": 4, "delta": 0.1, "code_length": 1}),
        ("pacbayes.single", {"errors": 5, "n": 4, "delta": 0.1, "log_ratio": 1}),
        ("margin", {"margin_errors": 5, "n": 4, "delta": 0.1, "logN": 1}),
        ("disagreement", {"errors": 5, "n": 4, "disagreements": 1, "unlabelled": 4, "delta": 0.1}),
        ("disagreement", {"errors": 1, "n": 4, "disagreements": 5, "unlabelled": 4, "delta": 0.1}),
    ],
)
def test_more_errors_than_examples(id, inputs):
    with pytest.raises(InputError, match="at most"):
        certiformer.bound(id, **inputs)


@pytest.mark.parametrize(
    ("id", "inputs"),
    [
        ("holdout", {"errors": 9, "n": 9, "delta": 0.1}),
        ("occam", {"errors": 9, "n": 9, "delta": 0.1, "code_length": 1}),
        ("pacbayes.single", {"errors": 9, "n": 9, "delta": 0.1, "log_ratio": 1}),
        ("pacbayes.gibbs", {"error": 1, "n": 9, "delta": 0.1, "KL": 1}),
        ("margin", {"margin_errors": 9, "n": 9, "delta": 0.1, "logN": 1}),
        ("disagreement", {"errors": 9, "n": 9, "disagreements": 4, "unlabelled": 4, "delta": 0.1}),
        ("progressive", {"mean_loss": 1, "n": 9, "delta": 0.1}),
    ],
)
def test_a_rate_is_never_above_one(id, inputs):
    for bound in certiformer.bound(id, **inputs).sound.values():
        assert bound.value == 1.0
        assert bound.trivial == 1.0


def test_prices_by_hand():
    share = 0.1 * 0.05
    limit = binomial_upper(200, 10_000, math.log(share))
    budget = (5 + math.log(2 * math.sqrt(1000) / (0.05 - share))) / 1000
    sampled = value("pacbayes.gibbs", error=0.02, n=1000, KL=5.0, delta=0.05, pairs=10_000)
    assert sampled == pytest.approx(kl_inverse(limit, budget), rel=1e-9)
    single = value("pacbayes.single", errors=20, n=1000, log_ratio=2.0, delta=0.05, draws=3)
    expected = kl_inverse(0.02, (2 + math.log(2 * math.sqrt(1000) * 3 / 0.05)) / 1000)
    assert single == pytest.approx(expected, rel=1e-9)
    half = math.log(0.025)
    both = binomial_upper(3, 300, half) + binomial_upper(2, 900, half)
    assert value("disagreement", errors=3, n=300, disagreements=2, unlabelled=900, delta=0.05) == pytest.approx(both)


def test_a_budget_below_zero_is_no_credit():
    # ln(2 sqrt(n)/delta) can be outweighed by a negative log ratio, never by more than all of it.
    assert value("pacbayes.gibbs", error=0.25, n=1, KL=0.0, delta=0.999) >= 0.25
    assert (
        certiformer.bound("pacbayes.single", errors=1, n=4, log_ratio=-50, delta=0.5).sound["value"].terms["budget"]
        == 0.0
    )


@pytest.mark.independent("mean_loss")
def test_mean_loss_misses_no_more_often_than_delta_by_enumeration():
    """All 2^8 binary samples, weighted by their probability: the chance that the limit lies below the rate."""
    n, delta = 8, 0.2
    samples = np.array(list(itertools.product([0.0, 1.0], repeat=n)))
    values = np.array([value("mean_loss", losses=x, delta=delta, order="given") for x in samples])
    for rate in (0.2, 0.35, 0.5, 0.7):
        chances = rate ** samples.sum(1) * (1 - rate) ** (n - samples.sum(1))
        assert chances[values < rate].sum() <= delta


@pytest.mark.property_of("mean_loss")
def test_mean_loss_scales_with_its_range():
    x = np.random.default_rng(0).random(30)
    unit = value("mean_loss", losses=x, delta=0.05)
    wide = value("mean_loss", losses=6 * x - 2, delta=0.05, low=-2, high=4)
    assert wide == pytest.approx(6 * unit - 2, rel=1e-9)


# An untouched model through a surrogate


@pytest.mark.property_of("surrogate")
def test_a_model_through_a_surrogate_costs_the_surrogate_and_every_disagreement():
    def forms(**change):
        found = certiformer.bound("surrogate", **{"errors": 8, "n": 200, "m": 300, "delta": DELTA} | change).sound
        return {name: one.value for name, one in found.items()}

    alone = binomial_upper(8, 200, math.log(DELTA))
    found = [forms(disagreements=apart) for apart in (0, 5, 60)]
    for name in ("split", "joint", "joint_unseen"):
        values = [each[name] for each in found]
        assert alone < values[0] < values[1] < values[2] <= 1.0
    for each, apart in zip(found, (0, 5, 60), strict=True):
        halves = binomial_upper(8, 200, math.log(DELTA / 2)) + binomial_upper(apart, 300, math.log(DELTA / 2))
        assert each["split"] == pytest.approx(halves, rel=1e-9)
        # The target that saw less is certified at least as well.
        assert each["joint_unseen"] <= each["joint"]
    # With endless unlabelled examples only the surrogate is paid for; k picks say nothing of a hold-out that h missed.
    assert forms(disagreements=0, m=10**7)["joint_unseen"] == pytest.approx(alone, rel=1e-3)
    assert "joint_unseen" not in forms(errors=None, k=8, disagreements=0)
    assert forms(disagreements=300) == dict.fromkeys(found[0], 1.0)


# Real losses through a surrogate


@pytest.mark.property_of("surrogate.loss")
def test_a_loss_through_a_surrogate_is_the_sum_of_its_parts():
    losses, excess = [0.1, 0.3, 0.0, 0.2] * 20, [0.0, 0.1, 0.0] * 20
    whole = value("surrogate.loss", losses=losses, excess=excess, delta=0.1, least=0.0)
    parts = [value("mean_loss", losses=each, delta=0.05, order="given") for each in (losses, excess)]
    assert whole == pytest.approx(sum(parts), rel=1e-9)
    # An excess that may be negative has twice the range; picks cost more than a hold-out; more picks cost more.
    assert value("surrogate.loss", losses=losses, excess=excess, delta=0.1) > whole
    picked = [value("surrogate.loss", losses=losses, excess=excess, delta=0.1, least=0.0, k=k) for k in (0, 2, 8)]
    assert whole < picked[0] < picked[1] < picked[2] <= 1.0
    # On another scale, the same.
    stretched = {"losses": [10 * x - 2 for x in losses], "excess": [10 * x for x in excess], "low": -2, "high": 8}
    assert value("surrogate.loss", **stretched, delta=0.1, least=0.0) == pytest.approx(10 * whole - 2, rel=1e-9)


@pytest.mark.property_of("surrogate.loss")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"high": 0.0}, "high"),
        ({"least": -2.0}, "least"),
        ({"losses": [1.5]}, "losses"),
        ({"excess": [-1.5]}, "excess"),
    ],
)
def test_losses_outside_their_range_are_refused(change, words):
    with pytest.raises(InputError, match=words):
        certiformer.bound("surrogate.loss", **{"losses": [0.1], "excess": [0.1], "delta": 0.05, **change})


@pytest.mark.independent("surrogate.loss")
def test_the_mean_loss_of_an_untouched_model_by_enumeration():
    """Three inputs, two labels, an excess at its worst label: of all small samples at most delta fail."""
    # s says 1/2 everywhere (Brier 1/2), h is sure of the wrong label with probability 0.3: Brier 2, excess 3/2.
    n, m, rate = 4, 12, 0.3
    limits = [
        value("surrogate.loss", losses=[0.5] * n, excess=[1.5] * k + [0.0] * (m - k), delta=DELTA, high=2.0, least=0.0)
        for k in range(m + 1)
    ]
    missed = sum(
        math.comb(m, k) * rate**k * (1 - rate) ** (m - k) for k in range(m + 1) if limits[k] < 0.5 + 1.5 * rate
    )
    assert missed <= DELTA


def test_records_with_arrays_are_equal_to_themselves_alone():
    """Simulations keep the certificates of equal records: other losses are another record."""
    from certiformer.certificates.mean_loss import MeanLoss
    from certiformer.certificates.surrogate_loss import SurrogateLoss

    for kind, more in ((MeanLoss, {}), (SurrogateLoss, {"excess": np.zeros(3)})):
        one, other = (kind(losses=np.array([loss]), **more) for loss in (0.1, 0.2))
        assert one == one
        assert one != other
        assert hash(one) != hash(other)

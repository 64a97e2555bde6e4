"""Certificates against n: truth by enumeration, prices recomputed, winners planted and found."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom

from certiformer.certificates.holdout import HoldOut
from certiformer.certificates.occam import Occam
from certiformer.certificates.pacbayes_gibbs import Gibbs
from certiformer.certificates.pacbayes_single import SingleDraw
from certiformer.certification.coordinates import majority as recipe
from certiformer.experiments import _certificate_runs as runs
from certiformer.experiments import _certificates_encoder as mnist_recipe
from certiformer.experiments import _certificates_majority as majority
from certiformer.experiments import _certificates_mnist as mnist
from certiformer.experiments import certificates, find
from certiformer.experiments._certificate_cells import LETTERS, RIVALS, TITLES, cells
from certiformer.sweep import Row
from certiformer.tasks.sparse_majority import sparse_majority

SMALL = {
    "task": "sparse majority",
    "n": 64,
    "seed": 3,
    "delta": 0.05,
    "tokens": 20,
    "restarts": 2,
    "match_steps": 20,
    "posterior_noise": 0.03,
    "posterior_steps": 5,
}


@pytest.fixture(scope="module")
def ten() -> tuple[Any, recipe.Coordinates]:
    """A task of ten bits, all of whose inputs can be listed."""
    task = sparse_majority(jax.random.key(5), n=400, tokens=10, relevant=5, embedded=False)
    return task, recipe.coordinates(task.source, 1e-5)


def listed(tokens: int) -> np.ndarray:
    """Every input in the order of the table: the second half of the bits runs fastest."""
    k = tokens // 2
    first, second = majority.patterns(k), majority.patterns(tokens - k)
    return np.hstack([np.repeat(first, len(second), axis=0), np.tile(second, (len(first), 1))])


def test_truth_is_the_average_over_all_inputs(ten: tuple[Any, recipe.Coordinates]) -> None:
    task, place = ten
    bits = listed(10)
    assert len(np.unique(bits, axis=0)) == 2**10
    truth = majority.all_signs(10, np.asarray(task.source.index_set))
    np.testing.assert_array_equal(truth.ravel(), 2 * np.asarray(task.source.labels(bits)) - 1)
    alpha = np.random.default_rng(0).standard_normal((2, place.dimension))
    by_sequence = recipe.outputs(place, alpha, bits)
    np.testing.assert_allclose(majority.all_outputs(place, alpha).ravel(), by_sequence, rtol=1e-9, atol=1e-12)
    assert majority.risk(place, alpha, truth) == np.mean(truth.ravel() * by_sequence <= 0)


def test_pairs_without_noise_are_the_network(ten: tuple[Any, recipe.Coordinates]) -> None:
    task, place = ten
    bits = np.asarray(task.train.inputs)
    signs = 2.0 * np.asarray(task.train.labels) - 1.0
    alpha = np.random.default_rng(1).standard_normal((2, place.dimension))
    wrong = majority._wrong_pairs(place, alpha, 0.0, bits, signs, np.random.default_rng(0), block=150)
    np.testing.assert_array_equal(wrong, signs * recipe.outputs(place, alpha, bits) <= 0)


def test_the_posterior_lowers_its_own_objective(ten: tuple[Any, recipe.Coordinates]) -> None:
    task, place = ten
    sample = majority.Sample(np.asarray(task.train.inputs), 2.0 * np.asarray(task.train.labels) - 1.0)
    settings, sigma = recipe.Settings(tokens=10), 0.05
    prior = 0.5 * np.random.default_rng(2).standard_normal((2, place.dimension))

    def objective(mean: np.ndarray) -> float:
        losses = np.logaddexp(0.0, -settings.sharpness * sample.signs * recipe.outputs(place, mean, sample.bits))
        return float(np.mean(losses) + np.sum((mean - prior) ** 2) / (2 * sigma**2 * len(losses)))

    assert objective(majority.posterior_mean(settings, place, prior, sample, sigma, 50)) < objective(prior)


@pytest.mark.parametrize("n", [40, 100, 1001, 10_000])
def test_the_pass_scores_every_example_once_and_ends_with_half(n: int) -> None:
    sizes = majority.prefixes(n)
    assert sizes[0] == 0
    assert sizes[-1] == n // 2
    assert all(after in (2 * before, 2 * before + 1) for before, after in itertools.pairwise(sizes[1:]))
    assert min(sizes[1:]) >= majority.FIRST


def test_a_run_is_determined_by_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(majority, "PAIRS", 500)
    monkeypatch.setattr(majority, "FRESH_PAIRS", 500)
    first, again = (runs.run(SMALL).values for _ in range(2))
    assert first == again
    found = first["certificates"]
    assert set(found) == set(LETTERS)
    assert found["holdout"]["examples"] == 32
    assert found["occam"]["examples"] == found["progressive"]["examples"] == 64
    assert found["pacbayes.gibbs"]["joint"] is None
    assert first["best"]["value"] == min(entry["joint"] for entry in found.values() if entry["joint"] is not None)


def test_what_is_paid() -> None:
    """H by inverting the binomial tail once more; O and K1 at their shares."""
    judged = [
        (HoldOut(errors=2, n=50, models=4), 0.03),
        (Occam(errors=1, n=100, code_length=3.0), 0.02),
        (SingleDraw(errors=2, n=50, log_ratio=0.5, models=4), 0.03),
        (Gibbs(error=0.04, n=50, KL=0.7, models=4), 0.03),
    ]
    found = runs.summary(judged, 0.05)
    entries = found["certificates"]
    assert binom.cdf(2, 50, entries["holdout"]["alone"]) == pytest.approx(0.05 / 4, rel=1e-6)
    assert binom.cdf(2, 50, entries["holdout"]["joint"]) == pytest.approx(0.05 / 12, rel=1e-6)
    assert binom.cdf(1, 100, entries["occam"]["joint"]) == pytest.approx(0.05 / 3 * math.exp(-3.0), rel=1e-6)
    assert entries["pacbayes.gibbs"]["joint"] is None
    assert {id: entry["nats"] for id, entry in entries.items()} == pytest.approx(
        {
            "holdout": math.log(4),
            "occam": 3.0,
            "pacbayes.single": math.log(4) + 0.5,
            "pacbayes.gibbs": math.log(4) + 0.7,
        }
    )
    assert found["best"] == {"id": "occam", "value": entries["occam"]["joint"], "price": math.log(3)}


def test_sample_and_fresh_images_do_not_meet() -> None:
    sample, fresh = mnist.division(300, 1)
    assert (len(sample.y), len(fresh.y)) == (300, mnist.POOL - 300)
    assert len(mnist.pool().y) == mnist.POOL == 10_000 + 2_115
    larger, _ = mnist.division(1000, 1)
    np.testing.assert_array_equal(larger.x[:300], sample.x)
    other, _ = mnist.division(300, 2)
    assert not np.array_equal(other.x, sample.x)
    rows = sorted(x.tobytes() for x in np.concatenate([sample.x, fresh.x]))
    assert rows == sorted(x.tobytes() for x in mnist.pool().x)


def test_images_are_counted_as_the_recipe_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an encoder, a codeword and iterates that are known."""
    sample, fresh = mnist.division(40, 0)
    fresh = fresh.take(np.arange(100))
    guesses = [mnist_recipe.model_of(mnist_recipe.initial_weights(mnist_recipe.Settings(), seed)) for seed in (1, 2)]

    def two_iterates(*_: Any, watch: Callable[[Any, int], None], **__: Any) -> np.ndarray:
        watch(guesses[0], 10)
        watch(guesses[1], 30)
        return np.repeat([1, 0], [4, 36])

    monkeypatch.setattr(mnist, "WATCHED", 100)
    monkeypatch.setattr(mnist, "division", lambda n, seed: (sample, fresh))
    monkeypatch.setattr(mnist_recipe, "train_encoder", lambda *_, **__: guesses[0])
    monkeypatch.setattr(mnist_recipe, "occam_codeword", lambda *_, **__: np.zeros(32, np.int64))
    monkeypatch.setattr(mnist_recipe, "progressive_pass", two_iterates)
    config = {"task": "mnist", "n": 40, "seed": 0, "delta": 0.05, **certificates.TINY}
    judged = {record.id: (record, true) for record, true in mnist.judged(config)}
    assert set(judged) == set(LETTERS) - {"margin"}

    def scores(model: Any) -> np.ndarray:
        return np.asarray(mnist_recipe.batched(mnist_recipe.weights_of(model), jnp.asarray(fresh.x)))

    def wrong(model: Any) -> float:
        return float(np.mean(scores(model) * fresh.y <= 0))

    settings, encoder = mnist.settings_of(config), guesses[0]
    losses = -np.log(0.99 / (1 + np.exp(-scores(encoder).astype(float) * fresh.y)) + 0.005)
    assert judged["holdout"][1] == pytest.approx(wrong(encoder))
    assert judged["betting"][1] == pytest.approx(np.mean(losses), rel=1e-4)
    assert judged["occam"][1] == pytest.approx(wrong(mnist_recipe.decode(settings, 0, np.zeros(32, np.int64))))
    assert judged["progressive"][1] == pytest.approx((wrong(guesses[0]) + 3 * wrong(guesses[1])) / 4)
    assert judged["progressive"][0].inputs(0.05)["mean_loss"] == 0.1
    sizes = {id: record.size for id, (record, _) in judged.items()}
    assert sizes == {id: 40 if id in ("occam", "progressive") else 20 for id in judged}


# --- the analysis, on rows with a known answer ------------------------------------------------------------------------


def row(task: str, n: int, seed: int, limits: dict[str, float], true: float = 0.001) -> Row:
    entries = {
        id: {"alone": value, "joint": 1.2 * value, "true": true, "nats": 1.0, "examples": n}
        for id, value in limits.items()
    }
    rivals = {id: entries[id]["joint"] for id in RIVALS if id in entries}
    best = min(rivals, key=lambda id: rivals[id])
    values = {"certificates": entries, "best": {"id": best, "value": rivals[best], "price": math.log(len(rivals))}}
    config = {"task": task, "n": n, "seed": seed, "delta": 0.05}
    return Row(f"{task}{n}{seed}", "certificates", "v", config, "done", values=values)


def planted(task: str, n: int, seed: int) -> Row:
    """H like 3/sqrt(n), O like 300/n: they cross at 10,000."""
    noise = 1.0 + 0.01 * seed
    return row(
        task,
        n,
        seed,
        {
            "holdout": noise * 3 / math.sqrt(n),
            "pacbayes.single": noise * 4 / math.sqrt(n),
            "occam": noise * 300 / n,
            "pacbayes.gibbs": 4 / math.sqrt(n),
            "progressive": 5 / math.sqrt(n),
            "betting": 9 / math.sqrt(n),
        },
    )


def test_a_certificate_below_the_truth_is_counted() -> None:
    rows = [planted("sparse majority", n, seed) for n in (1000, 3000) for seed in range(2)]
    broken = row("sparse majority", 1000, 7, {"holdout": 0.1, "betting": 0.3}, true=0.2)
    line = cells([*rows, broken])
    assert sum(cell.violations() for cell in line) == sum(cell.violations(100.0) for cell in line) == 1
    last = next(f for f in certificates.analyse([*rows, broken]).findings if "below what they bound" in f.setting)
    assert last.ours == f"1 of {sum(len(cell.ids) * len(cell.values) for cell in line)}"


def test_estimates_of_the_truth_are_granted_their_error() -> None:
    """On 115 fresh images a rate of 0.2 has an error of 0.037: three of them reach from 0.1 to 0.2, from 0.05 not."""
    n = mnist.POOL - 115
    near, far = (cells([row("mnist", n, 0, {"holdout": value}, true=0.2)])[0] for value in (0.1, 0.05))
    assert (near.violations(), near.violations(3.0)) == (1, 0)
    assert (far.violations(), far.violations(3.0)) == (1, 1)


def test_the_best_network_need_not_have_the_smallest_certificate() -> None:
    rows = [row("mnist", 1000, seed, {"holdout": 0.1, "occam": 0.2, "betting": 0.5}, true=0.05) for seed in range(4)]
    for seed, one in enumerate(rows):
        one.values["certificates"]["occam"]["true"] = 0.01 + 0.001 * seed
    (cell,) = cells(rows)
    assert cell.better == "occam"
    assert any("O at 1,000" in remark for remark in certificates.analyse(rows).remarks)
    assert cells([planted("mnist", 1000, seed) for seed in range(3)])[0].better is None


def test_the_grids() -> None:
    study = find("certificates")
    for scale, seeds in (("quick", 5), ("paper", 20)):
        runs_of = study.experiment(scale).runs  # type: ignore[arg-type]
        for task in TITLES:
            mine = [run.config for run in runs_of if run.config["task"] == task]
            assert len({config["n"] for config in mine}) >= 5
            assert len({config["seed"] for config in mine}) >= seeds
    assert len(study.experiment("smoke").runs) <= 4
    paper = next(run.config for run in study.experiment("paper").runs if run.config["task"] == "mnist")
    assert mnist.settings_of(paper) == mnist_recipe.Settings()


def test_the_planted_crossing_is_found() -> None:
    rows = [planted("sparse majority", n, seed) for n in (1000, 3000, 30_000, 100_000) for seed in range(5)]
    assert {cell.n: cell.able for cell in cells(rows)} == {1000: ["H"], 3000: ["H"], 30_000: ["O"], 100_000: ["O"]}
    analysis = certificates.analyse(rows)
    assert analysis.fits["sparse majority, T = 20: exponent of H in n"]["value"] == pytest.approx(-0.5)
    assert analysis.fits["sparse majority, T = 20: exponent of O in n"]["value"] == pytest.approx(-1.0)
    (below,) = [f for f in analysis.findings if "below what they bound" in f.setting]
    assert (below.ours, below.verdict.word) == ("0 of 120", "holds")
    assert set(analysis.plots) == {"certificates", "cross_entropy"}
    assert "(of 4): H at 2, O at 2." in analysis.headline
    assert certificates.informative_from(cells(rows), "occam") == 1000


def test_a_draw_names_both_and_a_poor_winner_says_so() -> None:
    limits = [{"holdout": 0.3, "occam": 0.35}, {"holdout": 0.4, "occam": 0.36}, {"holdout": 0.35, "occam": 0.37}]
    (cell,) = cells([row("mnist", 100, seed, found) for seed, found in enumerate(limits)])
    assert cell.able == ["H", "O"]
    (cell,) = cells([row("mnist", 100, seed, {"holdout": 0.7}) for seed in range(3)])
    assert cell.able == ["none better than guessing"]


@pytest.mark.parametrize("count", [1, 2])
def test_few_rows_are_enough(count: int) -> None:
    analysis = certificates.analyse([planted("mnist", 1000, seed) for seed in range(count)])
    assert len(analysis.findings) == 3 + 6 + 3 + 1

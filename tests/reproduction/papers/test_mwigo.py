"""Mwigo's runs against plain descent on the plain model, and the analyses on rows with a known answer."""

import dataclasses
import itertools
import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certiformer.lab import models, tasks
from certiformer.reproduction.papers import _mwigo_grid as grid
from certiformer.reproduction.papers import _mwigo_runs as runs
from certiformer.reproduction.papers import mwigo_figures, mwigo_table_1, mwigo_test_set
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.sweep import Row, read
from certiformer.reproduction.sweep.origin import same_arithmetic

PUBLISHED = Path(__file__).parents[3] / "docs" / "reproduction" / "runs" / "mwigo.mnist.runs"
BY_IMAGE = PUBLISHED.with_name("mwigo.test_set.runs")
TINY = {"d_m": 6, "n": 12, **grid.BASE, "batch": 5, "rate": 0.1, "epochs": 4, "every": 2, "seed": 3}


def shortened(key, **settings):
    task = tasks.build("mnist", key, **settings)
    return type(task)(**{**vars(task), "test": task.test.take(slice(0, 50))})


@pytest.fixture(scope="module")
def few_test_images():
    """The first 50 test images instead of all: the test need not wait for 2,115."""
    patch = pytest.MonkeyPatch()
    patch.setattr(runs, "mnist", shortened)
    runs._test_images.cache_clear()
    yield
    runs._test_images.cache_clear()
    patch.undo()


@pytest.fixture(scope="module")
def tiny(few_test_images):
    return runs.run(TINY)


def plain(config, loss, readouts):
    """Descent on the plain model, batch after batch; `readouts` makes the rows of the output layer from w_O.

    For every epoch the mean loss of the batches before their updates, and the test loss after it.
    """
    key_task, key_model = jax.random.split(jax.random.key(config["seed"]))
    task = shortened(key_task, n=config["n"], pixels=config["pixels"], tokens=config["tokens"])
    model = models.build("shallow_encoder", key_model, d=64, d_m=config["d_m"])

    @jax.jit
    def mean_loss(both, inputs, labels):
        model, weights = both
        return jnp.mean(loss(jax.vmap(model.features)(inputs) @ weights.T, labels))

    descend = jax.jit(jax.value_and_grad(mean_loss))
    x, y = task.train.inputs, task.train.labels
    both = (model, readouts(model.w_O))
    train, test = [float(mean_loss(both, x, y))], [float(mean_loss(both, task.test.inputs, task.test.labels))]
    shuffled = np.random.default_rng([runs.SHUFFLES, config["seed"]])
    batch = config["n"] if config["batch"] == "full" else config["batch"]
    for _ in range(config["epochs"]):
        order, seen = shuffled.permutation(config["n"]), []
        if config["last"] == "drop":
            order = order[: config["n"] // batch * batch]
        for first in range(0, len(order), batch):
            rows = order[first : first + batch]
            value, gradient = descend(both, x[rows], y[rows])
            both = jax.tree.map(lambda w, g: w - config["rate"] * g, both, gradient)
            seen += [float(value)] * len(rows)
        train.append(np.mean(seen))
        test.append(float(mean_loss(both, task.test.inputs, task.test.labels)))
    return np.array(train), np.array(test), float(mean_loss(both, x, y))


def logistic(outputs, labels):
    return jnp.log1p(jnp.exp(-labels * outputs[:, 0]))


def softmax_of_two(outputs, labels):
    chosen = jnp.where(labels > 0, outputs[:, 0], outputs[:, 1])
    return jnp.log(jnp.sum(jnp.exp(outputs), axis=1)) - chosen


@pytest.mark.parametrize("change", [{}, {"batch": "full"}, {"last": "drop"}], ids=["batches", "full", "drop"])
def test_a_run_is_plain_descent_on_batches(few_test_images, change):
    config = {**TINY, **change}
    train, test, last = plain(config, logistic, lambda w: w[None, :])
    found = runs.run(config)
    assert found.arrays["epoch"].tolist() == [0, 2, 4]
    np.testing.assert_allclose(found.arrays["train"], train[::2], rtol=2e-5)
    np.testing.assert_allclose(found.arrays["test"], test[::2], rtol=2e-5)
    assert found.values["lowest"] == pytest.approx(test[::2].min(), rel=2e-5)
    assert found.values["epoch"] == 2 * int(np.argmin(test[::2]))
    if found.values["epoch"] == 4:
        assert found.values["train"] == pytest.approx(last, rel=2e-5)


def test_two_logits_are_one_that_counts_more(few_test_images):
    # any pair with this difference will do: what both share never matters
    pair = plain(TINY, softmax_of_two, lambda w: jnp.stack([0.3 + math.sqrt(2) * w, 0.3 + 0.0 * w]))
    found = runs.run({**TINY, "logits": "two"})
    np.testing.assert_allclose(found.arrays["test"], pair[1][::2], rtol=2e-5)


def test_a_batch_that_grows_with_n():
    assert [grid.batch_that_grows(n) for n in (400, 1200, 10_000)] == [32, 32, 128]


def test_equal_seeds_give_equal_bits(few_test_images, tiny):
    again = runs.run(dict(TINY))
    assert again.values == tiny.values
    assert all(np.array_equal(again.arrays[name], tiny.arrays[name]) for name in tiny.arrays)
    assert runs.run({**TINY, "seed": 4}).values != tiny.values


def test_what_theorem_5_needs_is_measured(few_test_images, tiny):
    key_model = jax.random.split(jax.random.key(TINY["seed"]))[1]
    start = models.build("shallow_encoder", key_model, d=64, d_m=TINY["d_m"])
    norms = tiny.values["start"]
    assert norms["WQF"] == pytest.approx(float(jnp.sqrt(jnp.sum(start.W_Q**2))), rel=1e-6)
    values = np.linalg.eigvalsh(np.asarray(start.W_V, float) @ np.asarray(start.W_V, float).T)
    assert norms["WV2"] == pytest.approx(math.sqrt(values[-1]), rel=1e-6)
    assert all(radius > 0 for radius in tiny.values["moved"].values())


def test_smaller_samples_are_part_of_larger_ones():
    key = jax.random.split(jax.random.key(3))[0]
    few, many = (tasks.build("mnist", key, n=n).meta["rows"] for n in (12, 30))
    assert np.array_equal(few, many[:12])


def row(d_m, n, seed, lowest, *, chosen=grid.BASE, epochs=300, best=200):
    """A run whose test loss falls in a straight line to its lowest value and then stays there."""
    epoch = np.arange(0, epochs + 1, 10)
    fallen = np.minimum(epoch / best, 1.0)
    test = 0.7 + (lowest - 0.7) * fallen
    start = {"WQF": 8.0, "WKF": 8.0, "WVF": 8.0, "WQ2": 2.0, "WK2": 2.0, "WV2": 2.0, "wOF": 1.0}
    values = {
        "lowest": lowest,
        "epoch": best,
        "train": lowest / 2,
        "falling": best == epochs,
        "diverged": None,
        "start": start,
        "moved": {"RQ": 0.5, "RK": 0.5, "RV": 1.0, "RO": 0.0},
    }
    config = {"d_m": d_m, "n": n, **chosen, "rate": 0.1, "epochs": epochs, "every": 10, "seed": seed}
    key = repr(sorted(config.items()))
    arrays = {"epoch": epoch, "train": test - 10.0 / n, "test": test}
    return Row(key=key, experiment="mwigo.mnist", version="", state="done", config=config, values=values, arrays=arrays)


def noise(seed):
    return 1.0 + 0.03 * (seed - 2)


@pytest.fixture(scope="module")
def planted():
    """Lowest loss 2.096 N^(-1/2): at d_m = 64, N = 400 that is the paper's number."""
    rows = [row(64, n, seed, 2.096 * n**-0.5 * noise(seed)) for n in (100, 400, 1200) for seed in range(5)]
    unit = {**grid.BASE, "pixels": "symmetric"}
    return rows + [row(64, 400, seed, 0.5 * noise(seed), chosen=unit) for seed in range(5)]


@pytest.fixture(scope="module")
def analysed(planted):
    return mwigo_table_1.analyse(planted)


def found(analysis, words):
    chosen = [finding for finding in analysis.findings if words in finding.setting]
    assert len(chosen) == 1, [finding.setting for finding in analysis.findings]
    return chosen[0]


def test_grids():
    table = mwigo_table_1.STUDIES[0]
    quick, paper = (table.experiment(scale).configs for scale in ("quick", "paper"))
    base = [c for c in quick if c["d_m"] == 64 and grid.reading(c) == grid.BASE]
    assert len({c["seed"] for c in quick}) >= 5
    assert len({c["n"] for c in base}) >= 5
    cells = {(c["d_m"], c["n"]) for c in paper if grid.reading(c) == grid.BASE}
    assert all(c["epochs"] > grid.PAPER_TABLE_1[c["d_m"], c["n"]][1] for c in paper)
    assert cells == set(grid.PAPER_TABLE_1)
    assert len({c["seed"] for c in paper}) >= 5
    keys = {run.key for run in table.experiment("quick").runs}
    for study in mwigo_figures.STUDIES:
        assert {run.key for run in study.experiment("quick").runs} <= keys


def test_an_interruption_of_the_papers_grid_leaves_whole_seeds():
    paper = mwigo_table_1.STUDIES[0].experiment("paper").configs
    begun = [c["seed"] for c in paper if grid.reading(c) == grid.BASE and (c["d_m"], c["n"]) != (4096, 10_000)]
    assert begun == sorted(begun)
    assert begun.count(0) == 8


def test_a_planted_exponent_is_found(analysed):
    slope = found(analysed, "d_m = 64, exponent of N in the lowest test loss")
    assert slope.ours == pytest.approx(-0.5, abs=1e-9)
    assert slope.verdict.word == "agrees"
    rows = [row(1024, n, seed, 0.01 * n**0.25 * noise(seed)) for n in (100, 1200) for seed in range(5)]
    assert found(mwigo_table_1.analyse(rows), "exponent of N in the lowest").verdict.word == "differs"


def test_cells_are_compared_with_where_one_more_run_would_fall(analysed):
    assert found(analysed, "d_m = 64, N = 400: lowest test loss").verdict.word == "compatible"
    small = found(analysed, "d_m = 64, N = 1,200: lowest test loss")
    logs = np.log([2.096 * 1200**-0.5 * noise(seed) for seed in range(5)])
    # two printed cells with the same noise: 8 degrees of freedom
    half = 2.3060041350333704 * logs.std(ddof=1) * math.sqrt(1.2)
    assert small.ci == pytest.approx((math.exp(logs.mean() - half), math.exp(logs.mean() + half)))
    assert small.verdict.word == "compatible"
    # at the paper's epoch 147 the planted curve is still on its way down
    early = found(analysed, "d_m = 64, N = 400: test loss at the paper's epoch 147")
    assert early.ours == pytest.approx(0.7 + (0.1048 - 0.7) * 147 / 200, rel=1e-3)
    assert early.verdict.word == "incompatible"
    assert set(analysed.plots) == {"lowest_test_loss", "readings"}


def test_readings_are_scored(analysed):
    ours, other = (f for f in analysed.findings if f.setting.startswith("reading: "))
    assert (ours.ours, ours.verdict.word) == (0.0, "compatible")
    assert other.setting.startswith("reading: pixels in [-1, 1]")
    assert other.verdict.word == "incompatible"
    assert analysed.fits["adequacy of our reading"]["of"] == 4


def test_a_batch_that_grows_with_n_is_scored_on_the_cells_that_it_had_not_seen():
    grown = {**grid.BASE, "batch": grid.batch_that_grows(10_000)}
    cells = [
        ((64, 400), (0.1048, 150, grid.BASE)),
        ((64, 1200), (0.0668, 160, grid.BASE)),
        ((64, 10_000), (0.0263, 540, grid.BASE)),
        ((64, 10_000), (0.0263, 540, grown)),
        ((1024, 10_000), (0.02, 100, grid.BASE)),
        ((1024, 10_000), (0.0045, 245, grown)),
    ]
    rows = [
        row(d_m, n, s, loss * noise(s), epochs=600, best=best + 10 * s, chosen=chosen)
        for (d_m, n), (loss, best, chosen) in cells
        for s in range(3)
    ]
    analysis = mwigo_table_1.analyse(rows)
    one = found(analysis, f"reading: {mwigo_table_1.GROWS}")
    assert (one.ours, one.verdict.word) == (0.0, "compatible")
    assert "the other cells (2 numbers)" in one.setting
    ours = "reading: batches of 32 and pixels in [0, 1]: score on"
    assert found(analysis, f"{ours} the other cells").verdict.word == "incompatible"
    assert found(analysis, f"{ours} the cells used to choose").verdict.word == "compatible"
    both = "the loss at (1,024, 10,000) (batches of 128), the epoch at (1,024, 10,000) (batches of 128)"
    assert f"outside under ours, but not under another one with the same seeds: {both}." in analysis.remarks[0]
    assert analysis.headline.endswith("2 of the other 2 do under another setting.")
    assert any(
        "grows with N” explains 2 of 2 printed numbers at 5 % (3 seeds in a cell" in told for told in analysis.remarks
    )


def test_readings_are_compared_on_the_seeds_that_both_have():
    """The first seed of ours fits, the others do not: another reading that has the first alone is no better."""
    drop = {**grid.BASE, "last": "drop"}
    ours = [
        row(64, n, s, loss * noise(s), epochs=600, best=150) for n, loss in ((400, 0.1), (1200, 0.07)) for s in range(5)
    ]
    ours += [row(1024, 400, s, 0.1839 if s == 0 else 0.1, epochs=600, best=95 + s) for s in range(5)]
    other = [row(64, n, 0, loss, epochs=600, best=150, chosen=drop) for n, loss in ((400, 0.094), (1200, 0.0658))]
    other += [row(1024, 400, 0, 0.1839, epochs=600, best=95, chosen=drop)]
    analysis = mwigo_table_1.analyse([*ours, *other])
    for name in ("batches of 32 and pixels in [0, 1]", "the last, smaller batch dropped"):
        assert found(analysis, f"reading: {name}: score on the other cells").ours == pytest.approx(0.0, abs=1e-9)
    assert "the loss at (1,024, 400)" in analysis.remarks[0]
    assert "but not under another one" not in analysis.remarks[0]


def test_what_is_excluded_on_the_cells_used_to_choose_does_not_go_on(planted):
    late = [row(64, 10_000, s, 0.0263 * noise(s), epochs=600, best=540 + s) for s in range(3)]
    symmetric = {**grid.BASE, "pixels": "symmetric"}
    late += [row(64, 10_000, s, 0.0263 * noise(s), epochs=600, best=540 + s, chosen=symmetric) for s in range(3)]
    settings = [f.setting for f in mwigo_table_1.analyse([*planted, *late]).findings if f.setting.startswith("reading")]
    assert [s for s in settings if "the other cells" in s] == [s for s in settings if "the other" in s and "of 32" in s]
    assert len(settings) == 3


def test_the_readings_that_went_on_are_those_that_fitted_best_with_three_seeds():
    """By the published runs on the cells used to choose, whether spreads come from there or from all of the table."""
    known = Table(read(PUBLISHED).rows).where(lambda r: r.config["every"] == 1)
    three = known.where(lambda r: (r.config["d_m"], r.config["n"]) in grid.CHOSEN_ON and r.config["seed"] < 3)
    for ours in (three, known):
        spreads = mwigo_table_1._spreads(ours.where(lambda r: grid.reading(r.config) == grid.BASE))
        scores = {
            key: sum(mwigo_table_1.score(part, spreads).values())
            for key, part in three.by(lambda c: repr(grid.reading(c))).items()
        }
        went_on = [repr(chosen) for chosen in (grid.BASE, *grid.BEST)]
        best = sorted(scores, key=lambda key: -scores[key])
        assert len(best) == 1 + len(grid.OTHERS)
        assert set(best[: len(went_on)]) == set(went_on)
        assert scores[best[0]] - scores[best[len(went_on) - 1]] < 0.15
        assert scores[best[len(went_on) - 1]] - scores[best[len(went_on)]] > 0.6


def test_what_the_growing_batch_predicts_is_a_row_of_its_own():
    grown = {**grid.BASE, "batch": grid.batch_that_grows(10_000)}
    ours = [
        row(64, n, s, loss * noise(s), epochs=600, best=150 + 10 * s)
        for n, loss in ((400, 0.1), (1200, 0.07))
        for s in range(5)
    ]
    unseen = [row(1024, 10_000, s, 0.0227 * noise(s), epochs=600, best=250 + s, chosen=grown) for s in range(2)]
    analysis = mwigo_table_1.analyse([*ours, *unseen])
    predicted = f"{mwigo_table_1.GROWS}, as predicted for d_m = 1,024, N = 10,000"
    assert found(analysis, f"{predicted}: lowest test loss").verdict.word == "incompatible"
    assert found(analysis, f"{predicted}: its epoch").verdict.word == "compatible"
    assert not any("4,096" in finding.setting for finding in analysis.findings)


def test_the_headline_counts_what_lies_where_one_more_run_would_fall(analysed):
    assert "2 of 4 printed numbers" in analysed.headline
    assert "(5 seeds, all test images)" in analysed.headline
    never = "does better with the same seeds: the epoch at (64, 400), the epoch at (64, 1,200)."
    assert never in analysed.remarks[0]


def test_one_run_makes_a_cell_of_table_1(planted):
    (study,) = mwigo_table_1.STUDIES
    paper = next(c for c in study.experiment("paper").configs if grid.reading(c) == grid.BASE)
    one = dataclasses.replace(planted[0], config=paper)
    assert (study.covered([one]).cells, study.covered([one]).of, study.covered([]).cells) == (1, 9, 0)


def test_a_wide_interval_says_nothing():
    rows = [row(64, 400, seed, 0.1048 * 3.0 ** (seed - 1)) for seed in range(3)]
    wide = found(mwigo_table_1.analyse(rows), "N = 400: lowest test loss")
    assert wide.verdict.word == "cannot tell"
    assert "no number of seeds" in wide.verdict.detail
    rows = [row(64, 400, seed, 0.1048, best=146 + seed, epochs=500) for seed in range(3)]
    assert found(mwigo_table_1.analyse(rows), "N = 400: epoch of the lowest").verdict.word == "compatible"


def test_runs_that_stop_before_the_papers_epoch_decide_nothing():
    rows = [row(64, 400, seed, 0.1048 * noise(seed), epochs=100, best=100) for seed in range(5)]
    assert found(mwigo_table_1.analyse(rows), "lowest test loss by epoch 100").verdict.word == "measured"


def test_a_lowest_loss_at_the_end_has_no_epoch():
    rows = [row(64, 400, seed, 0.1048 * noise(seed), epochs=200, best=200 if seed else 150) for seed in range(3)]
    (one,) = [f for f in mwigo_table_1.analyse(rows).findings if "epoch of the lowest" in f.setting]
    assert "2 of 3 runs still improve" in one.setting
    assert one.verdict.word == "cannot tell"


def test_figures_show_the_gap(planted):
    analysis = mwigo_figures.analyse([r for r in planted if grid.reading(r.config) == grid.BASE])
    assert found(analysis, "N = 400: test minus training loss").ours == pytest.approx(10.0 / 400)
    assert found(analysis, "exponent of N").verdict.word == "agrees"
    assert set(analysis.plots) == {"losses"}


def test_analyses_cope_with_missing_cells(planted):
    parts = [planted[:1], planted[3:7], [planted[0], planted[6]]]
    for analyse, rows in itertools.product((mwigo_table_1.analyse, mwigo_figures.analyse), parts):
        for finding in analyse(rows).findings:
            assert not isinstance(finding.ours, float) or math.isfinite(finding.ours)
    alone = mwigo_table_1.analyse(planted[5:6])
    assert found(alone, "N = 400: lowest test loss").verdict.word == "cannot tell"


def test_a_run_by_image_is_the_same_run(few_test_images, tiny, monkeypatch):
    monkeypatch.setattr(runs, "HARD", 10)
    monkeypatch.setattr(runs, "CHECKED", (30,))
    found = runs.run_by_image(TINY)
    assert {name: found.values[name] for name in tiny.values} == tiny.values
    assert all(found.arrays[name].tobytes() == array.tobytes() for name, array in tiny.arrays.items())
    losses = runs._trained(TINY)[1]
    np.testing.assert_allclose(losses.mean(axis=1), tiny.arrays["test"], rtol=1e-6)
    hard = found.arrays["hard"]
    easy = [image for image in range(50) if image not in hard]
    assert len(hard) == 10
    np.testing.assert_allclose(found.arrays["losses"], losses[:, hard], rtol=1e-3)
    np.testing.assert_allclose(found.arrays["rest_sum"], losses[:, easy].sum(axis=1))
    np.testing.assert_allclose(found.arrays["rest_squares"], (losses[:, easy] ** 2).sum(axis=1))
    # the hardest image of the last epoch is kept
    assert losses[-1].argmax() in hard
    assert found.values["error"]["30"]["loss"] < 0.05


def test_published_runs_by_image_are_the_published_runs():
    """In every bit where both come from the same type of processor; elsewhere their distribution agrees."""
    once = {repr(r.config): r for r in read(PUBLISHED).rows}
    again = [(once[repr(r.config)], r) for r in read(BY_IMAGE).rows if repr(r.config) in once]
    same = [(before, now) for before, now in again if same_arithmetic(before.origin, now.origin)]
    assert len(same) >= 10
    for before, now in same:
        assert {name: now.values[name] for name in before.values} == before.values
        assert all(now.arrays[name].tobytes() == array.tobytes() for name, array in before.arrays.items())
    for before, now in again:
        assert now.values["lowest"] == pytest.approx(before.values["lowest"], rel=0.02)


def test_losses_on_a_part_of_the_test_images_are_means(few_test_images):
    losses = runs._trained(TINY)[1]
    kept = {"hard": np.arange(50), "losses": losses, "rest_sum": np.zeros(len(losses))}
    part = np.random.default_rng(0).permutation(50)[:20]
    found = grid.part_loss(kept, np.isin(np.arange(50), part)[None, :], 20, 50)
    np.testing.assert_allclose(found[0], losses[:, part].mean(axis=1))
    rest = {"hard": np.arange(0), "losses": losses[:, :0], "rest_sum": losses.sum(axis=1)}
    np.testing.assert_allclose(grid.part_loss(rest, np.zeros((1, 0), bool), 20, 50)[0], losses.mean(axis=1))


def by_image(d_m, n, seed, lowest, *, best, hard=0.0, epochs=600):
    """A planted run with 2,115 test images: the share `hard` of every loss sits in the first 8."""
    one = row(d_m, n, seed, lowest, epochs=epochs, best=best)
    test = one.arrays["test"] * (1.0 + 1e-4 * np.maximum(one.arrays["epoch"] - best, 0))
    kept = {
        "test": test,
        "hard": np.arange(8),
        "losses": np.outer(2115 * hard * test / 8, np.ones(8)),
        "rest_sum": 2115 * (1.0 - hard) * test,
        "rest_squares": 2115 * test**2,
    }
    values = {**one.values, "images": 2115, "error": {"100": {"loss": 0.0, "epochs": 0, "of": 50}}}
    return dataclasses.replace(one, values=values, arrays={**one.arrays, **kept})


def planted_by_image(factor, hard):
    """Runs around the paper's numbers times a factor that is different in every cell."""
    return [
        by_image(d_m, n, seed, loss * factor(i) * noise(seed), best=epoch // 10 * 10 - 10 * seed, hard=hard)
        for i, ((d_m, n), (loss, epoch)) in enumerate(grid.PAPER_TABLE_1.items())
        for seed in range(5)
    ]


def test_with_all_images_the_reading_is_that_of_table_1():
    rows = planted_by_image(lambda i: 1.0 + 0.02 * i, 0.5)
    table = Table(rows)
    reading = mwigo_test_set.reading_of(table, mwigo_test_set.ALL)
    spreads = mwigo_table_1._spreads(table)
    scores = mwigo_table_1.score(table, spreads)
    p = mwigo_table_1._p_values(table, spreads)
    assert len(scores) == len(p) == len(reading.seen) == 18
    for number, score in scores.items():
        assert reading.score(number) == pytest.approx(score, rel=1e-9)
    assert mwigo_test_set._p_values([reading], list(p)) == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize(("factor", "out"), [(0.35, "all images"), (1.0, "the part")])
def test_a_planted_test_set_is_recognised(factor, out):
    """Numbers that miss half of the hard images, or have more of them; and numbers of all images."""
    analysis = mwigo_test_set.analyse(planted_by_image(lambda i: factor ** (-1) ** i, 0.9))
    assert analysis.headline.endswith(f"excludes {out}.")
    assert len([f for f in analysis.findings if "with m of the test images" in f.setting]) == 18
    assert {"hard_images", "loss", "epoch"} == set(analysis.plots)
    for finding in analysis.findings:
        assert not isinstance(finding.ours, float) or not math.isnan(finding.ours)


def test_predictions_with_a_part_of_the_images_hold_what_direct_drawing_gives():
    """With seeds all alike the prediction is the distribution over test sets."""
    rows = [by_image(64, 400, seed, 0.1 * (1 + 1e-6 * seed), best=150, hard=0.9) for seed in range(5)]
    reading = mwigo_test_set.reading_of(Table(rows), 1000)
    draw = np.random.default_rng(1)
    counts = draw.hypergeometric(8, 2107, 1000, size=100_000)
    lowest = 0.1 * 2115 * (counts * 0.9 / 8 + (1000 - counts) * 0.1 / 2107) / 1000
    for at in (0.05, 0.09, 0.11, 0.15):
        assert reading.tails("the loss at (64, 400)", at)[0] == pytest.approx(np.mean(lowest <= at), abs=0.03)


def test_test_sets_whose_loss_still_falls_count_as_later():
    rows = [by_image(64, 400, seed, 0.1, best=600, hard=0.9) for seed in range(3)]
    reading = mwigo_test_set.reading_of(Table(rows), 100)
    assert reading.tails("the epoch at (64, 400)", 147.0) == (0.0, 1.0)
    assert reading.score("the epoch at (64, 400)") == pytest.approx(math.log(0.05 / math.log(1000.0)))

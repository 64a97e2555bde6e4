"""The AR(L) runs against descent written out in NumPy, and the analysis on rows with a known answer."""

import math

import numpy as np
import pytest

from certiformer.reproduction.papers import _arda_lag_grid as grid
from certiformer.reproduction.papers import _arda_lag_runs as runs
from certiformer.reproduction.papers import arda_figure_2 as figure
from certiformer.reproduction.sweep import Row

TINY = {
    "network": "indrnn",
    "lag": 2,
    "seed": 3,
    "n": 12,
    "n_test": 6,
    "n_jacobian": 5,
    "steps": 6,
    "every": 2,
    "rate": 0.05,
    "width": 4,
    "pairs": 1,
}


@pytest.fixture(scope="module", params=[*({"network": name} for name in figure.NETWORKS), {"precision": "float32"}])
def config(request):
    return TINY | request.param


@pytest.fixture(scope="module")
def outcome(config):
    return runs.run(config)


def test_a_run_is_plain_gradient_descent(config, outcome):
    """Loss, gradient and Jacobian norms of every step, from outputs alone by central differences."""
    patch = pytest.MonkeyPatch()
    patch.setattr(runs, "precision", lambda config: "float64")
    params, data = runs._weights(config), runs._batches(config)
    patch.undo()
    names, x, y = tuple(params), _whole(data.train), data.train.y
    outputs = _recurrent if config["network"] == "indrnn" else _attention
    memory = runs.BLOCK[config["network"]]
    seen = {"gradient": [], "jacobian": [], "validation": [], "validation_fresh": [], "training": []}
    for step in range(config["steps"]):
        residual = outputs(params, x) - y
        jacobian = {name: _differences(outputs, params, name, x) for name in names}
        gradient = {name: np.tensordot(2 * residual / len(y), jacobian[name], 1) for name in names}
        seen["training"].append(np.mean(residual**2))
        seen["gradient"].append(np.linalg.norm(gradient[memory]))
        if step % config["every"] == 0:
            few = _differences(outputs, params, memory, _whole(data.probe))
            seen["jacobian"].append(math.sqrt(np.mean(np.sum(few.reshape(len(few), -1) ** 2, axis=1))))
            for name, part in (("validation", data.shared), ("validation_fresh", data.fresh)):
                seen[name].append(np.mean((outputs(params, _whole(part)) - part.y) ** 2))
        params = {name: value - config["rate"] * gradient[name] for name, value in params.items()}
    for name in ("gradient", "jacobian"):
        assert outcome.values[name] == pytest.approx(max(seen[name]), rel=2e-4)
    for name in ("validation", "validation_fresh", "training"):
        assert outcome.values[name] == pytest.approx(min(seen[name]), rel=2e-4)


def _whole(part):
    """Windows as the networks see them."""
    channels = np.broadcast_to(part.positions, (len(part.y), *part.positions.shape))
    return np.concatenate([part.values[..., None], channels], axis=-1)


def _recurrent(params, x):
    h = np.zeros((len(x), len(params["c"])))
    for t in range(x.shape[1]):
        h = np.tanh(x[:, t] @ params["w"].T + params["u"] * h)
    return h @ params["c"] / math.sqrt(len(params["c"]))


def _attention(params, x):
    scores = np.einsum("nti,hij,nj->nht", x, params["W"], x[:, -1])
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    s = np.einsum("nht,nti,hi->nh", p, x, params["u"])
    return np.tanh(s) @ params["c"] / math.sqrt(len(params["c"]))


def _differences(outputs, params, name, x, by=1e-5):
    columns = []
    for index in np.ndindex(params[name].shape):
        two = []
        for sign in (1, -1):
            moved = params[name].copy()
            moved[index] += sign * by
            two.append(outputs(params | {name: moved}, x))
        columns.append((two[0] - two[1]) / (2 * by))
    return np.stack(columns, axis=-1).reshape(len(x), *params[name].shape)


def test_a_run_is_determined_by_its_seed(config, outcome):
    assert runs.run(config).values == outcome.values
    assert runs.run(config | {"seed": 4}).values["gradient"] != outcome.values["gradient"]


def test_rivals_see_the_same_series():
    one, other = runs._batches(TINY), runs._batches(TINY | {"network": "transformer"})
    for a, b in ((one.shared, other.shared), (one.fresh, other.fresh)):
        np.testing.assert_allclose(a.values, b.values, rtol=1e-6)
        np.testing.assert_allclose(a.y, b.y, rtol=1e-5, atol=1e-6)


def test_fresh_windows_share_no_value_with_training():
    data = runs._batches(TINY | {"network": "transformer"})
    seen = set(data.train.values.ravel().tolist())
    assert seen & set(data.shared.values.ravel().tolist())
    assert not seen & set(data.fresh.values.ravel().tolist())


def test_the_recurrent_bound_holds_and_grows_geometrically():
    """|dh_T/du| of one unit, searched over drives, never exceeds the bound; its growth is |u|."""
    rng = np.random.default_rng(0)
    for lag in (1, 3):
        largest = 0.0
        for _ in range(2000):
            h, slope = 0.0, 0.0
            for _ in range(lag + 1):
                z = rng.normal() * 0.5 + figure.ALPHA * h
                slope = (1 - math.tanh(z) ** 2) * (h + figure.ALPHA * slope)
                h = math.tanh(z)
            largest = max(largest, abs(slope))
        assert 0 < largest <= figure.recurrent_bound(lag)
    assert figure.recurrent_bound(40) / figure.recurrent_bound(39) == pytest.approx(figure.ALPHA, rel=1e-4)


def planted(lags=(4, 8, 16, 32, 64), seeds=range(1, 7), skip=()):
    """IndRNN norms grow like L and spread three times as much; the Transformer's are flat; losses cross."""
    rng = np.random.default_rng(1)
    rows = []
    for network in figure.NETWORKS:
        recurrent = network == "indrnn"
        for lag in lags:
            for seed in seeds:
                noise = rng.normal() * (0.3 if recurrent else 0.03)
                norm = math.exp(noise) * (lag if recurrent else 1.5)
                loss = math.exp(0.01 * rng.normal()) * (0.2 * lag**0.5 if recurrent else 0.6)
                values = {
                    "gradient": norm,
                    "gradient_short": norm,
                    "jacobian": 2 * norm,
                    "jacobian_at_start": norm,
                    "validation": loss,
                    "validation_fresh": loss * math.exp(0.01 * rng.normal()),
                    "still_falling": seed == 1,
                    "diverged": -1,
                }
                if (network, lag, seed) not in skip:
                    config = {"network": network, "lag": lag, "seed": seed, "steps": 10, "every": 5}
                    config |= {"width": 64, "pairs": 8}
                    config |= {"precision": "float32"} if recurrent else {}
                    rows.append(Row("", "", "", config, "done", values=values))
    return rows


def test_scales():
    quick, paper = figure.experiment("quick"), figure.experiment("paper")
    for scale, seeds, lags in ((quick, 5, 5), (paper, 20, 4)):
        configs = [run.config for run in scale.runs]
        assert len({c["seed"] for c in configs}) >= seeds
        assert len({c["lag"] for c in configs}) >= lags
        assert {c["steps"] for c in configs} == {grid.LONG if scale is paper else grid.SHORT}
        released = [c for c in configs if grid.precision(c) == "float32"]
        assert len(released) == len({c["seed"] for c in configs}) * len({c["lag"] for c in configs}) * 2
        assert len(configs) - len(released) == grid.CONTROLS * len({c["lag"] for c in configs})


def words(analysis, *parts):
    """The verdicts of the findings whose setting has these parts."""
    return {f.verdict.word for f in analysis.findings if all(part in f.setting for part in parts)}


def test_planted_growth_is_found():
    analysis = figure.analyse(planted())
    low, high = analysis.fits["largest gradient norm in the first 10 steps, IndRNN, exponent in the lag L"]["ci"]
    assert low < 1.0 < high
    loss = analysis.fits["lowest validation loss in 10 steps, IndRNN, exponent in the lag L"]
    assert loss["value"] == pytest.approx(0.5, abs=0.02)
    assert words(analysis, "largest gradient norm", "IndRNN, exponent") == {"agrees"}
    assert words(analysis, "largest gradient norm", "Transformer, exponent") == {"agrees"}
    assert words(analysis, "largest gradient norm", "at L = 64") == {"agrees"}
    assert words(analysis, "lowest validation loss in 10 steps, IndRNN / Transformer") == {"measured"}
    spread = analysis.fits[
        "largest gradient norm in the first 10 steps: spread of its logarithm between seeds, IndRNN / Transformer"
    ]
    assert spread["ci"][0] < 10.0 < spread["ci"][1]
    assert any("5 of 30" in remark for remark in analysis.remarks)


def test_the_headline_follows_the_verdicts():
    rows = planted()
    text = figure.analyse(rows).headline
    assert "(IndRNN; grows: agrees)" in text
    assert "(Transformer; stable: agrees)" in text
    assert "Transformer runs still improve at the last step" in text
    for row in rows:
        if row.config["network"] == "transformer":
            row.values["jacobian"] *= row.config["lag"]
    assert "(Transformer; stable: differs)" in figure.analyse(rows).headline


def test_of_the_loss_the_paper_speaks_after_long_training_only():
    rows = planted()
    assert words(figure.analyse(rows), "lowest validation loss", "exponent in the lag") == {"measured"}
    for row in rows:
        row.config["steps"] = grid.LONG
    found = figure.analyse(rows)
    assert words(found, "lowest validation loss in 5,000 steps, IndRNN, exponent") == {"agrees"}
    assert words(found, "lowest validation loss in 5,000 steps, Transformer, exponent") == {"agrees"}


def test_the_first_steps_make_the_upper_panel_and_all_of_them_the_rest(config):
    """A short run is the beginning of a long one, in every bit."""
    patch = pytest.MonkeyPatch()
    patch.setattr(runs, "SHORT", 3)
    long, short = runs.run(config).values, runs.run(config | {"steps": 3}).values
    patch.undo()
    assert long["gradient_short"] == short["gradient"]
    assert long["jacobian_short"] == short["jacobian"]
    rows = planted()
    for row in rows:
        row.config["steps"] = grid.LONG
        row.values["gradient_short"] *= 3.0
    upper, whole, *_ = figure.analyse(rows).plots["figure_2"].panels
    assert "first 500" in upper.title
    assert upper.series[0].y[0] == pytest.approx(3.0 * whole.series[0].y[0])


def test_double_precision_is_compared_and_not_shown():
    rows = planted()
    doubled = [
        Row("", "", "", {k: v for k, v in row.config.items() if k != "precision"}, "done", values=dict(row.values))
        for row in rows
        if row.config["network"] == "indrnn" and row.config["seed"] <= 2
    ]
    for row in doubled:
        row.values["validation"] *= 1.25
    alone, both = figure.analyse(rows), figure.analyse([*rows, *doubled])
    compared = both.fits["lowest validation loss in 10 steps, IndRNN: in double / in single precision"]
    assert compared["value"] == pytest.approx(1.25)
    assert any("1.25 (lowest validation loss in 10 steps)" in remark for remark in both.remarks)
    kept = {name: fit for name, fit in both.fits.items() if "precision" not in name}
    assert kept == alone.fits
    assert both.headline == alone.headline


@pytest.mark.parametrize(
    "rows",
    [
        planted(lags=(4,), seeds=(1,)),
        planted(lags=(4, 8), seeds=(1,)),
        [row for row in planted() if row.config["network"] == "transformer"],
        planted(skip=[("indrnn", 4, 1), ("transformer", 64, 2), *(("indrnn", 16, s) for s in range(1, 7))]),
    ],
)
def test_missing_runs_are_no_obstacle(rows):
    analysis = figure.analyse(rows)
    for plot in analysis.plots.values():
        plot.figure.draw_without_rendering()
    if len({row.config["seed"] for row in rows}) < 2:
        assert not {"agrees", "differs"} & set(analysis.tally)


def test_memory_is_counted_and_set_beside_the_loss():
    """0.2 sqrt(64) over 0.6 for 65 tokens of 17 channels against 64 units."""
    analysis = figure.analyse_memory(planted())
    (last,) = [f for f in analysis.findings if f.setting.endswith("L = 64") and "/" in f.setting]
    assert f"{65 * 17 / 64:.3g} times its memory" in last.setting
    assert last.ours == pytest.approx(1.6 / 0.6, rel=0.02)
    assert last.verdict.word == "agrees"
    assert f"is {1.0 / last.ours:.2f} of the IndRNN's" in analysis.headline
    assert figure.analyse_memory([row for row in planted() if row.config["network"] == "indrnn"]).findings

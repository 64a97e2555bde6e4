"""The width runs against formulas written out in NumPy, and the analysis on rows with a known answer."""

import math

import jax
import numpy as np
import pytest

from certiformer.reproduction.papers import _arda_width_grid as grid
from certiformer.reproduction.papers import _arda_width_runs as runs
from certiformer.reproduction.papers import arda_figure_1 as figure
from certiformer.reproduction.sweep import Row

TINY = {"teacher": "paper", "width": 4, "seed": 2, "n": 12, "n_more": 4, "pool": 8, "steps": 16}


@pytest.fixture(scope="module", params=grid.TEACHERS)
def config(request):
    return TINY | {"teacher": request.param}


@pytest.fixture(scope="module")
def outcome(config):
    return runs.run(config)


@pytest.fixture(scope="module")
def start():
    with jax.enable_x64(True):
        model = runs._network(TINY, "float64")
        return {name: np.array(getattr(model, name)) for name in ("c", "u", "W")}


def problem(config):
    drawn = runs._problem_of(config)
    return drawn.teacher, np.asarray(drawn.x, float), np.asarray(drawn.y, float)


def attention(W, x, keys=None):
    """p, a and M of every input and head; `keys` replaces W q."""
    keys = np.einsum("hij,nj->nhi", W, x[:, -1]) if keys is None else keys
    scores = np.einsum("nti,nhi->nht", x, keys)
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    a = np.einsum("nht,nti->nhi", p, x)
    M = np.einsum("nht,nti,ntj->nhij", p, x, x) - np.einsum("nhi,nhj->nhij", a, a)
    return a, M


def output_and_gradient(params, x):
    """f, and its gradient in every block (Lemma 1)."""
    c, u, W = (params[name] for name in ("c", "u", "W"))
    a, M = attention(W, x)
    h = np.tanh(np.einsum("hi,nhi->nh", u, a))
    pull = c * (1 - h**2)
    root = math.sqrt(len(c))
    gradient = {
        "c": h / root,
        "u": pull[..., None] * a / root,
        "W": np.einsum("nh,nhij,hj,nk->nhik", pull, M, u, x[:, -1]) / root,
    }
    return h @ c / root, gradient


def linear(params, moved, x):
    _, gradient = output_and_gradient(params, x)
    return sum(np.tensordot(gradient[k], moved[k] - params[k], moved[k].ndim) for k in params)


def test_the_linearisation_error_is_that_of_the_boundary_move(outcome, start):
    _, x, _ = problem(TINY)
    a, M = attention(start["W"], x)
    slope = 1 - np.tanh(np.einsum("hi,nhi->nh", start["u"], a)) ** 2
    toward = {
        "u": np.einsum("nh,nhi->hi", slope, a),
        "W": np.einsum("nh,nhij,hj,nk->hik", slope, M, start["u"], x[:, -1]),
    }
    moved = {"c": start["c"] + 3.0 / 2.0}
    for name, direction in toward.items():
        size = np.sqrt(np.sum(direction.reshape(4, -1) ** 2, axis=1)).reshape(4, *[1] * (direction.ndim - 1))
        moved[name] = start[name] + 3.0 / 2.0 * direction / size
    error = np.abs(output_and_gradient(moved, x)[0] - linear(start, moved, x))
    assert outcome.values["linearisation"] == pytest.approx(error.mean(), rel=1e-6)
    assert outcome.values["linearisation_largest"] == pytest.approx(error.max(), rel=1e-6)


def test_the_approximation_error_is_that_of_the_transported_parameters(config, outcome, start):
    """v by equation (10) from the anchors, phibar by (11); labels against the average over the pool."""
    teacher, x, y = problem(config)
    anchors, mixture = np.asarray(teacher.anchors, float), np.asarray(teacher.mixture, float)

    def features(inputs, u, W):
        keys = None
        if config["teacher"] == "released_diagonal":
            keys = np.einsum("hi,ni->nhi", np.diagonal(W, axis1=1, axis2=2), inputs[:, -1])
        a, M = attention(W, inputs, keys)
        s = np.einsum("hi,nhi->nh", u, a)
        slope = 1 - np.tanh(s) ** 2
        psi_w = np.einsum("nh,nhij,hj,nk->nhik", slope, M, u, inputs[:, -1])
        return np.tanh(s), slope[..., None] * a, psi_w

    def transport(u, W):
        c, by_u, by_w = features(anchors, u, W)
        norms = np.linalg.norm(by_w, axis=(2, 3))
        clipped = by_w * np.minimum(1.0, 3.0 / norms)[..., None, None]
        return (
            3.0 * np.einsum("r,rh->h", mixture, c),
            3.0 * np.einsum("r,rhi->hi", mixture, by_u),
            np.einsum("r,rhij->hij", mixture, clipped),
        )

    def average(u, W):
        v = transport(u, W)
        psi = features(x, u, W)
        return np.mean(
            [np.sum(psi[0] * v[0], 1), np.sum(psi[1] * v[1], (1, 2)), np.sum(psi[2] * v[2], (1, 2, 3))], 0
        ) * (3 / len(u))

    np.testing.assert_allclose(
        y, average(np.asarray(teacher.pool_u, float), np.asarray(teacher.pool_W, float)), atol=1e-5
    )
    v_c, v_u, v_w = transport(start["u"], start["W"])
    sign = start["c"]
    moved = {
        "c": start["c"] + v_c / 2.0,
        "u": start["u"] + sign[:, None] * v_u / 2.0,
        "W": start["W"] + sign[:, None, None] * v_w / 2.0,
    }
    error = np.max(np.abs(linear(start, moved, x) - y))
    assert outcome.values["approximation"] == pytest.approx(error, rel=1e-4)
    released = np.max(np.abs(average(start["u"], start["W"]) - y))
    assert outcome.values["approximation_released"] == pytest.approx(released, rel=1e-4)
    assert (error == pytest.approx(released, rel=1e-6)) == (config["teacher"] == "paper")


def projected_step(params, start, x, y, rate):
    f, gradient = output_and_gradient(params, x)
    moved = {k: params[k] - rate * np.tensordot(2 * (f - y) / len(y), gradient[k], 1) for k in params}
    for k in moved:
        way = (moved[k] - start[k]).reshape(4, -1)
        size = np.linalg.norm(way, axis=1, keepdims=True)
        moved[k] = start[k] + (way * np.minimum(1.0, 1.5 / np.maximum(size, 1e-30))).reshape(start[k].shape)
    return moved


@pytest.mark.parametrize("batch", [0, 3])
def test_stochastic_steps_are_projected_steps_on_fresh_draws(start, batch):
    config = TINY | {"batch": batch}
    _, x, y = problem(config)
    x, y = x[: config["n"]], y[: config["n"]]
    rng, params, losses = np.random.default_rng([config["seed"], config["steps"], batch]), dict(start), []
    for _ in range(config["steps"]):
        losses.append(np.mean((output_and_gradient(params, x)[0] - y) ** 2))
        drawn = rng.integers(len(y), size=batch) if batch else np.arange(len(y))
        params = projected_step(params, start, x[drawn], y[drawn], 1.75 / math.sqrt(config["steps"]))
    found = runs.run_stochastic(config)
    np.testing.assert_allclose(found.arrays["losses"], losses, rtol=2e-3)
    assert found.values["mean"] == pytest.approx(np.mean(losses), rel=1e-3)


def test_sequences_have_the_length_they_are_asked_for():
    assert problem(TINY)[1].shape[1] == grid.TOKENS
    assert problem(TINY | {"tokens": 5})[1].shape[1] == 5


def test_training_is_projected_gradient_descent(config, outcome, start):
    _, x, y = problem(config)
    x, y = x[: config["n"]], y[: config["n"]]
    params, losses = dict(start), []
    rate = 1.75 / math.sqrt(config["steps"])
    for _ in range(config["steps"]):
        losses.append(np.mean((output_and_gradient(params, x)[0] - y) ** 2))
        params = projected_step(params, start, x, y, rate)
    assert outcome.values["training_at_start"] == pytest.approx(np.mean(y**2), rel=1e-4)
    assert outcome.values["training"] == pytest.approx(min(losses), rel=1e-3)
    np.testing.assert_allclose(outcome.arrays["training_after"], [min(losses[:k]) for k in (1, 2, 4, 8, 16)], rtol=1e-3)
    longest = max(np.max(np.linalg.norm((params[k] - start[k]).reshape(4, -1), axis=1)) for k in params) * 2 / 3
    assert outcome.values["travelled"] == pytest.approx(longest, rel=1e-3)
    np.testing.assert_allclose(outcome.arrays["u_norms"], np.linalg.norm(start["u"][:2], axis=1))


def test_a_run_is_determined_by_its_seed(config, outcome):
    assert runs.run(config).values == outcome.values
    assert runs.run(config | {"seed": 5}).values["training"] != outcome.values["training"]


def planted(widths=(8, 16, 32, 64, 128), seeds=range(1, 7), teachers=grid.TEACHERS, skip=()):
    """Every error is a power of m times a factor of its seed, which all widths share."""
    exponents = {
        "linearisation": -0.5,
        "linearisation_largest": -0.5,
        "approximation": -0.5,
        "approximation_released": -0.25,
        "training": -1.0,
    }
    rng = np.random.default_rng(0)
    rows = []
    for teacher in teachers:
        for seed in seeds:
            factor = math.exp(rng.normal())
            for m in widths:
                noise = {name: math.exp(0.02 * rng.normal()) for name in exponents}
                values = {name: 0.1 * factor * noise[name] * m**power for name, power in exponents.items()}
                training_after = np.array([values["training"] * m ** (1 - k / 4) for k in range(5)])
                arrays = {"training_after": training_after, "u_norms": np.full(m // 2, 2.8)}
                config = {"teacher": teacher, "width": m, "seed": seed, "n": 8, "n_more": 2, "steps": 16}
                if (teacher, m, seed) not in skip:
                    done = values | {"travelled": 0.5}
                    rows.append(Row("", "", "", config, "done", values=done, arrays=arrays))
    return rows


def test_scales():
    for scale, seeds, widths in (("quick", 5, 5), ("paper", 10, 6)):
        configs = [run.config for run in figure.experiment(scale).runs]
        assert len({c["seed"] for c in configs}) >= seeds
        assert len({c["width"] for c in configs}) >= widths
        assert len(configs) == 2 * len({c["seed"] for c in configs}) * len({c["width"] for c in configs})


def words(analysis, *parts):
    """The verdicts of the findings whose setting has these parts."""
    return {f.verdict.word for f in analysis.findings if all(part in f.setting for part in parts)}


def test_planted_exponents_are_found():
    analysis = figure.analyse(planted())
    for setting, power in (
        ("linearisation error, mean over inputs, exponent in m", -0.5),
        ("approximation error, largest over inputs, the released teacher, exponent in m", -0.5),
        ("lowest training loss, the paper's teacher, exponent in m", -1.0),
    ):
        found = analysis.fits[setting]
        assert found["value"] == pytest.approx(power, abs=0.03)
        assert found["ci"][1] - found["ci"][0] < 0.2
    paper = "the paper's -1/2"
    assert words(analysis, "linearisation error, mean", paper) == {"agrees"}
    assert words(analysis, "lowest training loss", paper) == {"differs"}
    assert words(analysis, "as released", paper) == {"differs"}
    early = analysis.fits["training loss after 1/16 of the steps, the paper's teacher, exponent in m"]
    assert early["value"] == pytest.approx(0.0, abs=0.03)
    assert "with the released teacher" in analysis.headline
    assert "training -1.00 (differs)" in analysis.headline


def test_exponents_of_bounds():
    widths = [2**k for k in range(10, 20, 2)]
    assert figure.sound_exponent("approximation", widths) == pytest.approx(-0.5)
    assert figure.sound_exponent("training", widths) == pytest.approx(-1.0, abs=0.1)


def test_an_error_beyond_its_bound_is_reported():
    rows = planted(teachers=("paper",))
    assert words(figure.analyse(rows), "over its sound bound") == {"not violated"}
    rows[0].values["linearisation_largest"] = 1e6
    assert words(figure.analyse(rows), "Lemma 3") == {"violated"}


@pytest.mark.parametrize(
    "rows",
    [
        planted(widths=(8,), seeds=(1,)),
        planted(widths=(8, 16), seeds=(1,), teachers=("released_diagonal",)),
        planted(skip=[("paper", 8, 1), ("paper", 64, 2), *(("released_diagonal", 32, s) for s in range(1, 7))]),
        planted(widths=(8, 16), seeds=(1, 2), skip=[("paper", 8, 1), ("paper", 16, 2)]),
    ],
)
def test_missing_runs_are_no_obstacle(rows):
    analysis = figure.analyse(rows)
    for plot in analysis.plots.values():
        plot.figure.draw_without_rendering()
    if len({row.config["seed"] for row in rows}) < 2:
        assert not {"agrees", "differs"} & set(analysis.tally)

"""Theorem 1, Propositions 1 and 2, Remark 9: the formulas in mpmath, and runs of the algorithms they speak about."""

from __future__ import annotations

import dataclasses
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from mpmath import e, hypot, log, mp, mpf, pi, sqrt

from certiformer.theory.calculus.activations import activation
from certiformer.theory.core import find
from certiformer.theory.theorems.arda._descent import Descent, Radii
from certiformer.theory.theorems.arda._heads import UnitConstants, averaged
from certiformer.theory.theorems.arda._recurrent import recurrent_unit
from certiformer.theory.theorems.arda.proposition_2 import _descent
from theory.theorems.arda.reference_model import TanhNetwork, inner, tokens, unit

LOPSIDED = {
    "m": 40_000_000,
    "d": 6,
    "rho_c": 0.8,
    "rho_u": 0.5,
    "rho_w": 0.3,
    "nu_c": 0.7,
    "nu_u": 0.4,
    "nu_w": 0.25,
    "delta_R": 0.02,
    "n": 300,
    "delta": 0.03,
    "eta": 0.004,
    "tau": 5000,
}
RECURRENT = {key: value for key, value in LOPSIDED.items() if key not in ("d", "delta_R")} | {"T": 5, "alpha": 0.6}


@pytest.fixture(autouse=True)
def thirty_digits():
    with mp.workdps(30):
        yield


def constants(name):
    return {
        "tanh": (mpf(1), mpf(1), 4 / (3 * sqrt(mpf(3)))),
        "erf": (mpf(1), sqrt(2 / pi), sqrt(2 / (pi * e))),
        "sigmoid": (mpf(1), mpf(1) / 4, 1 / (6 * sqrt(mpf(3)))),
        "sin": (mpf(1), mpf(1), mpf(1)),
    }[name]


def head_constants(name, B):
    _, s1, s2 = constants(name)
    third = 4 / (3 * sqrt(mpf(3)))
    wide = max(mpf(1), B)
    return s1 * wide, s2 * wide**2 + s1 / 2 * (third * B + sqrt(third**2 * B**2 + 4))


def theorem(i, s0, L1, L1_squared, L2, eps_app, target, misfit=0):
    """Every formula of the theorem, written out again in multiple precision."""
    m, eta, tau = mpf(i["m"]), mpf(i["eta"]), mpf(i["tau"])
    rho_c, nu_c = mpf(i["rho_c"]), mpf(i["nu_c"])
    rho, nu = hypot(i["rho_u"], i["rho_w"]), hypot(i["nu_u"], i["nu_w"])
    V0 = nu_c**2 + mpf(i["nu_u"]) ** 2 + mpf(i["nu_w"]) ** 2
    G2 = s0**2 + (1 + rho_c / sqrt(m)) ** 2 * L1_squared
    eps_lin = (rho_c * rho * L1 + rho**2 * L2 / 2) / sqrt(m)
    eps_nl = (L1 * (nu_c * rho + rho_c * (rho + nu)) + L2 * (rho**2 / 2 + rho * nu)) / sqrt(m)
    change = ((rho_c + nu_c) * L1 * rho + (rho + nu) * (rho_c * L1 + L2 * rho)) / sqrt(m)
    eps, kappa = eps_nl + eps_app + misfit, 1 - eta * G2
    F = s0 * rho_c + L1 * rho + target
    A = ((eps + sqrt(eps**2 + kappa * V0 / (eta * tau))) / (2 * kappa)) ** 2
    paper = (V0 / 4 + G2 * F**2) / sqrt(tau)
    return {
        "value": A,
        "any_step": ((eps + sqrt(eps**2 + V0 / (eta * tau) + 4 * eta * G2 * F**2)) / 2) ** 2,
        "average_iterate": (sqrt(A) + 2 * eps_lin) ** 2,
        "optimisation": V0 / (2 * kappa * eta * tau),
        "approximation": 2 * eps_app**2 / kappa**2,
        "linearisation": 2 * eps_nl**2 / kappa**2,
        "kappa": kappa,
        "G2": G2,
        "eps_lin": eps_lin,
        "eps_nl": eps_nl,
        "eps_app": eps_app,
        "eta_suggested": 1 / (2 * G2),
        "initial": target**2,
        "paper": paper + F * (eps_nl + eps_app),
        "paper_apart": paper + F * (eps_lin + change + eps_app),
    }


def transformer(name, i, *, target="joint", norms=None, misfit=0):
    s0, s1, _ = constants(name)
    if norms is None:
        B = sqrt(mpf(i["d"])) + sqrt(2 * log(i["m"] / (2 * mpf(i["delta_R"])))) + i["rho_u"] / sqrt(mpf(i["m"]))
        L1, L2 = head_constants(name, B)
        squared = L1**2
    else:
        heads = [head_constants(name, mpf(norm) + i["rho_u"] / sqrt(mpf(i["m"]))) for norm in norms]
        L1, L2 = (sum(column) / len(heads) for column in zip(*heads, strict=True))
        squared = sum(head[0] ** 2 for head in heads) / len(heads)
    scale = s0 * i["nu_c"] + s1 * i["nu_u"] + 2 * s1 * i["nu_w"]
    eps_app = 2 * scale * sqrt(log(2 * i["n"] / mpf(i["delta"])) / i["m"])
    reach = (
        mpf(i["nu_w"]) + mpf(i["nu_u"]) ** 2 / (4 * mpf(i["nu_w"])) if target == "joint" else mpf(i["nu_u"]) + i["nu_w"]
    )
    return theorem(i, s0, L1, squared, L2, eps_app, s0 * i["nu_c"] + s1 * reach + misfit, misfit)


def agree(bound, expected):
    assert bound.value == pytest.approx(float(expected), rel=1e-10)


@pytest.mark.independent("arda.thm1", "arda.prop1")
@pytest.mark.parametrize("id", ["arda.thm1", "arda.prop1"])
@pytest.mark.parametrize("name", ["tanh", "erf", "sigmoid", "sin"])
def test_every_formula_in_multiple_precision(id: str, name: str) -> None:
    evaluation = find(id).evaluate({"activation": name, **LOPSIDED})
    expected = transformer(name, LOPSIDED)
    bounds = evaluation.sound
    for key in ("value", "any_step", "average_iterate", "kappa", "G2", "eps_lin", "eps_nl", "eps_app", "initial"):
        agree(bounds[key], expected[key])
    agree(bounds["eta_suggested"], expected["eta_suggested"])
    for term in ("optimisation", "approximation", "linearisation"):
        assert bounds["separated"].terms[term] == pytest.approx(float(expected[term]), rel=1e-11)
    assert bounds["separated"].value == pytest.approx(sum(bounds["separated"].terms.values()), rel=1e-10)
    assert bounds["separated"].additive
    plain = transformer(name, LOPSIDED, target="plain")
    agree(evaluation.printed["value"], plain["paper"])
    agree(evaluation.printed["errors_apart"], plain["paper_apart"])
    assert all(bound.applies for bound in bounds.values())
    assert bounds["value"].trivial == pytest.approx(float(expected["initial"]), rel=1e-11)


@pytest.mark.independent("arda.thm1", "arda.prop1", "arda.rem9")
def test_the_realised_norms_enter_as_averages() -> None:
    inputs = LOPSIDED | {"m": 6}
    norms = [1.7, 2.9, 0.3]
    for id, misfit in (("arda.thm1", 0), ("arda.prop1", 0), ("arda.rem9", mpf("0.2"))):
        further = {"misfit": 0.2} if misfit else {}
        bounds = find(id).evaluate({"activation": "tanh", **inputs, "u_norms": norms, **further}).sound
        agree(bounds["init"], transformer("tanh", inputs, norms=norms, misfit=misfit)["value"])
        both = find(id).evaluate({"activation": "tanh", **inputs, "u_norms": norms * 2, **further}).sound
        assert both["init"].value == pytest.approx(bounds["init"].value, rel=1e-12)
        assert bounds["init"].applies


@pytest.mark.independent("arda.rem9")
def test_the_misfit_enters_inside_the_square() -> None:
    inputs = {"activation": "erf", **LOPSIDED, "misfit": 0.125}
    evaluation = find("arda.rem9").evaluate(inputs)
    expected = transformer("erf", LOPSIDED, misfit=mpf("0.125"))
    for key in ("value", "any_step", "average_iterate", "initial"):
        agree(evaluation.sound[key], expected[key])
    agree(evaluation.printed["value"], transformer("erf", LOPSIDED, target="plain")["paper"] + mpf("0.125"))
    assert "separated" not in evaluation.sound


@pytest.mark.property_of("arda.rem9")
def test_no_misfit_is_theorem_1() -> None:
    exact = find("arda.thm1").evaluate({"activation": "tanh", **LOPSIDED})
    general = find("arda.rem9").evaluate({"activation": "tanh", **LOPSIDED, "misfit": 0})
    for key in ("value", "any_step", "average_iterate", "initial"):
        assert general.sound[key].value == exact.sound[key].value
    assert general.printed["value"].value == exact.printed["value"].value


@pytest.mark.independent("arda.prop2")
@pytest.mark.parametrize(("name", "T", "alpha"), [("tanh", 5, 0.6), ("erf", 1, 1.7), ("sin", 3, 1.4)])
def test_recurrent_formulas_in_multiple_precision(name: str, T: int, alpha: float) -> None:
    i = RECURRENT | {"T": T, "alpha": alpha}
    s0, s1, s2 = constants(name)

    def recursion(U):
        Lw = Lu = G = L2 = prev = mpf(0)
        for _ in range(T):
            dz = min(sqrt(1 + prev**2) + U * G, hypot(1 + U * Lw, prev + U * Lu))
            L2 = s2 * dz**2 + s1 * (G + min(G, Lu) + U * L2)
            Lw, Lu, G, prev = s1 * (1 + U * Lw), s1 * (prev + U * Lu), s1 * dz, s0
        return Lw, Lu, G, L2

    Lw0, Lu0, _, _ = recursion(mpf(alpha))
    Lw, Lu, L1, L2 = recursion(mpf(alpha) + i["rho_u"] / sqrt(mpf(i["m"])))
    scale = s0 * i["nu_c"] + Lw0 * i["nu_w"] + Lu0 * i["nu_u"]
    eps_app = 2 * scale * sqrt(log(2 * i["n"] / mpf(i["delta"])) / i["m"])
    expected = theorem(i, s0, L1, L1**2, L2, eps_app, scale) | {"Lw": Lw, "Lu": Lu, "L1": L1, "L2": L2}
    evaluation = find("arda.prop2").evaluate({"activation": name, **i})
    for key in ("value", "any_step", "average_iterate", "kappa", "G2", "eps_lin", "eps_nl", "eps_app", "initial"):
        agree(evaluation.sound[key], expected[key])
    for key in ("Lw", "Lu", "L1", "L2"):
        agree(evaluation.sound[key], expected[key])
    agree(evaluation.sound["separated"], sum(expected[t] for t in ("optimisation", "approximation", "linearisation")))
    agree(evaluation.printed["value"], expected["paper"])
    assert all(bound.applies for bound in evaluation.sound.values())


@pytest.mark.property_of("arda.prop2")
def test_sequence_length_matters_only_beyond_the_cutoff() -> None:
    sigma = activation("tanh")
    below = [recurrent_unit(sigma, T, 0.9) for T in (400, 100_000)]
    assert pytest.approx(below[1].L1, rel=1e-12) == below[0].L1
    assert pytest.approx(below[0].L2, rel=1e-10) == below[1].L2
    above = [recurrent_unit(sigma, T, 1.2) for T in (40, 41)]
    assert above[1].Lw / above[0].Lw == pytest.approx(1.2, rel=1e-3)
    assert pytest.approx(1.2**2, rel=0.1) == above[1].L2 / above[0].L2
    endless = find("arda.prop2").evaluate({"activation": "tanh", **RECURRENT, "T": 50_000, "alpha": 1.5})
    assert endless.sound["L2"].value == math.inf
    assert endless.sound["value"].value == math.inf
    assert not endless.sound["value"].applies
    first = recurrent_unit(sigma, 1, 3.0)
    assert (first.Lw, first.Lu, first.L1, first.L2) == (1.0, 0.0, 1.0, sigma.s2)


@pytest.mark.property_of("arda.thm1", "arda.prop1")
def test_orderings_and_rates() -> None:
    result = find("arda.thm1")
    inputs = {"activation": "tanh", **LOPSIDED}
    bounds = result.evaluate(inputs).sound
    assert bounds["exact"].value < bounds["value"].value <= bounds["separated"].value
    assert bounds["separated"].value <= 2 * bounds["value"].value  # the loss of separating is at most two here
    assert bounds["value"].value < bounds["average_iterate"].value
    # optimisation error 1/tau, not 1/sqrt(tau); approximation error 1/m
    later = result.evaluate(inputs | {"tau": 4 * 5000}).sound["separated"].terms
    assert later["optimisation"] == pytest.approx(bounds["separated"].terms["optimisation"] / 4, rel=1e-12)
    # kappa moves a little with m, through R
    wider = result.evaluate(inputs | {"m": 4 * 40_000_000}).sound["separated"].terms
    assert wider["approximation"] == pytest.approx(bounds["separated"].terms["approximation"] / 4, rel=0.05)
    # no sequence length anywhere
    assert "T" not in {entry.name for entry in result.inputs}
    sgd = find("arda.prop1").evaluate(inputs).sound
    assert {name: bound.value for name, bound in sgd.items()} == {name: bound.value for name, bound in bounds.items()}
    assert len(sgd["value"].hypotheses) > len(bounds["value"].hypotheses)
    assert sgd["kappa"].hypotheses == ()


@pytest.mark.property_of("arda.thm1", "arda.prop1", "arda.rem9", "arda.prop2")
@pytest.mark.parametrize("id", ["arda.thm1", "arda.prop1", "arda.rem9", "arda.prop2"])
def test_hypotheses_are_checked(id: str) -> None:
    result = find(id)
    given = {"activation": "tanh"} | (RECURRENT if id == "arda.prop2" else LOPSIDED)
    given |= {"misfit": 0.01} if id == "arda.rem9" else {}
    variants = ("value", "any_step", "average_iterate", "initial")
    sound = result.evaluate(given).sound
    assert all(sound[name].applies for name in variants)
    for broken in ({"m": 40_000_001}, {"nu_c": 0.81}, {"nu_u": 0.51}, {"nu_w": 0.31}):
        assert not any(result.evaluate(given | broken).sound[name].applies for name in variants)
    fitting = {"nu_c": 0.8, "nu_u": 0.5, "nu_w": 0.3}
    assert all(result.evaluate(given | fitting).sound[name].applies for name in variants)
    # a step that is too long leaves only the bound that holds for every step
    long = result.evaluate(given | {"eta": 1.001 / sound["G2"].value}).sound
    assert long["value"].value == long["average_iterate"].value == math.inf
    assert [long[name].applies for name in variants] == [False, True, False, True]
    assert long["any_step"].value < math.inf
    if "separated" in long:
        assert set(long["separated"].terms.values()) == {math.inf}
        assert not long["separated"].applies
    printed = result.evaluate(given | {"eta": 1 / math.sqrt(5000)}).printed["value"]
    assert printed.applies
    assert not result.evaluate(given).printed["value"].applies
    caller = [check for check in sound["value"].hypotheses if check.state in ("open", "stated")]
    assert any("independently of, the initialisation" in check.requires for check in caller)
    assert all(check.state == "open" for check in caller)


def realisable(rng, m, d, T, n, nu, rho):
    """A network, inputs, and labels that the linearised network fits exactly at transported parameters."""
    network, X = TanhNetwork(rng, m, d), tokens(rng, n, T, d)
    c = network.initial[0]
    half = m // 2
    v_u, v_w = rng.normal(size=(half, d)), rng.normal(size=(half, d, d))
    v_u *= nu[1] / np.linalg.norm(v_u, axis=1, keepdims=True)
    v_w *= nu[2] / np.sqrt((v_w**2).sum((1, 2), keepdims=True))
    v_c = nu[0] * rng.choice([-1.0, 1.0], half)
    pair = lambda v: np.concatenate([v, v])  # noqa: E731
    step = (pair(v_c), c[:, None] * pair(v_u), c[:, None, None] * pair(v_w))
    step = tuple(block / math.sqrt(m) for block in step)
    _, jacobian = network.jacobian(network.initial, X)
    y = np.array([inner([block[j] for block in jacobian], step) for j in range(n)])
    goal = tuple(start + move for start, move in zip(network.initial, step, strict=True))
    norms = np.linalg.norm(network.initial[1], axis=1) + rho[1] / math.sqrt(m)
    units = averaged(activation("tanh"), list(norms))
    return network, X, y, goal, units


def loss_and_gradient(network, parameters, X, y):
    f, jacobian = network.jacobian(parameters, X)
    residual = f - y
    gradient = tuple(2 * np.tensordot(residual, block, axes=1) / len(y) for block in jacobian)
    return float(np.mean(residual**2)), gradient, jacobian, f


@pytest.mark.independent("arda.thm1")
@pytest.mark.parametrize(("seed", "m", "size"), [(0, 8, 0.3), (1, 64, 1.0), (2, 200, 0.05)])
def test_a_run_of_projected_descent_obeys_every_inequality(seed: int, m: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    nu = rho = (size, size, size)
    network, X, y, goal, units = realisable(rng, m, 3, 4, 7, nu, rho)
    tau = 40
    run = Descent(units, m, Radii(*rho), Radii(*nu), 0.0, tau, 0.0, float(np.abs(y).max()))
    run = dataclasses.replace(run, eta=0.5 / run.G2)
    now, total, losses = network.initial, [np.zeros_like(x) for x in network.initial], []
    gap = [a - b for a, b in zip(now, goal, strict=True)]
    distance = inner(gap, gap)
    assert distance <= run.nu.squared * (1 + 1e-12)
    start_jacobian = network.jacobian(now, X)[1]
    for _ in range(tau):
        loss, gradient, jacobian, f = loss_and_gradient(network, now, X, y)
        losses.append(loss)
        total = [t + x for t, x in zip(total, now, strict=True)]
        assert np.abs(f).max() + np.abs(y).max() <= run.residual
        assert inner(gradient, gradient) <= 4 * run.G2 * loss * (1 + 1e-12)
        for j in range(len(y)):
            moved = [a - b for a, b in zip(now, network.initial, strict=True)]
            linear = inner([block[j] for block in start_jacobian], moved)
            assert abs(f[j] - linear) <= run.eps_lin
            toward = inner([block[j] for block in jacobian], gap)
            assert abs(toward - f[j] + y[j]) <= run.eps_nl
        now = network.project(tuple(x - run.eta * g for x, g in zip(now, gradient, strict=True)), rho)
        gap = [a - b for a, b in zip(now, goal, strict=True)]
        drift = -4 * run.eta * run.kappa * loss + 4 * run.eta * run.eps * math.sqrt(loss)
        assert inner(gap, gap) <= distance + drift + 1e-12
        distance = inner(gap, gap)
    assert np.mean(losses) <= run.mean_loss <= sum(run.separated.values()) * (1 + 1e-12)
    assert np.mean(losses) <= run.mean_loss_any_step
    average = tuple(t / tau for t in total)
    assert loss_and_gradient(network, average, X, y)[0] <= run.averaged_iterate_loss
    assert min(losses) <= losses[0] <= run.target**2


@pytest.mark.independent("arda.thm1")
def test_one_step_of_the_best_size_loses_a_small_factor() -> None:
    # one sample, target along the gradient: the loss at the start is ||grad f||^2 V0, the bound near G2 V0
    rng = np.random.default_rng(3)
    m, d = 20, 2
    network, X = TanhNetwork(rng, m, d), tokens(rng, 1, 2, d)
    jacobian = [block[0] for block in network.jacobian(network.initial, X)[1]]
    square = inner(jacobian, jacobian)
    scale = 1e-7 / math.sqrt(square)
    radii = Radii(*(math.sqrt(m) * scale * float(np.linalg.norm(b.reshape(m, -1), axis=1).max()) for b in jacobian))
    norms = list(np.linalg.norm(network.initial[1], axis=1) + radii.u)
    y = scale * square
    run = Descent(averaged(activation("tanh"), norms), m, radii, radii, 0.0, 1, 0.0, y)
    run = dataclasses.replace(run, eta=0.5 / run.G2)
    assert y * y == pytest.approx(loss_and_gradient(network, network.initial, X, np.array([y]))[0], rel=1e-12)
    assert y * y <= run.mean_loss <= 60 * y * y


@pytest.mark.property_of("arda.thm1")
def test_a_step_of_exactly_one_over_G2_is_too_long() -> None:
    run = Descent(UnitConstants(1.0, 1.0, 1.0, 1.0), 4, Radii(0.0, 1.0, 1.0), Radii(0.0, 1.0, 1.0), 0.5, 10, 0.1, 1.0)
    assert run.kappa == 0.0
    assert run.mean_loss == run.averaged_iterate_loss == math.inf
    assert set(run.separated.values()) == {math.inf}
    assert run.step_check.state == "fails"
    shorter = dataclasses.replace(run, eta=0.499)
    assert 0 < shorter.kappa < 0.01
    assert shorter.mean_loss < math.inf
    assert sum(shorter.separated.values()) < math.inf
    assert shorter.step_check.state == "verified"


@pytest.mark.independent("arda.prop1")
def test_stochastic_descent_in_exact_expectation() -> None:
    rng = np.random.default_rng(5)
    m, n, tau = 12, 2, 3
    nu = rho = (0.4, 0.6, 0.5)
    network, X, y, _, units = realisable(rng, m, 2, 3, n, nu, rho)
    run = Descent(units, m, Radii(*rho), Radii(*nu), 0.0, tau, 0.0, float(np.abs(y).max()))
    run = dataclasses.replace(run, eta=0.4 / run.G2)
    means, averages = [], []
    for path in itertools.product(range(n), repeat=tau):
        now, losses, total = network.initial, [], [np.zeros_like(x) for x in network.initial]
        for j in path:
            losses.append(loss_and_gradient(network, now, X, y)[0])
            total = [t + x for t, x in zip(total, now, strict=True)]
            _, gradient, _, _ = loss_and_gradient(network, now, X[j : j + 1], y[j : j + 1])
            now = network.project(tuple(x - run.eta * g for x, g in zip(now, gradient, strict=True)), rho)
        means.append(np.mean(losses))
        averages.append(loss_and_gradient(network, tuple(t / tau for t in total), X, y)[0])
    assert np.mean(means) <= run.mean_loss
    assert np.mean(averages) <= run.averaged_iterate_loss


@pytest.mark.counterexample("arda.rem9")
def test_a_misfit_added_to_the_loss_is_false() -> None:
    rng = np.random.default_rng(7)
    m, d, n, tau, Y = 64, 3, 4, 10, 1e4
    network, X = TanhNetwork(rng, m, d), tokens(rng, n, 4, d)
    y = np.full(n, Y)
    radii = {f"{kind}_{block}": 0.1 for kind in ("rho", "nu") for block in "cuw"}
    eta = 1 / math.sqrt(tau)
    norms = np.linalg.norm(network.initial[1], axis=1)
    inputs = {"activation": "tanh", "m": m, "d": d, **radii, "delta_R": 0.01, "n": n, "delta": 0.05, "eta": eta}
    # g = 0 lies in F_nu, so the best misfit is at most Y
    claim = find("arda.rem9").evaluate(inputs | {"tau": tau, "misfit": Y, "u_norms": norms})
    now, losses = network.initial, []
    for _ in range(tau):
        loss, gradient, _, _ = loss_and_gradient(network, now, X, y)
        losses.append(loss)
        now = network.project(tuple(x - eta * g for x, g in zip(now, gradient, strict=True)), (0.1, 0.1, 0.1))
    assert claim.printed["value"].applies
    assert min(losses) > 1000 * claim.printed["value"].value
    assert min(losses) <= claim.sound["any_step"].value
    assert min(losses) <= claim.sound["initial"].value


@pytest.mark.independent("arda.prop2")
def test_a_run_of_the_recurrent_network_obeys_the_bound() -> None:
    rng = np.random.default_rng(8)
    m, T, n, d, tau, alpha = 16, 3, 5, 2, 25, 0.8
    half = m // 2
    rho = nu = Radii(0.5, 0.4, 0.6)
    c = rng.choice([-1.0, 1.0], half)
    theta = np.concatenate([alpha * rng.choice([-1.0, 1.0], (half, 1)), rng.normal(size=(half, d))], axis=1)
    c0, theta0 = np.concatenate([c, -c]), np.concatenate([theta, theta])
    X = tokens(rng, n, T, d)
    direction = rng.normal(size=(half, d))
    v_w = nu.w * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    v = np.concatenate([nu.u * rng.choice([-1.0, 1.0], (half, 1)), v_w], axis=1)
    v_c = nu.c * rng.choice([-1.0, 1.0], half)
    step_c = np.concatenate([v_c, v_c]) / math.sqrt(m)
    step_theta = c0[:, None] * np.concatenate([v, v]) / math.sqrt(m)
    run = _descent("tanh", m, T, alpha, rho, nu, n, 0.05, 0.0, tau)
    # the labels are those of the linearised network at the transported parameters: no approximation error
    run = dataclasses.replace(run, eta=0.5 / run.G2, eps_app=0.0)
    with jax.enable_x64(True):
        X = jnp.asarray(X)
        hidden = jax.vmap(jax.vmap(lambda t, x: unit(jnp.tanh, t, x), (None, 0)), (0, None))
        output = lambda p: p[0] @ hidden(p[1], X) / math.sqrt(m)  # noqa: E731
        start = (jnp.asarray(c0), jnp.asarray(theta0))
        _, y = jax.jit(lambda p, t: jax.jvp(output, (p,), (t,)))(start, (jnp.asarray(step_c), jnp.asarray(step_theta)))
        evaluate = jax.jit(jax.value_and_grad(lambda p: jnp.mean((output(p) - y) ** 2)))
        now, losses = start, []
        for _ in range(tau):
            loss, (g_c, g_theta) = evaluate(now)
            losses.append(float(loss))
            move_c = np.asarray(now[0] - run.eta * g_c) - c0
            move = np.asarray(now[1] - run.eta * g_theta) - theta0
            move_c = np.clip(move_c, -rho.c / math.sqrt(m), rho.c / math.sqrt(m))
            move_u = np.clip(move[:, :1], -rho.u / math.sqrt(m), rho.u / math.sqrt(m))
            length = np.linalg.norm(move[:, 1:], axis=1, keepdims=True)
            move_w = move[:, 1:] * np.minimum(1, rho.w / math.sqrt(m) / np.maximum(length, 1e-300))
            now = (jnp.asarray(c0 + move_c), jnp.asarray(theta0 + np.concatenate([move_u, move_w], axis=1)))
    assert losses[0] <= run.target**2
    assert losses[-1] < losses[0]
    assert np.mean(losses) <= run.mean_loss


@pytest.mark.property_of("arda.thm1", "arda.prop1", "arda.rem9", "arda.prop2", "arda.lem3", "arda.lem6")
@pytest.mark.parametrize("id", ["arda.thm1", "arda.prop1", "arda.rem9", "arda.prop2", "arda.lem3", "arda.lem6"])
def test_promised_directions_hold_at_feasible_points(id: str) -> None:
    result = find(id)
    known = {entry.name for entry in result.inputs}
    point = (
        {"activation": "erf"}
        | LOPSIDED
        | {"T": 6, "alpha": 0.9, "misfit": 0.02, "rho_c": 2.0, "rho_u": 2.0, "rho_w": 2.0}
    )
    point = {name: value for name, value in point.items() if name in known}
    before = result.evaluate(point).sound
    for name, sign in result.directions().items():
        larger = 2 * point[name] if isinstance(point[name], int) else 1.25 * point[name]
        after = result.evaluate(point | {name: larger}).sound
        for variant, bound in before.items():
            if bound.bounds not in (None, result.bounds):
                continue
            assert bound.applies
            assert after[variant].applies
            assert sign * (after[variant].value - bound.value) >= -1e-9 * bound.value, (name, variant)

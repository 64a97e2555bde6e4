"""LeCun-initialised shallow encoders (Mwigo & Dasgupta): the readout alone already makes a known complexity.

Moving w_O within its radius gives Rad >= R_O E||sum_i s_i h(x_i)||/n, by enumeration of the signs. For Theorem 5 the
law is one example, so that the risk is the training loss. For Lemma 4 the conditions are computed with the true norms.
Now and then the units are tiny, where squares underflow.
"""

import itertools
import math

import numpy as np

from theory.theorems.mwigo.encoder import features, initial, norms
from validity.problem import Problem, log_uniform, loose

IDS = ("mwigo.lem1", "mwigo.lem2", "mwigo.lem4", "mwigo.lem4", "mwigo.lem4", "mwigo.thm5")  # Lemma 4 is quick


def make(rng, ids=IDS):
    id = str(rng.choice(ids))
    d = round(log_uniform(rng, 1, 24))
    dm = round(log_uniform(rng, 1, 512))
    n, ds = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    unit = 1e-165 if rng.random() < 0.05 else log_uniform(rng, 0.03, 3.0)
    weights = initial(rng, d, dm)
    X = _tokens(rng, weights[2], n, ds, d) * unit
    hidden = features(X, *weights[:3])
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=n)))
    RO = log_uniform(rng, 1e-6, 3.0)
    longest = float(np.max(np.linalg.norm(X, axis=-1)))
    spread = max(float(np.linalg.norm(a - b)) for x in X for a in x for b in x) / 2
    shape = {
        "n": n,
        "ds": ds,
        "d": d,
        "dm": dm,
        "RX": loose(rng, longest),
        **{name: log_uniform(rng, 1e-6, 3.0) for name in ("RQ", "RK", "RV")},
        "RO": RO,
    }
    actual = {name: float(value) for name, value in norms(*weights).items()}
    inputs = shape | {name: loose(rng, value) for name, value in actual.items()}
    inputs |= {"B": loose(rng, longest), "rho": loose(rng, spread)}
    truths = {"Rademacher complexity": RO * float(np.mean(_lengths(signs @ hidden)) / n)}
    if id == "mwigo.thm5":
        inputs, truths = _one_example(rng, inputs, weights, hidden, longest)
    if id == "mwigo.lem4":
        inputs, truths = _training(rng, inputs, weights, hidden)

    def facts(given):
        bounded = all(_taken(given, name, dm) >= value * (1 - 1e-12) for name, value in actual.items())
        alpha, residual = given.get("alpha", 1.0), given.get("residual0", 0.0)
        first, second = _conditions(actual, shape, longest, alpha)
        printed_first, printed_second = _printed_conditions(actual, shape, alpha)
        # They speak of the norms as they are taken: if those are too small, it is this that is not so.
        small = {
            r"alpha\^2 >= 4": first, r"alpha\^3 >= 8": second,
            r"alpha\^2 >= 8": printed_first, r"alpha\^3 >= 32": printed_second,
        }  # fmt: skip
        return {
            r"initial weights are within": bounded,
            **{words: not bounded or residual <= most * (1 + 1e-9) for words, most in small.items()},
            r"B <= sqrt\(ds\)": math.sqrt(ds) * shape["RX"] >= longest * (1 - 1e-9),
            r"d_m >= N": dm >= n,
            r"B bounds every token|token has|tokens? .*norm|loss is clipped|ymax|same clip|LS": True,
            r"gradient flow|residual is|Phi has not grown|1-Lipschitz|N-th singular|pool": True,
        }

    return Problem(id, inputs, truths, facts)


def _taken(given, name, dm):
    """The norm that was stated, or what is taken for it: LeCun's, for a spectral norm the Frobenius norm."""
    if name in given:
        return given[name]
    if name.endswith("2"):
        return _taken(given, f"{name[:2]}F", dm)
    return 1.0 if name == "wOF" else math.sqrt(dm)


def _tokens(rng, value, n, ds, d):
    """Random tokens, or those along which W_V is longest: signs of its top right singular vector."""
    if rng.random() < 0.5:
        X = rng.normal(size=(n, ds, d))
        return X / np.linalg.norm(X, axis=-1, keepdims=True)
    top = np.linalg.svd(value, full_matrices=False)[2][0]
    best = max((top, -top), key=lambda x: float(np.linalg.norm(np.maximum(value @ x, 0))))
    return np.broadcast_to(best, (n, ds, d)).copy()


def _lengths(rows):
    """Euclidean norms without underflow."""
    scale = np.max(np.abs(rows)) or 1.0
    return scale * np.linalg.norm(rows / scale, axis=-1)


def _one_example(rng, inputs, weights, hidden, longest):
    """One example repeated for ever: |f - y| with the readout moved along the features is the loss on every sample."""
    h = hidden[0]
    length = float(_lengths(h[None])[0])
    f = float(weights[3] @ h + inputs["RO"] * length)
    label = -f if rng.random() < 0.5 else 0.0
    loss = abs(f - label)
    inputs = {name: value for name, value in inputs.items() if name != "n"} | {
        "n": round(log_uniform(rng, 1, 1e8)),
        "alpha": 0.5,
        "delta": 0.05,
        "LS": loss,
        "ymax": loose(rng, abs(label)),
        "clip": loose(rng, loss) + 1e-300,
    }
    return inputs, {"risk": loss}


def _training(rng, inputs, weights, hidden):
    """The initial weights themselves: gradient flow at time zero."""
    f = hidden @ weights[3]
    gap = f * log_uniform(rng, 1e-9, 1.0) + 1e-300
    alpha = float(np.linalg.svd(hidden, compute_uv=False)[-1]) + 1e-300
    residual = float(_lengths(gap[None])[0])
    inputs = inputs | {"alpha": alpha, "residual0": residual, "residual": residual, "t": 0.0, "lyy": 0.0, "flow": True}
    return inputs, {"training loss": float(np.mean(np.abs(gap)))}


def _conditions(actual, shape, B, alpha):
    """Upper limits on sqrt(2 Phi_0) for the flow, with the true norms."""
    M, z = _scales(actual, shape, 2 * math.log(B) - 0.5 * math.log(shape["dm"]))
    length = 0.5 * math.log(shape["n"]) + math.log(B)
    return _limits(alpha, math.log(4.0) + length + M, math.log(8.0) + 2 * length + z)


def _printed_conditions(actual, shape, alpha):
    """The same as the paper prints them, with the stated R_X."""
    ds, RX = shape["ds"], math.log(shape["RX"])
    M, z = _scales(actual, shape, math.log(2.0) + 2 * RX + math.log(ds) - 0.5 * math.log(shape["dm"]))
    rho = 0.5 * math.log(shape["n"]) + 1.5 * math.log(ds) + RX
    return _limits(alpha, math.log(8.0) + rho + M, math.log(32.0) + 2 * rho + z)


def _scales(actual, shape, attention):
    """ln M and ln(z/eta_O), the sensitivity of the attention given by its logarithm."""
    q, k, v = (math.log(actual[f"W{letter}2"] + shape[f"R{letter}"]) for letter in "QKV")
    read = math.log(actual["wOF"] + shape["RO"])
    Q, K, V, R = (math.log(shape[f"R{letter}"]) for letter in "QKVO")
    M = max(v - R, read - V, attention + k + v + read - Q, attention + q + v + read - K)
    return M, read + float(np.logaddexp(0.0, 2 * (attention + v) + np.logaddexp(2 * q, 2 * k)))


def _limits(alpha, first, second):
    ln_alpha = math.log(alpha)
    return tuple(math.exp(min(700.0, ln)) for ln in (2 * ln_alpha - first, 3 * ln_alpha - second))

"""Theorem 4.2, its corollaries and the lemmas of Appendix E: real networks perturbed, and networks that shatter."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from certiformer.theory.core import InputError, find
from certiformer.theory.theorems.trauger import _multi_layer

_spec = importlib.util.spec_from_file_location("trauger_networks", Path(__file__).with_name("networks.py"))
networks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(networks)

NET = {"L_sigma": 1, "Bc2": 1, "Bv2": 0.7, "BQK2": 0.5, "Bw": 1, "layers": 2, "eps": 1}


def values(id, **inputs):
    return {name: bound.value for name, bound in find(id).evaluate(inputs).sound.items()}


def perturbed(rng, W, size):
    change = rng.normal(size=W.shape)
    return W + change * size / np.linalg.norm(change, 2)


def deep(L_sigma, c, v, q, Bw, layers, heads, Bx, rho):
    return _multi_layer.DeepTransformer(
        L_sigma=L_sigma, Bc2=c, Bv2=v, BQK2=q, Bw=Bw, layers=layers, heads=heads, Bx=Bx, rho=rho, eps=1.0
    )


@pytest.mark.independent("trauger.thm4.2", "trauger.cor4.2.1", "trauger.corF.0.1", "trauger.corF.0.2")
@pytest.mark.parametrize("seed", range(40))
def test_sensitivities_hold_on_real_networks(seed):
    """|f - fhat| <= sum of beta_i times the error of weight i at the inputs of the covered network."""
    rng = np.random.default_rng(seed)
    d, k, T, heads = 4, 3, 5, int(rng.integers(1, 3))
    layers = int(rng.integers(1, 4))
    L_sigma = float(rng.choice([0.5, 1.0, 2.0]))
    sigma = lambda z: L_sigma * np.tanh(z)  # noqa: E731
    X = networks.unit_ball(rng.normal(size=(T, d))) * float(rng.choice([0.3, 1.0, 3.0]))
    Bx = np.linalg.norm(X, axis=1).max()
    c, v, q, Bw = (float(rng.uniform(0.3, 2)) for _ in range(4))
    stack = [
        [
            (
                networks.spectral(rng, (k, d), c),
                networks.spectral(rng, (d, k), v),
                networks.spectral(rng, (d, d), q),
            )
            for _ in range(heads)
        ]
        for _ in range(layers)
    ]
    w = rng.normal(size=d)
    w *= Bw / np.linalg.norm(w)
    size = float(rng.choice([1e-3, 0.1, 1.0]))
    hat = [[tuple(perturbed(rng, W, size * rng.uniform()) for W in head) for head in layer] for layer in stack]
    what = w + rng.normal(size=d) * size * 0.1
    # errors at the inputs of the covered network
    net = deep(L_sigma, c, v, q, Bw, layers, heads, Bx, None)
    weights = _multi_layer.weights(net, proper=False)
    betas = {(weight.kind, i): math.exp(weight.ln_beta) for i, weight in enumerate(weights)}
    Z, total = X, 0.0
    for i in range(layers):
        of_kind = {kind: betas[kind, 1 + 3 * i + j] for j, kind in enumerate("cvq")}
        inputs = np.linalg.norm(Z, axis=1).max()
        assert inputs <= (Bx if i == 0 else 1.0) + 1e-9
        for (Wc, Wv, Wqk), (Hc, Hv, Hqk) in zip(stack[i], hat[i], strict=True):
            hidden = sigma(networks.unit_ball(networks.attention(Z, Hqk) @ Hv))
            assert np.linalg.norm(hidden, axis=1).max() <= L_sigma + 1e-9
            total += of_kind["c"] * np.linalg.norm(hidden @ (Wc - Hc), axis=1).max()
            total += of_kind["v"] * np.linalg.norm(Z @ (Wv - Hv), axis=1).max()
            total += of_kind["q"] * np.linalg.norm(Z @ (Wqk - Hqk), axis=1).max()
        Z = networks.layer(Z, hat[i], sigma)
    total += abs((w - what) @ Z[0])
    change = abs(networks.deep(X, stack, w, sigma) - networks.deep(X, hat, what, sigma))
    assert change <= total * (1 + 1e-9) + 1e-12
    assert abs(networks.deep(X, stack, w, sigma)) <= net.radius * (1 + 1e-9)


@pytest.mark.independent("trauger.thm4.2", "trauger.cor4.2.1", "trauger.corF.0.1", "trauger.corF.0.2")
def test_values_written_out():
    """gamma^3/eps^2 summed weight by weight, with loops."""

    def total(C, Bx, L, c, v, q, Bw, layers, heads, proper, rho=None):
        gamma = C["w"] ** (1 / 3)
        for i in range(1, layers + 1):
            b = Bx if i == 1 else 1.0
            r = (Bx if rho is None else rho) if i == 1 else 1.0
            alpha = math.prod([heads * L * c * v * (1 + 2 * q)] * (layers - i))
            hidden = L * min(1.0, v * b) if proper else L
            for constant, beta in (
                (C["c"] * hidden**2, Bw * alpha),
                (C["v"] * b**2, Bw * alpha * L * c),
                (C["q"] * b**2, Bw * alpha * L * c * v * r**2),
            ):
                gamma += heads * constant ** (1 / 3) * beta ** (2 / 3)
        return gamma**3

    shape = {"L_sigma": 1.3, "Bc2": 0.9, "Bv2": 0.6, "BQK2": 0.4, "Bw": 2.0, "layers": 3, "eps": 0.7}
    args = (1.3, 0.9, 0.6, 0.4, 2.0, 3, 2)
    got = values("trauger.thm4.2", C1=1.5, CBx=6.0, Bx=2.0, heads=2, rho=1.1, **shape)
    one = dict.fromkeys("wcvq", 1.5)
    assert got["value"] == pytest.approx(total(one, 2.0, *args, True, 1.1) / 0.49, rel=1e-9)
    assert got["external"] == pytest.approx(total(one, 2.0, *args, False, 1.1) / 0.49, rel=1e-9)
    d, k, B = 5, 3, 1.7
    ln = math.log
    entry = {"w": ln(2 * d + 1), "c": ln(2 * d * k + 1), "v": ln(2 * d * k + 1), "q": ln(2 * d * d + 1)}
    columns = {"w": d * d * ln(3), "c": k * k * ln(2 * d + 1), "v": d * d * ln(2 * k + 1), "q": d * d * ln(2 * d + 1)}
    rows = {"w": d * t(1, d), "c": k * t(d, k), "v": d * t(k, d), "q": d * t(d, d)}
    for id, table, proper in (
        ("trauger.cor4.2.1", entry, True),
        ("trauger.corF.0.1", columns, False),
        ("trauger.corF.0.2", rows, False),
    ):
        constants = {kind: B * B * value for kind, value in table.items()}
        got = values(id, B=B, Bx=2.0, d=d, k=k, heads=2, **shape)
        assert got["value"] == pytest.approx(total(constants, 2.0, *args, proper) / 0.49, rel=1e-9)


def t(k, n):
    return min(math.log(k + 1) + h * math.log(2) + (1 + 1 / h) * math.log(2 * n + 1) for h in range(1, 40))


class TestShattering:
    """Networks that realise every sign pattern on M samples with margin 0.707: log N(0.706) >= M ln 2."""

    EPS = 0.706

    def outputs(self, M, b, signs):
        """Samples +-(b/sqrt 2)(e_j + e_z), CLS b e_c; W_QK = e_c s^T/M, W_v = e_z/b, W_c = e_1^T, w = e_1."""
        d = M + 2
        z, c = M, M + 1
        Wqk = np.zeros((d, d))
        Wqk[c, :M] = signs / M
        Wv = np.zeros((d, 1))
        Wv[z] = 1 / b
        Wc = np.zeros((1, d))
        Wc[0, 0] = 1.0
        w = np.eye(d)[0]
        out = []
        for j in range(M):
            plus = np.zeros(d)
            plus[[j, z]] = b / math.sqrt(2)
            cls = np.zeros(d)
            cls[c] = b
            out.append(networks.deep(np.array([cls, plus, -plus]), [[(Wc, Wv, Wqk)]], w, lambda x: x))
        return np.array(out), (Wqk, Wv, Wc, w)

    @pytest.mark.counterexample("trauger.cor4.2.1", "trauger.thm4.2", "trauger.corF.0.2")
    def test_one_layer(self):
        rng = np.random.default_rng(0)
        M, b = 498, 100.0
        for _ in range(2):
            signs = rng.choice([-1.0, 1.0], M)
            out, (Wqk, Wv, Wc, w) = self.outputs(M, b, signs)
            assert np.all(out * signs > self.EPS)
            assert all(np.abs(W).sum() <= 1 + 1e-9 for W in (Wqk, Wv, Wc, w))  # entrywise l1 norms
            assert all(np.linalg.norm(np.atleast_2d(W), axis=0).sum() <= 1 + 1e-9 for W in (Wqk, Wv, Wc))  # (2,1)
        shape = {"k": 1, "L_sigma": 1, "Bc2": 1, "Bv2": 1 / b, "BQK2": 1, "Bw": 1, "layers": 1, "eps": self.EPS}
        corollary = find("trauger.cor4.2.1").evaluate({"B": 1, "Bx": b, "d": 500, **shape})
        assert corollary.printed["value"].value == pytest.approx(253.0, rel=0.01)
        assert corollary.printed["value"].value < 498 * math.log(2)
        assert all(bound.value >= 498 * math.log(2) for bound in corollary.sound.values())
        # the theorem itself, with a constant valid for every matrix
        del shape["k"]
        C1 = math.log(2 * 1000**2 + 1)
        theorem = find("trauger.thm4.2").evaluate({"C1": C1, "CBx": b * b * C1, "Bx": b, **shape})
        score = b * b / math.sqrt(2) / 998
        assert math.sinh(score) / (math.cosh(score) + 0.5) / math.sqrt(2) > self.EPS  # the margin at M = 998
        assert theorem.printed["value"].value < 998 * math.log(2)
        assert not theorem.printed["value"].applies  # Bx > 1
        assert all(bound.value >= 998 * math.log(2) for bound in theorem.sound.values())
        # (2,1) norms, inputs of l1 norm sqrt(2) b
        other = find("trauger.corF.0.2").evaluate({"B": 1, "Bx": math.sqrt(2) * b, "d": 1000, "k": 1, **shape})
        assert other.printed["value"].value < 998 * math.log(2)
        assert other.sound["value"].value >= 998 * math.log(2)

    @pytest.mark.counterexample("trauger.corF.0.1")
    def test_every_pair_of_query_and_key(self):
        """Query b e_i, keys +-(b/sqrt 2)(e_j + e_z), W_QK = S/300, S any sign matrix: 300^2 patterns in "
        "dimension 601."""
        rng = np.random.default_rng(1)
        side, b = 300, 100.0
        d, z = 2 * side + 1, 2 * side
        S = rng.choice([-1.0, 1.0], (side, side))
        Wqk = np.zeros((d, d))
        Wqk[:side, side : 2 * side] = S / side
        assert np.abs(Wqk.T).sum(axis=0).max() <= 1 + 1e-9
        assert np.abs(Wqk).sum(axis=0).max() <= 1 + 1e-9  # either orientation
        Wv = np.zeros((d, 1))
        Wv[z] = 1 / b
        Wc = np.zeros((1, d))
        Wc[0, 0] = 1
        for i, j in rng.integers(0, side, (25, 2)):
            cls, plus = np.zeros(d), np.zeros(d)
            cls[i] = b
            plus[[side + j, z]] = b / math.sqrt(2)
            out = networks.deep(np.array([cls, plus, -plus]), [[(Wc, Wv, Wqk)]], np.eye(d)[0], lambda x: x)
            assert out * S[i, j] > self.EPS
        needed = side**2 * math.log(2)
        shape = {"k": 1, "L_sigma": 1, "Bc2": 1, "Bv2": 1 / b, "BQK2": 1, "Bw": 1, "layers": 1, "eps": self.EPS}
        evaluation = find("trauger.corF.0.1").evaluate({"B": 1, "Bx": math.sqrt(2) * b, "d": d, **shape})
        assert evaluation.printed["value"].value == pytest.approx(37936, rel=0.02)
        assert evaluation.printed["value"].value < needed
        assert evaluation.sound["value"].value >= needed


class TestProperties:
    @pytest.mark.property_of("trauger.thm4.2", "trauger.cor4.2.1", "trauger.corF.0.1", "trauger.corF.0.2")
    @pytest.mark.parametrize(
        ("id", "more"),
        [
            ("trauger.thm4.2", {"C1": 1, "CBx": 4, "Bx": 2}),
            *(
                (id, {"B": 2, "Bx": 1.5, "d": 6, "k": 4})
                for id in ("trauger.cor4.2.1", "trauger.corF.0.1", "trauger.corF.0.2")
            ),
        ],
    )
    def test_scaling(self, id, more):
        base = values(id, **NET, **more)
        half = values(id, **{**NET, "eps": 0.5}, **more)
        assert half["value"] == pytest.approx(4 * base["value"], rel=1e-9)
        assert values(id, **NET, **more, heads=3)["value"] > 9 * base["value"] / 3
        assert values(id, **NET, **more, rho=0.1)["value"] < base["value"]
        # deeper by far: the value overflows, its logarithm does not
        deep = find(id).evaluate({**NET, **more, "Bc2": 50, "BQK2": 50, "layers": 200})
        bound = deep.sound["value"]
        assert math.isinf(bound.value)
        assert bound.overflowed
        assert 500 < bound.log10 < 2000
        assert deep.printed["value"].overflowed
        assert not deep.printed["value"].applies or more.get("Bx", 2) <= 1
        trivial = find(id).evaluate({**NET, **more, "Bc2": 50, "BQK2": 50, "layers": 200, "n": 100}).sound
        assert trivial["rademacher_chain"].value == pytest.approx(1.0)
        with_sample = find(id).evaluate({**NET, **more, "n": 10**12}).sound
        assert 0 < with_sample["rademacher_chain"].value <= with_sample["rademacher_closed"].value <= 0.7 + 1e-9
        assert with_sample["rademacher_chain"].bounds.value == "Rademacher complexity"

    def test_the_shape_of_the_output(self):
        net = deep(1.0, 0.5, 0.2, 1.0, 3.0, 1, 1, 2.0, None)
        assert net.radius == pytest.approx(3.0 * 0.5 * 0.4)
        wide = deep(1.0, 0.5, 0.2, 1.0, 3.0, 2, 4, 2.0, None)
        assert wide.radius == pytest.approx(3.0 * 4 * 0.5 * 0.2)
        assert deep(1.0, 9.0, 9.0, 1.0, 3.0, 2, 1, 2.0, None).radius == 3.0
        assert deep(1.0, 0.5, 9.0, 1.0, 3.0, 2, 1, 2.0, None).radius == pytest.approx(1.5)
        assert deep(1.0, 1.0, 1.0, 1.0, 1.0, 1, 1, 2.0, 5.0).half_diameter == 2.0
        assert math.isinf(_multi_layer.exp(750.0))
        assert _multi_layer.exp(700.0) == math.exp(700.0)

    def test_fine_covers_count_parameters(self):
        # At tiny radii only volume is left: each factor e of the radius costs the number of parameters.
        base = {"B": 2, "Bx": 1, "d": 5, "k": 3, **NET, "heads": 2}
        fine, finer = (values("trauger.cor4.2.1", **{**base, "eps": e})["exact"] for e in (1e-8, 1e-8 / math.e))
        assert finer - fine == pytest.approx(5 + 2 * 2 * (15 + 15 + 25), rel=1e-3)

    def test_own_norms_and_exact_counts_help(self):
        base = {"B": 2, "Bx": 1, "d": 16, "k": 8, **NET}
        plain = values("trauger.cor4.2.1", **base)
        own = values("trauger.cor4.2.1", **base, Bw1=0.5, Bc11=1, Bv11=1, BQK11=1)
        assert own["value"] < plain["value"]
        for name in ("Bw1", "Bc11", "Bv11", "BQK11"):
            assert values("trauger.cor4.2.1", **base, **{name: 0.1})["value"] < plain["value"]
        for eps in (1.0, 0.1, 0.01):
            at = values("trauger.cor4.2.1", **{**base, "eps": eps})
            assert 0 < at["exact"] <= at["value"]
        assert values("trauger.cor4.2.1", **{**base, "eps": 1e4})["exact"] == 0

    def test_printed_conditions(self):
        inside = find("trauger.thm4.2").evaluate({**NET, "C1": 4, "CBx": 1, "Bx": 0.5})
        assert inside.printed["value"].applies
        for change in ({"L_sigma": 1.05}, {"heads": 2}, {"Bx": 1.05}):
            assert (
                not find("trauger.thm4.2")
                .evaluate({**NET, "C1": 4, "CBx": 1, "Bx": 0.5, **change})
                .printed["value"]
                .applies
            )
        one = find("trauger.corF.0.2").evaluate({**NET, "B": 1, "Bx": 1, "d": 1, "k": 1})
        assert one.printed["value"].value == 0.0
        assert not one.printed["value"].applies
        assert one.sound["value"].value > 0


class TestAppendixE:
    @pytest.mark.independent("trauger.lemE.1")
    @pytest.mark.parametrize("seed", range(6))
    def test_sharing_against_an_optimiser(self, seed):
        rng = np.random.default_rng(seed)
        C, beta, eps = rng.uniform(0.1, 5, 4), rng.uniform(0.1, 5, 4), 0.3

        def cost(z):
            shares = np.exp(z - z.max())
            return float(np.log(np.sum(C * (beta / (shares / shares.sum() * eps)) ** 2)))

        best = math.exp(minimize(cost, np.zeros(4), method="BFGS").fun)
        evaluation = find("trauger.lemE.1").evaluate({"C": tuple(C), "beta": tuple(beta), "eps": eps})
        assert evaluation.sound["value"].value == pytest.approx(best, rel=1e-6)
        split = [evaluation.sound[f"eps_{i}"].value for i in range(1, 5)]
        assert np.dot(beta, split) == pytest.approx(eps)

    @pytest.mark.property_of("trauger.lemE.1")
    def test_sharing_properties(self):
        base = {"C": (1, 2, 3), "beta": (0.5, 1, 2), "eps": 0.25}
        value = values("trauger.lemE.1", **base)["value"]
        assert values("trauger.lemE.1", **{**base, "eps": 0.5})["value"] == pytest.approx(value / 4)
        assert values("trauger.lemE.1", **{**base, "C": (8, 16, 24)})["value"] == pytest.approx(8 * value)
        assert values("trauger.lemE.1", **base, a=(1, 2, 3))["value"] == pytest.approx(value + 6)
        assert find("trauger.lemE.1").evaluate(base).printed["value"].value == pytest.approx(value)
        with pytest.raises(InputError, match="as many"):
            values("trauger.lemE.1", C=(1, 2), beta=(1,), eps=1)

    @pytest.mark.independent("trauger.lemE.2")
    @pytest.mark.parametrize("seed", range(30))
    def test_one_layer_perturbed(self, seed):
        rng = np.random.default_rng(seed)
        d, k, T, B = 3, 3, 4, float(rng.choice([0.5, 1.0, 3.0]))
        ball = lambda X: networks.unit_ball(X) * B  # noqa: E731
        X = ball(rng.normal(size=(T, d)) * 2)
        Y = ball(X / B + rng.normal(size=(T, d)) * rng.choice([1e-3, 0.1, 1.0]))
        weights = [networks.spectral(rng, s, rng.uniform(0.2, 2)) for s in ((k, d), (d, k), (d, d))]
        hats = [perturbed(rng, W, rng.choice([0.0, 1e-3, 0.3])) for W in weights]
        (Wc, Wv, Wqk), (Hc, Hv, Hqk) = weights, hats
        relu = lambda z: np.maximum(z, 0)  # noqa: E731
        change = np.linalg.norm(networks.layer(X, [weights], relu) - networks.layer(Y, [hats], relu), axis=1).max()
        hidden = relu(networks.unit_ball(networks.attention(Y, Hqk) @ Hv))
        inputs = {
            "L_sigma": 1,
            "Bc2": np.linalg.norm(Wc, 2),
            "Bv2": np.linalg.norm(Wv, 2),
            "BQK2": np.linalg.norm(Wqk, 2),
            "B": B,
            "dg": np.linalg.norm(X - Y, axis=1).max(),
            "dWc": np.linalg.norm(hidden @ (Wc - Hc), axis=1).max(),
            "dWQK": np.linalg.norm(Y @ (Wqk - Hqk), axis=1).max(),
            "dWv": np.linalg.norm(Y @ (Wv - Hv), axis=1).max(),
        }
        assert change <= values("trauger.lemE.2", **inputs)["value"] + 1e-9

    @pytest.mark.counterexample("trauger.lemE.2")
    def test_first_layer_with_large_tokens(self):
        # Two opposite tokens of norm 10, a tiny change of W_QK: the attention moves by B^2 = 100 times the score
        # vector.
        B, v, step = 10.0, 1e-3, 1e-6
        X = np.array([[B, 0.0], [-B, 0.0]])
        Wv, Wc = np.array([[v], [0.0]]), np.array([[1.0, 0.0]])
        change = np.zeros((2, 2))
        change[0, 0] = step
        identity = lambda z: z  # noqa: E731
        out = networks.layer(X, [(Wc, Wv, change)], identity) - networks.layer(X, [(Wc, Wv, 0 * change)], identity)
        moved = np.linalg.norm(out, axis=1).max()
        error = np.linalg.norm(X @ change, axis=1).max()
        inputs = {"L_sigma": 1, "Bc2": 1, "Bv2": v, "BQK2": step, "B": B, "dg": 0, "dWc": 0, "dWQK": error, "dWv": 0}
        evaluation = find("trauger.lemE.2").evaluate(inputs)
        assert moved / evaluation.printed["value"].value == pytest.approx(50, rel=1e-3)
        assert not evaluation.printed["value"].applies
        assert moved <= evaluation.sound["value"].value
        assert find("trauger.lemE.2").evaluate({**inputs, "B": 1}).printed["value"].applies
        assert not find("trauger.lemE.2").evaluate({**inputs, "B": 1.5}).printed["value"].applies

    @pytest.mark.property_of("trauger.lemE.2")
    def test_terms(self):
        inputs = {"L_sigma": 2, "Bc2": 3, "Bv2": 5, "BQK2": 7, "B": 2, "dg": 1, "dWc": 1, "dWQK": 1, "dWv": 1}
        inputs["rho"] = 1.5
        bound = find("trauger.lemE.2").evaluate(inputs).sound["value"]
        assert dict(bound.terms) == pytest.approx(
            {"W_c": 1, "input": 30 * (1 + 1.5 * 3.5 * 7), "W_QK": 30 * 2.25, "W_v": 6}
        )
        assert find("trauger.lemE.2").evaluate({**inputs, "rho": 9}).sound["value"].terms["W_QK"] == 120

    @pytest.mark.independent("trauger.lemE.3")
    @pytest.mark.property_of("trauger.lemE.3")
    def test_readout(self):
        rng = np.random.default_rng(0)
        for _ in range(200):
            w, v, g, h = rng.normal(size=(4, 5))
            bound = values("trauger.lemE.3", w=np.linalg.norm(w), dg=np.linalg.norm(g - h), dwg=abs((w - v) @ h))[
                "value"
            ]
            assert abs(w @ g - v @ h) <= bound + 1e-12
        assert values("trauger.lemE.3", w=2, dg=3, dwg=0)["value"] == pytest.approx(6)

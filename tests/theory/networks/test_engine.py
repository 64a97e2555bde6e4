"""The engine against the papers' own forms: never larger; nothing to pay from the distance to the centre on."""

from __future__ import annotations

import math

import numpy as np
import pytest

import certiformer
from certiformer.theory import networks as net
from certiformer.theory.calculus import covers
from certiformer.theory.networks import Reference, Weight
from certiformer.theory.theorems.li import _architecture as li


def deep(layers: int, c: float, v: float, q: float, **more: float) -> dict[str, float]:
    found = certiformer.bound(
        "trauger.cor4.2.1", B=2, Bx=1, d=16, k=16, L_sigma=1, Bc2=c, Bv2=v, BQK2=q, Bw=1, layers=layers, eps=0.5, **more
    )
    return {name: bound.value for name, bound in found.sound.items()}


def test_contracting_layers() -> None:
    """log N at 0.5 is 0 where |f| <= 0.63^6; the complexity falls from 0.63 to 0.0152."""
    found = deep(6, 0.9, 0.7, 0.5, n=10**6)
    assert found["engine"] == 0.0
    assert found["exact"] > 19_000
    assert found["rademacher_engine"] <= 0.0152 * (1 + 2e-3)


@pytest.mark.parametrize(("layers", "norms", "value"), [(1, (1, 1, 1), 1030.78), (4, (1, 1, 1), 17100.51)])
def test_equal_where_layers_expand(layers: int, norms: tuple[float, float, float], value: float) -> None:
    found = deep(layers, *norms)
    assert found["engine"] == pytest.approx(found["exact"], rel=1e-9)
    assert found["engine"] <= value


def test_never_above_the_paper_at_random_inputs() -> None:
    rng = np.random.default_rng(0)
    for _ in range(12):
        norms = {name: float(np.exp(0.5 * rng.normal())) for name in ("L_sigma", "Bc2", "Bv2", "BQK2", "Bw", "Bx")}
        sizes = {"d": 6, "k": 4, "layers": int(rng.integers(1, 4)), "heads": int(rng.integers(1, 3))}
        found = certiformer.bound("trauger.cor4.2.1", B=2, eps=0.3 * norms["Bw"], **norms, **sizes).sound
        assert found["engine"].value <= found["exact"].value * (1 + 2e-2)
        assert found["engine"].value <= found["value"].value * (1 + 1e-9)


def test_copies_are_heads_written_out() -> None:
    def graph(copies: int, written: bool) -> net.Node:
        z = net.tokens(3, 1.0, positions=2)
        names = [f"W{h}" for h in range(copies)] if written else ["W"]
        parts = [net.linear(z, Weight(n, (2, 3), spectral=0.7, copies=1 if written else copies)) for n in names]
        out = net.add(*parts) if written else net.scale(parts[0], float(copies))
        return net.readout(net.pick(out), Weight("w", (1, 2), spectral=1.0))

    one, other = net.analyse(graph(3, False)), net.analyse(graph(3, True))
    for eps in (0.5, 0.05):
        assert one.log_size(eps) == pytest.approx(other.log_size(eps), rel=1e-9)


@pytest.mark.parametrize("layers", [1, 3])
def test_sensitivities_of_eq_5(layers: int) -> None:
    """Formulas of the paper's module: the engine's coefficients are equal, or smaller behind contracting blocks."""
    Bw, Bc, Bv, BQK, L, b, rho, xi = 1.3, 0.8, 0.6, 0.7, 0.9, 1.2, 1.1, 0.8
    network = li.many_layers(li.Norms(4, 3, Bw, Bc, Bv, BQK, L), layers=layers, b=b, rho=rho, xi=xi)
    growth = (xi * L) ** 2 * Bc * Bv * (1 + 2 * rho**2 * BQK)
    by_name = {weight.name: weight.ln_beta for weight in network.weights}
    assert by_name["w"] == pytest.approx(math.log(rho))
    for i in range(1, layers + 1):
        size = b if i == 1 else rho
        outer = Bw * growth ** (layers - i) * (xi * L) ** 2
        for name, value in (("c", Bv * size), ("v", Bc * size), ("QK", Bc * Bv * size**3)):
            assert by_name[f"W_{name}{i}"] <= math.log(outer * value) + 1e-12
    assert by_name[f"W_v{layers}"] == pytest.approx(math.log(Bw * (xi * L) ** 2 * Bc * (b if layers == 1 else rho)))


def test_tiny_updates_are_not_charged_the_whole_range() -> None:
    z = net.tokens(4, 1.0, positions=2)
    W = Weight("W", (4, 4), frobenius=1e-3, reference=Reference(spectral=5.0))
    w = Weight("w", (1, 4), frobenius=1e-3, reference=Reference(spectral=1.0))
    analysis = net.analyse(net.readout(net.pick(net.linear(z, W)), w))
    assert analysis.range.value > 5.0
    assert analysis.distance.value == pytest.approx(1e-3 * 5.001 + 1.001e-3, rel=1e-3)
    assert analysis.rademacher(100) <= analysis.distance.value * (1 + 1e-12)
    assert analysis.log_size(analysis.distance.value * (1 + 1e-9)) == 0.0
    assert analysis.log_size(analysis.distance.value * 0.5) > 0.0


def test_a_zero_readout_is_as_far_as_its_range() -> None:
    analysis = net.analyse(net.readout(net.pick(net.tokens(4, 2.0, positions=2)), Weight("w", (1, 4), spectral=1.5)))
    assert analysis.distance.value == pytest.approx(3.0)
    assert analysis.log_size(3.0 * (1 + 1e-9)) == 0.0


def test_low_rank_classes_around_a_reference() -> None:
    def analysis(**bounds: object) -> net.Analysis:
        W = Weight("W", (48, 32), reference=Reference(spectral=2.0), **bounds)  # type: ignore[arg-type]
        return net.analyse(net.linear(net.tokens(32, 1.0, positions=2), W))

    full, low = analysis(spectral_distance=0.1), analysis(spectral_distance=0.1, rank=2)
    assert low.log_size(1e-3) < 0.25 * full.log_size(1e-3)
    assert low.log_size(1e-3) <= covers.low_rank(0.1, 48, 32, 2).log_size(1e-3) * (1 + 1e-9)
    # With an entrywise bound the cover of rank and spectral norm leaves the class: half the radius.
    both = analysis(spectral_distance=0.1, rank=2, max_row_distance=0.1)
    assert low.log_size(1e-3) <= both.log_size(1e-3) <= low.log_size(0.5e-3) * (1 + 1e-9)


def test_the_trivial_answer_comes_at_once() -> None:
    z = net.tokens(64, 1.0, positions=8)
    for i in range(40):
        z = net.layer_norm(net.linear(z, Weight(f"W{i}", (64, 64), spectral=3.0)), eps=1e-12)
    analysis = net.analyse(
        net.loss(net.readout(net.pick(z), Weight("w", (1, 64), spectral=1.0)), 1.0, 1.0), samples=1000
    )
    assert analysis.rademacher(1000) == pytest.approx(0.5)


def test_another_sample_is_another_analysis() -> None:
    """What is kept from one sample size to the next does not hang on it."""
    value, scores = Weight("V", (64, 64), rows_two_one=2.0, spectral=1.0), Weight("A", (64, 64), rows_two_one=3.0)
    head = net.attention(net.tokens(64, 1.0, positions=3), net.Head(value=value, score=scores))
    scalar = net.readout(net.pick(head), Weight("w", (1, 64), frobenius=1.0))
    for output, proper in ((head, False), (scalar, True)):
        kept = net.analyse(output, proper=proper)
        sizes = [kept.on_samples(samples).log_size(0.5) for samples in (10, 10**6)]
        assert sizes == [net.analyse(output, proper=proper, samples=n).log_size(0.5) for n in (10, 10**6)]
        assert sizes[0] < sizes[1]

"""Pieces of the results on projected descent: states of their hypotheses, defaults, corner cases."""

import math

import pytest

from certiformer.theory.calculus.activations import activation
from certiformer.theory.core import InputError, find
from certiformer.theory.theorems.arda._descent import Radii
from certiformer.theory.theorems.arda._recurrent import recurrent_unit
from certiformer.theory.theorems.arda.lemma_4 import kernel_given_weights
from certiformer.theory.theorems.arda.lemma_6 import joint_target_envelope


def example(id):
    return {entry.name: entry.example for entry in find(id).inputs if entry.required}


def states(bound):
    return {hypothesis.requires: hypothesis.state for hypothesis in bound.hypotheses}


def test_radii_contain_others_block_by_block():
    rho = Radii(1.0, 2.0, 3.0)
    assert rho.contains(rho)
    assert rho.contains(Radii(0.9, 1.9, 2.9))
    for larger in (Radii(1.1, 1.0, 1.0), Radii(0.5, 2.1, 1.0), Radii(0.5, 1.0, 3.1)):
        assert not rho.contains(larger)


def test_one_step_of_the_recurrent_unit_starts_at_zero():
    tanh = activation("tanh")
    unit = recurrent_unit(tanh, 1, 5.0)
    assert (unit.Lw, unit.Lu) == pytest.approx((tanh.s1, 0.0))
    assert pytest.approx(tanh.s2) == unit.L2


@pytest.mark.parametrize("id", ["arda.thm1", "arda.prop2"])
def test_the_printed_step_is_fixed(id):
    given = {**example(id), "tau": 400}
    for eta, state in ((0.05, "verified"), (0.0525, "fails"), (0.0475, "fails")):
        found = states(find(id).evaluate({**given, "eta": eta}).printed["value"])
        assert next(found[words] for words in found if "1/sqrt(tau)" in words) == state


def test_the_suggested_step_makes_kappa_one_half():
    given = example("arda.thm1")
    found = find("arda.thm1").evaluate(given).sound
    assert found["eta_suggested"].value == pytest.approx(0.5 / found["G2"].value)
    again = find("arda.thm1").evaluate({**given, "eta": found["eta_suggested"].value}).sound
    assert again["kappa"].value == pytest.approx(0.5)


def test_the_envelope_of_the_target_turns_where_the_readout_dominates():
    linear = activation("tanh")
    for u, reach in ((1.0, 1.0 + 0.25), (1.9, 1.0 + 1.9**2 / 4.0), (2.1, 2.1), (5.0, 5.0)):
        found = joint_target_envelope(linear, Radii(0.0, u, 1.0))
        assert found == pytest.approx(linear.s1 * reach, rel=1e-12)


def test_the_printed_envelope():
    def head_norm(u, w):
        at = find("arda.lem6")(**{**example("arda.lem6"), "rho_u": u, "rho_w": w, "rho_c": 0.1})
        slope = (at.printed()["value"].value - 0.1 * at.sigma.s0) / (at.sigma.s1 * math.hypot(u, w))
        return math.sqrt(slope**2 - 1.0)

    # the radius of u, shared by m heads, enters the norm of a head by a sum
    apart = 0.27 / math.sqrt(example("arda.lem6")["m"])
    assert head_norm(0.3, 0.4) - head_norm(0.03, 0.04) == pytest.approx(apart, rel=1e-6)


def test_kernels_say_how_they_were_computed():
    given = example("arda.lem4")
    for name, words in (("erf", "closed form"), ("tanh", "quadrature")):
        found = find("arda.lem4")(**{**given, "activation": name})
        assert words in found.sound()["K"].note
        c, theta = found.sigma.s0**2, found.sigma.s1**2
        assert found.sound()["blockwise"].value == pytest.approx(c + theta * (1.0 + abs(found.qq)))
    with pytest.raises(InputError, match="S12"):
        find("arda.lem4")(**{**given, "S11": 0.2, "S22": 0.3, "S12": math.sqrt(0.06) * 1.001}).sound()
    find("arda.lem4")(**{**given, "S11": 0.25, "S22": 0.25, "S12": 0.25}).sound()


def test_the_kernel_of_equal_tokens_is_the_limit_of_near_ones():
    tanh = activation("tanh")
    equal = kernel_given_weights(tanh, (0.25, 0.25, 0.25), (0.02, 0.02, 0.02), 0.2, 0.5)
    near = kernel_given_weights(tanh, (0.25, 0.25 * (1.0 - 1e-7), 0.25), (0.02, 0.02, 0.02), 0.2, 0.5)
    assert equal == pytest.approx(near, rel=1e-5)

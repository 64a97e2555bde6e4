r"""Lemma E.2: how one layer passes on errors.

For one layer Pi(sigma(Pi(f(g))) W_c) with spectral norms c, v, q of W_c, W_v, W_QK, errors of its input and weights:

Printed:  .. math:: \|\Delta_{out}\| \le e_c + L_\sigma c v(1+4q)\|\Delta_{in}\| + 2L_\sigma c v\,e_{qk} + L_\sigma
          c\,e_v

Sound, for inputs of norm at most B and half-diameter rho:

.. math:: \|\Delta_{out}\| \le e_c + L_\sigma c v(1+2B^2q)\|\Delta_{in}\| + L_\sigma c v\rho^2e_{qk} + L_\sigma c\,e_v

The printed form holds in the unit ball only, so not at the first layer of a network whose tokens are larger.
"""

from __future__ import annotations

from certiformer.calculus.softmax import input_sensitivity, weight_sensitivity
from certiformer.core import Quantity, Result, Status, Variants, printed_value, real, upper_bound, verified
from certiformer.theorems.trauger import TRAUGER


def printed(
    L_sigma: float,
    Bc2: float,
    Bv2: float,
    BQK2: float,
    B: float,
    dg: float,
    dWc: float,
    dWQK: float,
    dWv: float,
    rho: float | None,
) -> Variants:
    through = L_sigma * Bc2 * Bv2
    value = dWc + through * (1 + 4 * BQK2) * dg + 2 * through * dWQK + L_sigma * Bc2 * dWv
    return {"value": printed_value(value, checks=(verified("inputs in the unit ball: B <= 1", B <= 1, B),))}


def sound(
    L_sigma: float,
    Bc2: float,
    Bv2: float,
    BQK2: float,
    B: float,
    dg: float,
    dWc: float,
    dWQK: float,
    dWv: float,
    rho: float | None,
) -> Variants:
    half = B if rho is None else min(rho, B)
    through = L_sigma * Bc2 * Bv2
    terms = {
        "W_c": dWc,
        "input": through * input_sensitivity(B, half, BQK2) * dg,
        "W_QK": through * weight_sensitivity(half) * dWQK,
        "W_v": L_sigma * Bc2 * dWv,
    }
    return {"value": upper_bound(sum(terms.values()), terms=terms, additive=True)}


_error = "largest change of {} over tokens, at the inputs of the covered network"

RESULT = Result(
    id="trauger.lemE.2",
    title="Error of one layer",
    paper=TRAUGER,
    place="Lemma E.2",
    bounds=Quantity.OUTPUT_CHANGE,
    statement="|out| <= dWc + L_sigma Bc2 Bv2 (1 + 4 BQK2) dg + 2 L_sigma Bc2 Bv2 dWQK + L_sigma Bc2 dWv",
    latex=(
        r"\|\Delta g^{(i+1)}\|\le e_c+L_\sigma B_{c2}B_{v2}(1+4B_{QK2})\|\Delta g^{(i)}\|"
        r"+2L_\sigma B_{c2}B_{v2}e_{QK}+L_\sigma B_{c2}e_v"
    ),
    sound_statement=(
        "dWc + L_sigma Bc2 Bv2 (1 + rho (rho + B) BQK2) dg + L_sigma Bc2 Bv2 rho^2 dWQK + L_sigma Bc2 dWv, B "
        "the radius "
        "and rho the half-diameter of the layer's tokens (rho <= B)"
    ),
    inputs=(
        real("L_sigma", "Lipschitz constant of the activation", symbol="L_σ", example=1),
        real("Bc2", "spectral norm of W_c", low_open=False, example=1.2),
        real("Bv2", "spectral norm of W_v", low_open=False, example=0.8),
        real("BQK2", "spectral norm of W_QK", low_open=False, example=0.5),
        real("B", "bound on the norm of the layer's input tokens", example=1),
        real("dg", "largest change of an input token", low_open=False, example=0.1),
        real("dWc", _error.format("W_c^T u"), low_open=False, example=0.01),
        real("dWQK", _error.format("W_QK^T g"), low_open=False, example=0.02),
        real("dWv", _error.format("W_v^T g"), low_open=False, example=0.03),
        real("rho", "half the diameter of the layer's tokens", low_open=False, optional=True, derived="B", example=1),
    ),
    status=Status.FALSE,
    reason="true in the unit ball, false at the first layer when tokens have norm above sqrt(2)",
    printed=printed,
    sound=sound,
    assumptions=(
        "spectral norms of the weights themselves, errors at the inputs of the covered network",
        "B and rho bound the tokens of both networks",
    ),
    defects=(
        (
            "Inputs must lie in the unit ball; at layer 1 they have norm Bx, and for Bx = 10 the left side "
            "can be 50 times "
            "the right side."
        ),
        "The softmax constant 2 is 1: 1 + 4q becomes 1 + 2q and 2 becomes 1 in the unit ball.",
    ),
    monotone={
        "L_sigma": 1,
        "Bc2": 1,
        "Bv2": 1,
        "BQK2": 1,
        "B": 1,
        "dg": 1,
        "dWc": 1,
        "dWQK": 1,
        "dWv": 1,
        "rho": 1,
    },
    proof="docs/proofs/trauger.md",
)

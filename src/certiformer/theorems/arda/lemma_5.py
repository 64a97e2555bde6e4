r"""Lemma 5: how well the linearised network at the transported parameters approximates its target on n inputs.

Printed (rebuilt; the last summand with low confidence), with probability at least 1 - delta:

.. math:: \max_j|f_{lin}(X_j;\bar\phi)-f^*(X_j)|\le2(s_0\nu_c+s_1\nu_u+2s_1\nu_w\sqrt d)\sqrt{\ln(2n/\delta)/m}

Sound: the dimension goes away, because ||Mu|| is sub-Gaussian whatever d is (tr M <= 1):

.. math:: \varepsilon_{app}=2\,(s_0\nu_c+s_1\nu_u+2s_1\nu_w)\sqrt{\ln(2n/\delta)/m}.
"""

from __future__ import annotations

import math

from certiformer.calculus.activations import Activation
from certiformer.calculus.activations import activation as find_activation
from certiformer.core import Quantity, Result, Status, Variants, printed_value, upper_bound, verified
from certiformer.theorems.arda import ARDA
from certiformer.theorems.arda._descent import Radii, sampling_deviation
from certiformer.theorems.arda._inputs import (
    ACTIVATION,
    DELTA,
    DIMENSION,
    FIXED_DATA,
    NOT_SELECTED,
    NU,
    SAMPLE_SIZE,
    SYMMETRIC,
    UNIT_BALL,
    WIDTH,
)


def feature_scale(sigma: Activation, nu: Radii) -> float:
    """s = s0 nu_c + s1 nu_u + 2 s1 nu_w: <psi, v> - E<psi, v> is sub-Gaussian with parameter s."""
    return sigma.s0 * nu.c + sigma.s1 * nu.u + 2.0 * sigma.s1 * nu.w


def printed(activation: str, m: int, d: int, nu_c: float, nu_u: float, nu_w: float, n: int, delta: float) -> Variants:
    scale = feature_scale(find_activation(activation), Radii(nu_c, nu_u, nu_w * math.sqrt(d)))
    note = "reconstructed: rate with confidence high, the factor sqrt(d) of nu_w with confidence low"
    return {"value": printed_value(sampling_deviation(scale, m, n, delta), note=note)}


def sound(activation: str, m: int, d: int, nu_c: float, nu_u: float, nu_w: float, n: int, delta: float) -> Variants:
    scale = feature_scale(find_activation(activation), Radii(nu_c, nu_u, nu_w))
    even = verified("m is even: the heads come in pairs", m % 2 == 0, m)
    checks = (even, UNIT_BALL, SYMMETRIC, FIXED_DATA, NOT_SELECTED)
    return {"value": upper_bound(sampling_deviation(scale, m, n, delta), checks=checks)}


RESULT = Result(
    id="arda.lem5",
    title="Approximation error of the transported parameters",
    paper=ARDA,
    place="Lemma 5",
    bounds=Quantity.APPROXIMATION_ERROR,
    statement="max_j |f_lin(X_j; phibar) - f*(X_j)| <= 2 (s0 nu_c + s1 nu_u + 2 s1 nu_w sqrt(d)) sqrt(ln(2n/delta)/m)",
    latex=r"\max_j|f_{lin}-f^*|\le2(\sigma_0\nu_c+\sigma_1\nu_u+s_w)\sqrt{\ln(2n/\delta)/m}",
    sound_statement="The same without sqrt(d): 2 (s0 nu_c + s1 nu_u + 2 s1 nu_w) sqrt(ln(2n/delta)/m).",
    inputs=(ACTIVATION, WIDTH, DIMENSION, *NU, SAMPLE_SIZE, DELTA),
    status=Status.RECONSTRUCTED,
    reason="the rate is forced by the proof (confidence high); the printed parameter s_w is lost (sqrt(d) is a guess)",
    printed=printed,
    sound=sound,
    assumptions=(
        "inputs, labels and v fixed before the initialisation is drawn",
        (
            "the initialisation is not selected: re-drawing until E_R holds turns delta into delta/(1 - delta_R), "
            "the best of k seeds into k delta"
        ),
    ),
    defects=(
        (
            "The released approximation experiment draws m independent heads; the symmetric initialisation has m/2, so "
            "its error is understated by sqrt 2."
        ),
    ),
    monotone={"m": -1, "nu_c": 1, "nu_u": 1, "nu_w": 1, "n": 1, "delta": -1},
    proof="docs/proofs/arda.md",
)

r"""Equation (3): the activation's uniform bounds.

.. math:: |\sigma|\le\sigma_0,\qquad|\sigma'|\le\sigma_1,\qquad|\sigma''|\le\sigma_2.

The text asks for such constants and names none; here they are the suprema: tanh (1, 1, 4/(3 sqrt 3)),
erf(x/sqrt 2) (1, sqrt(2/pi), sqrt(2/(pi e))), sigmoid (1, 1/4, 1/(6 sqrt 3)), sin (1, 1, 1).
"""

from __future__ import annotations

from certiformer.calculus.activations import activation as find_activation
from certiformer.core import Quantity, Result, Status, Variants, upper_bound
from certiformer.theorems.arda import ARDA
from certiformer.theorems.arda._inputs import ACTIVATION


def sound(activation: str) -> Variants:
    sigma = find_activation(activation)
    return {
        "s0": upper_bound(sigma.s0, bounds=Quantity.OUTPUT_CHANGE),
        "s1": upper_bound(sigma.s1),
        "s2": upper_bound(sigma.s2, bounds=Quantity.SMOOTHNESS),
    }


RESULT = Result(
    id="arda.eq3",
    title="Constants of the activation",
    paper=ARDA,
    place="Section 3.2, equation (3)",
    bounds=Quantity.LIPSCHITZ_CONSTANT,
    statement="|sigma| <= sigma_0, |sigma'| <= sigma_1, |sigma''| <= sigma_2 (no values are given)",
    latex=r"|\sigma|\le\sigma_0,\ |\sigma'|\le\sigma_1,\ |\sigma''|\le\sigma_2",
    sound_statement="The suprema themselves: s0 = sup |sigma|, s1 = sup |sigma'|, s2 = sup |sigma''|.",
    inputs=(ACTIVATION,),
    status=Status.RECONSTRUCTED,
    reason="the symbols are lost in our copy (confidence high); the paper gives no numbers",
    printed=None,
    sound=sound,
    defects=(
        "The released code uses 2/sqrt(pi) e^{-x^2/2} as slope of erf(x/sqrt 2): too large by sqrt 2 (default tanh).",
    ),
    proof="docs/proofs/arda.md",
)

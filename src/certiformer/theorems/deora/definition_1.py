r"""Definition 1: a good initialization, from any candidate direction.

P1 ||theta_h|| <= B2, P2 |Phi(X_i)| <= BPhi, P3 y_i <grad Phi(X_i), theta_*> >= gamma > 0 with ||theta_*|| = sqrt 2.

Sound: a solver's word is not enough for P3. Whatever direction w it returns,

.. math:: \gamma=\sqrt2\Bigl(\frac{\min_iy_i\langle\nabla\Phi(X_i),w\rangle}{\|w\|}-\mathrm{rounding}\Bigr),\quad
          \mathrm{rounding}=(N+4)\,2^{-52}\max_i\|\nabla\Phi(X_i)\|,

N the number of parameters; not positive means "not certified".
"""

from __future__ import annotations

import math

from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    count,
    lower_bound,
    printed_value,
    real,
    verified,
)
from certiformer.core.rounding import up
from certiformer.theorems.deora import DEORA

_EPSILON = 2.0**-52


def printed(achieved: float, norm: float, feature_norm: float, N: int) -> Variants:
    return {"gamma": printed_value(math.sqrt(2.0) * achieved / norm, note="a margin as a solver would report it")}


def sound(achieved: float, norm: float, feature_norm: float, N: int) -> Variants:
    gamma = math.sqrt(2.0) * (achieved / norm - (N + 4) * _EPSILON * feature_norm)
    checks = (
        verified("the achieved margin is positive beyond rounding", gamma > 0.0, gamma),
        verified("achieved <= norm feature_norm, as for every inner product", achieved <= up(norm * feature_norm)),
        assumed("achieved = min_i y_i <grad, w> and norm = ||w|| were computed in double precision for the same w"),
        assumed("to serve the gap (not the training loss) it must hold for almost every training set"),
    )
    return {"gamma": lower_bound(gamma, checks=checks)}


RESULT = Result(
    id="deora.def1",
    title="Good initialization: a certified NTK margin",
    paper=DEORA,
    place="Definition 1",
    bounds=Quantity.NTK_MARGIN,
    statement=(
        "theta_0 is good if ||theta_h|| <= B2, |Phi(X_i)| <= BPhi and y_i "
        "<grad Phi(X_i), theta_*> >= gamma, ||theta_*|| = sqrt 2"
    ),
    latex=r"\|\theta_\star\|=\sqrt2,\quad y_i\langle\nabla\Phi(X_i;\theta^{(0)}),\theta_\star\rangle\ge\gamma",
    sound_statement=(
        "gamma = sqrt(2) (min_i y_i <grad, w>/||w|| - (N + 4) 2^-52 "
        "max_i ||grad||) for any direction w; good if positive"
    ),
    inputs=(
        real("achieved", "min_i y_i <grad Phi(X_i), w> for a candidate w", low=-math.inf, example=0.5),
        real("norm", "||w||", example=1),
        real("feature_norm", "max_i ||grad Phi(X_i)||", low_open=False, example=2),
        count("N", "number of parameters", example=1000),
    ),
    status=Status.TRUE,
    reason="a definition; B2, BPhi >= 1 is a convenience that the sound results do not need",
    printed=printed,
    sound=sound,
    assumptions=("w is any vector; ninf for Corollary 2 must come from the same w",),
    defects=(
        "B2 >= 1 and BPhi >= 1 are asked for without need.",
        "P3 does not bound max_h ||theta_*,h||, which the heads condition of Corollary 2 uses.",
    ),
    monotone={"achieved": 1, "feature_norm": -1, "N": -1},
    proof="docs/proofs/deora.md",
)

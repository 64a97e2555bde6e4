import math

from certiformer.theory.core import Quantity, Result, Status, Variants, assumed, lower_bound, printed_value, verified
from certiformer.theory.core.inputs import count, real
from certiformer.theory.core.rounding import up
from certiformer.theory.theorems.deora import DEORA

_EPSILON = 2.0**-52


class Definition1(Result):
    r"""Good initialization: a certified NTK margin.

    P1 ||theta_h|| <= B2, P2 |Phi(X_i)| <= BPhi, P3 y_i <grad Phi(X_i), theta_*> >= gamma > 0 with ||theta_*|| = sqrt 2.

    A solver's word is not enough for P3: whatever direction w it returns is checked in float arithmetic, N the number
    of parameters. Not positive means "not certified".

    Printed: theta_0 is good if ||theta_h|| <= B2, |Phi(X_i)| <= BPhi and y_i <grad Phi(X_i), theta_*> >= gamma,
    ||theta_*|| = sqrt 2
    .. math:: \|\theta_\star\|=\sqrt2,\quad y_i\langle\nabla\Phi(X_i;\theta^{(0)}),\theta_\star\rangle\ge\gamma
    Sound: gamma = sqrt(2) (min_i y_i <grad, w>/||w|| - (N + 4) 2^-52 max_i ||grad||) for any direction w; good if
    positive
    .. math::
       \gamma=\sqrt2\Bigl(\frac{\min_iy_i\langle\nabla\Phi(X_i),w\rangle}{\|w\|}-\mathrm{rounding}\Bigr),\quad
       \mathrm{rounding}=(N+4)\,2^{-52}\max_i\|\nabla\Phi(X_i)\|,
    Because: a definition; B2, BPhi >= 1 is a convenience that the sound results do not need
    Assumes:
    - w is any vector; ninf for Corollary 2 must come from the same w
    Defects:
    - B2 >= 1 and BPhi >= 1 are asked for without need.
    - P3 does not bound max_h ||theta_*,h||, which the heads condition of Corollary 2 uses.
    """

    paper, place = DEORA, "Definition 1"
    bounds, status = Quantity.NTK_MARGIN, Status.TRUE
    monotone = "+achieved -feature_norm -N"

    achieved: float = real("min_i y_i <grad Phi(X_i), w> for a candidate w", low=-math.inf, example=0.5)
    norm: float = real("||w||")
    feature_norm: float = real("max_i ||grad Phi(X_i)||", low_open=False, example=2)
    N: int = count("number of parameters", example=1000)

    def printed(self) -> Variants:
        return {
            "gamma": printed_value(
                math.sqrt(2.0) * self.achieved / self.norm, note="a margin as a solver would report it"
            )
        }

    def sound(self) -> Variants:
        # mutants: rounding-margins
        gamma = math.sqrt(2.0) * (self.achieved / self.norm - (self.N + 4) * _EPSILON * self.feature_norm)
        hypotheses = (
            verified("the achieved margin is positive beyond rounding", gamma > 0.0, gamma),
            verified(
                "achieved <= norm feature_norm, as for every inner product",
                self.achieved <= up(self.norm * self.feature_norm),
            ),
            assumed("achieved = min_i y_i <grad, w> and norm = ||w|| were computed in double precision for the same w"),
            assumed("to serve the gap (not the training loss) it must hold for almost every training set"),
        )
        return {"gamma": lower_bound(gamma, hypotheses=hypotheses)}

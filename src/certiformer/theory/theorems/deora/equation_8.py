from certiformer.theory.core import Quantity, Result, Status, Variants, lower_bound, printed_value, upper_bound
from certiformer.theory.core.hypothesis import assumed, verified
from certiformer.theory.core.inputs import real
from certiformer.theory.theorems.deora import DEORA
from certiformer.theory.theorems.deora._mixture import logit_gap


class Equation8(Result):
    r"""Softmax logits under the target attention.

    The logits at relevant and at irrelevant tokens, and the gap between the two, minimised jointly over the corners of
    the noise.

    Printed: [r_t]_t' = O(S^4) for relevant t', O(S^2) for irrelevant t'
    .. math:: [r_t]_{t'}=\mathcal O(S^4)\ (t'\in\mathcal R),\quad \mathcal O(S^2)\ (t'\in\mathcal R^c)
    Quoted: \forall t : [\mathbf{r}_t]_{t'} = \begin{cases} \mathcal{O}(S^4) & , t' \in \mathcal{R}, \\
    \mathcal{O}(S^2) & , t' \in \mathcal{R}^c. \end{cases} \quad (8)
    Sound: relevant >= S^2 (S^2 - Znu - Zmu); |irrelevant| <= max(S^2 Zmu, 2 (S^2 + Znu + Zmu) Zmu); gap = min(S^2
    (S^2 - Zmu), (S^2 - Znu)(S^2 - 2 Zmu) - Zmu S^2) where positive, which needs S^2 >= 2 Zmu
    .. math:: \min\bigl(S^2(S^2-Z_\mu),\ (S^2-Z_\nu)(S^2-2Z_\mu)-Z_\mu S^2\bigr).
    Because: irrelevant logits are of order S^2 Zmu, which is S^4 at the noise level that Proposition 3 allows
    Defects:
    - O(S^2) at irrelevant tokens is O(S^2 Zmu): at Zmu = S^2/8 the logit reaches S^4/4 and more.
    - Section 5.3 then speaks of a gap of O(S^2); under W_* it is of order S^4 (S^2 after normalisation).
    """

    id = "deora.eq8"
    paper, place = DEORA, "(8)"
    bounds, status = Quantity.CONSTANT, Status.FALSE

    S: float = real("norm of every pattern", low=1e-12, high=1e12, example=1.3)
    Zmu: float = real("bound on |<z, mu>|", high=1e12, low_open=False, example=0.04, symbol="Z_μ")
    Znu: float = real("M times the bound on |<z, nu_l>|", high=1e12, low_open=False, example=0.04, symbol="Z_ν")

    def printed(self) -> Variants:
        unknown = "constant 1 where only an order is given"
        return {
            "relevant": printed_value(self.S**4, bounds=Quantity.CONSTANT, note=unknown),
            "irrelevant": printed_value(self.S**2, bounds=Quantity.CONSTANT, note=unknown),
        }

    def sound(self) -> Variants:
        square = self.S**2
        noise = (assumed("orthogonal patterns of norm S; the noise bounds hold almost surely"),)
        gap = logit_gap(self.S, self.Zmu, self.Znu)
        return {
            "relevant": lower_bound(
                square * (square - self.Znu - self.Zmu),
                hypotheses=noise,
                bounds=Quantity.CONSTANT,
                note="least logit of a relevant token",
            ),
            "irrelevant": upper_bound(
                max(square * self.Zmu, 2.0 * (square + self.Znu + self.Zmu) * self.Zmu),
                hypotheses=noise,
                bounds=Quantity.CONSTANT,
                note="largest absolute logit of an irrelevant token",
            ),
            "gap": lower_bound(
                gap,
                hypotheses=(verified("relevant logits above irrelevant ones", gap > 0.0, gap), *noise),
                bounds=Quantity.CONSTANT,
                note="least difference of a relevant and an irrelevant logit in one row",
            ),
        }

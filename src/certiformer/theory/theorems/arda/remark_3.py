from certiformer.theory.core import Quantity, Result, Status, Variants, printed_value, real, upper_bound, verified
from certiformer.theory.theorems.arda import ARDA


class Remark3(Result):
    r"""Covariance of the tokens under attention.

    The covariance of the tokens under the attention, r a bound on their norms, a = sum p_t x_t the attended token.

    Printed: ||X J X^T||_op <= 1 for tokens in the unit ball, whatever the sequence length
    .. math:: \|XJX^\top\|_{op}\le1
    Sound: ||X J X^T||_op <= tr(X J X^T) <= r^2 - ||a||^2, r >= ||x_t||, a the attended token.
    .. math:: \|M\|_{op}\le\operatorname{tr}M\le r^2-\|a\|^2.
    Because: the inequality is lost in our copy; the text around it fixes it (confidence high)
    Assumes:
    - every token has norm at most r
    """

    paper, place = ARDA, "Remark 3, Fact 2"
    bounds, status = Quantity.LIPSCHITZ_CONSTANT, Status.RECONSTRUCTED
    monotone = "+r -a"

    r: float = real("bound on the token norms")
    a: float = real("norm of the attended token, 0 if unknown", low_open=False, example=0.5)

    def printed(self) -> Variants:
        inside = verified("tokens in the unit ball", self.r <= 1.0, self.r)
        return {"value": printed_value(1.0, hypotheses=(inside,), note="reconstructed, confidence high")}

    def sound(self) -> Variants:
        hull = verified("||a|| <= r: the attended token is a mixture of the tokens", self.a <= self.r, self.a)
        # (r - a)(r + a) keeps its digits where r^2 - a^2 would lose them
        return {
            "value": upper_bound(
                max(0.0, (self.r - self.a) * (self.r + self.a)), clip=self.r * self.r, hypotheses=(hull,)
            )
        }

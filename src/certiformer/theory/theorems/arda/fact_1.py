from certiformer.theory.core import Quantity, Result, Status, Variants, printed_value, real, upper_bound
from certiformer.theory.theorems.arda import ARDA


class Fact1(Result):
    r"""Norm of the softmax Jacobian.

    The derivative of the softmax at logits whose probabilities are p; the bound is attained at p = (1/2, 1/2).

    Printed: ||diag(p) - p p^T||_op <= 1/2
    .. math:: \|\mathrm{diag}(p)-pp^\top\|_{op}\le\tfrac12
    Sound: The same; 2 P (1 - P) when the largest probability is P.
    .. math:: \|J\|_{op} \le \max_t 2p_t(1-p_t) \le 2P(1-P).
    Because: the constant is lost in our copy; 1/2 is what its proof gives (confidence high), and it is attained
    """

    id = "arda.fact1"
    paper, place = ARDA, "Appendix A.1, Fact 1"
    bounds, status = Quantity.LIPSCHITZ_CONSTANT, Status.RECONSTRUCTED

    P: float | None = real(
        "the largest attention weight", high=1, high_open=False, example=0.9, default=None, otherwise="any weights"
    )

    def printed(self) -> Variants:
        return {"value": printed_value(0.5, note="reconstructed, confidence high")}

    def sound(self) -> Variants:
        variants = {"value": upper_bound(0.5)}
        if self.P is not None:
            variants["peaked"] = upper_bound(2.0 * self.P * (1.0 - self.P))
        return variants

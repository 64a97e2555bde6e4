from certiformer.theory.core import Quantity, Status, Variants, assumed, printed_value, real, upper_bound
from certiformer.theory.theorems.deora._setting import Sampled


class Lemma3(Sampled):
    r"""Stability implies generalization in expectation.

    .. math:: E[L(\theta_K)-\hat L(\theta_K)]\le 2G\,E\Bigl[\frac1n\sum_i\|\theta_K-\theta_K^{-i}\|\Bigr]

    G is a Lipschitz constant of the loss along the segments between theta_K(S), theta_K(S without i) and theta_K(S with
    i replaced), for almost every sample, and the start does not depend on the sample.

    Printed: E[gap] <= 2 G E[(1/n) sum_i ||theta_K - theta_K^{-i}||]
    .. math:: E[L(\theta_K)-\hat L(\theta_K)]\le2G\,E\bigl[\tfrac1n\sum_i\|\theta_K-\theta_K^{-i}\|\bigr]
    Sound: the same; G almost sure along the segments between the runs, the start independent of the sample
    .. math:: E[L(\theta_K)-\hat L(\theta_K)]\le2G\,E\Bigl[\tfrac{1}{n}\sum_i\|\theta_K-\theta_K^{-i}\|\Bigr],\quad
       G\text{ almost surely along the segments}
    Because: true for an almost sure G and a start that does not depend on the sample
    Assumes:
    - i.i.d. samples
    - the algorithm is symmetric in the samples and starts independently of them
    Defects:
    - G must hold on the segments between the runs for almost every training set, not only at the iterates of one.
    - Without a start that is independent of the sample, theta_K^{-i} still knows sample i and the lemma fails.
    """

    place = "Lemma 3"
    bounds, status = Quantity.GAP, Status.TRUE
    monotone = "+G +stability"

    G: float = real("Lipschitz constant of every sample's loss on the way between the runs", low_open=False, example=2)
    stability: float = real("expected average leave-one-out distance", low_open=False, example=0.1)

    def printed(self) -> Variants:
        hypotheses = self.sampling
        return {"value": printed_value(2.0 * self.G * self.stability, hypotheses=hypotheses)}

    def sound(self) -> Variants:
        hypotheses = (
            assumed(
                "G bounds the gradient of every sample's loss between the runs being compared; stability is an "
                "expectation"
            ),
            *self.sampling,
        )
        return {"value": upper_bound(2.0 * self.G * self.stability, hypotheses=hypotheses)}

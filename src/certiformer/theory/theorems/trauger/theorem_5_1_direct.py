from certiformer.theory.calculus import chaining
from certiformer.theory.calculus.allocation import quadratic_total
from certiformer.theory.calculus.covers import perceptron_vocabulary, quadratic_cover
from certiformer.theory.core import Bound, InputError, Quantity, Result, Status, Variants, side_number, upper_bound
from certiformer.theory.core.inputs import count, real, reals
from certiformer.theory.theorems.trauger import TRAUGER

_LIPSCHITZ = 2.0  # of cross-entropy in the sup norm of the logits (Appendix G)


class Theorem51Direct(Result):
    r"""Masked-word prediction, logits covered directly.

    Cross-entropy is 2-Lipschitz in the sup norm of the logits W y. The head costs C_W = (||W||_F b)^2 ln(2nK+1) with
    sensitivity 2 (T4 in docs/proofs/covers.md), each weight of the body its own C_i with sensitivity 2 max_s ||W_s||
    beta_i, and Lemma E.1 shares the radius:

    .. math:: |\ell(Wy)-\ell(\hat W\hat y)| \le 2\bigl(\max_s|(W-\hat W)_s\hat y| + \max_s\|W_s\|_2\,\|y-\hat y\|\bigr).

    .. math:: \log N(\varepsilon) \le \Bigl((4C_W)^{1/3}+\sum_iC_i^{1/3}(2r\beta_i)^{2/3}\Bigr)^3/\varepsilon^2 .

    Sound: log N(eps) <= ((4 C_W)^(1/3) + sum_i C_i^(1/3) (2 row beta_i)^(2/3))^3/eps^2, C_W = (WF b)^2 ln(2nK+1),
    for the class of losses; with a clip at M, its Rademacher complexity by Dudley's integral at radius M/2.
    .. math:: \text{not printed}
    Because: covers the logits in the sup norm: the vocabulary enters through ln K only
    Assumes:
    - the token read by the head stays within radius b when weights are replaced by their cover (unit-ball
      projection, or proper covers)
    - the norms are fixed in advance
    """

    id = "trauger.thm5.1.direct"
    paper, place = TRAUGER, "Theorem 5.1, another route"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.NONE
    monotone = "+K +n +WF +row +b -eps"

    K: int = count("vocabulary size", low=2, example=100)
    n: int = count("sample size (one masked position each)", example=5000, aliases=("m", "N"))
    WF: float = real("Frobenius norm of the vocabulary matrix", example=3, symbol="||W||_F")
    row: float = real("largest row l2 norm of the vocabulary matrix", example=1.5, symbol="max ||W_s||")
    b: float = real("bound on the norm of the token read by the head, also for covered networks", default=1.0)
    C: tuple[float, ...] = reals("constants of the body's weights: log N_i <= C_i/eps^2", example=(2.0, 5.0))
    beta: tuple[float, ...] = reals("sensitivities of that token to the body's weights", example=(4.0, 1.0))
    eps: float = real("radius of the cover", example=0.5, symbol="ε")
    M: float | None = real(
        "level at which cross-entropy is clipped", example=10, default=None, otherwise="no complexity"
    )

    def sound(self) -> Variants:
        if len(self.C) != len(self.beta):
            raise InputError("beta", self.beta, f"as many numbers as C, {len(self.C)}")
        head = perceptron_vocabulary(self.WF, self.n, self.K).scaled(self.b).constant
        betas = (_LIPSCHITZ, *(_LIPSCHITZ * self.row * each for each in self.beta))
        total = quadratic_total((head, *self.C), betas)
        variants: dict[str, Bound] = {
            "value": upper_bound(total / self.eps / self.eps),
            "C_W": side_number(head, "log N of the vocabulary head is at most C_W/eps^2"),
        }
        if self.M is not None:
            # A loss in [0, M] is within M/2 of the constant M/2; covers of the body need not be proper.
            chain = chaining.external_chain(quadratic_cover(total, proper=False), self.M / 2.0, self.n)
            closed = chaining.dudley_closed_half(total, self.M / 2.0, self.n)
            for name, bound in {"rademacher_closed": closed, "rademacher_chain": chain}.items():
                variants[name] = upper_bound(bound, clip=self.M / 2.0, bounds=Quantity.RADEMACHER_COMPLEXITY)
        return variants

import math

from certiformer.theory.calculus import excess_risk
from certiformer.theory.core import Bound, Quantity, Status, Variants, printed_value, side_number, upper_bound
from certiformer.theory.core.hypothesis import Hypothesis, assumed, verified
from certiformer.theory.core.inputs import count, real
from certiformer.theory.theorems.li._setting import LipschitzLoss

COVER = "logN is that of a proper cover of the whole domain at the given radius, fixed before the data"


def _risk_bound(value: float, M: float, *hypotheses: Hypothesis, note: str = "") -> Bound:
    return upper_bound(value, clip=M, bounds=Quantity.RISK, hypotheses=hypotheses, note=note)


class Corollary45(LipschitzLoss):
    r"""Excess risk by covering numbers, one head.

    Under a Bernstein condition S1, for the squared loss S2, against the empirical risk S3, without any condition S4.
    The cover is proper, of the whole domain, fixed before the data. Under Bernstein with V <= 5M/3, M = M_SH/2, S1 is
    below the printed value (with such a cover in place of the sample's).

    Bernstein holds for the squared loss against E[Y|X] (V = sup (f-f0)^2 + 4 Var), for log-loss well specified (V <= 2
    + L), under a margin mu (V = kappa^2/mu); not for the absolute loss in general.

    Printed: excess <= (2 M_SH/n)(1 + log E N(radius)) + 8 kappa radius + inf
    .. math:: \frac{2M_{SH}}{n}\bigl(1+\log E N_\infty(\delta)\bigr)+8\kappa\delta+\inf_f\mathcal E(f)
    Quoted: \frac{2M_{\mathrm{SH}}}{n}\Bigl(1+\log\mathbb{E}_{\mathbb{X}}\!\big[N_{\infty}(\delta,\mathcal{F},
    \mathbb{X})\big]\Bigr)
    Sound: S1 (E g^2 <= V E g, -g <= M): A inf + log N/(n lambda) + (1+A) kappa delta, u = M/V, lambda = [(1+1/u)
    log(1+u) - 1]/M, A = log(1+u)/(M lambda) < 2. S2 (squared loss, noise sigma, |f-f0|^2 <= b): A inf + log N/(n
    lambda) + 2 delta (sqrt b + A (sqrt b + sigma)). S3 (risk): A R_n + M log N/(n(1-e^-t)) + (1+A) kappa delta, t
    free. S4: inf + M sqrt(log N/2n) + 2 kappa delta. S1_hp, S3_hp, S3_kl: with probability 1 - eta.
    .. math:: E\,\mathcal E(\hat f)\le A\inf_f\mathcal E(f)+\frac{\log
       N}{n\lambda}+(1+A)\kappa\delta,\quad\lambda=\frac{(1+\frac{1}{u})\log(1+u)-1}{M},\
       A=\frac{\log(1+u)}{M\lambda}<2,\ u=\frac{M}{V}
    Because: no 1/n rate without a Bernstein condition: absolute loss with flat noise decays like n^(-1/2)
    Assumes:
    - logN is that of a proper cover of the whole domain at the given radius, fixed before the data
    - the predictor minimises the empirical risk over the whole class (else add the optimisation error)
    Defects:
    - Inherits Theorem 4.4 and its four counterexamples; 1/n without a Bernstein condition is impossible for the
      absolute loss.
    - It is true if kappa holds for every label, Bernstein holds with V <= 5M/3 (M = M_SH/2), the cover is fixed
      before the data, and inf counts A < 2 times.
    - log E N is for covers of the sample; that needs (1+2a) E R_n on the right (Theorem 4.4, variant A).
    - The 1 + is superfluous.
    """

    place = "Corollary 4.5"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n +logN +kappa +radius +V"

    n: int = count("sample size", example=1_000_000, aliases=("m", "N"))
    logN: float = real("log covering number at the radius", low_open=False, example=200)
    M_SH: float = real("2 kappa (B + sup|f|), the paper's scale", example=8)
    V: float = real("Bernstein constant: E g^2 <= V E g for the excess losses g", example=3)
    M: float = real("bound on -g (S1) and range of the loss (S3, S4)", example=4)
    radius: float = real("cover radius", example=0.001, symbol="δ", aliases=("cover_radius",))
    b_h: float | None = real("bound on |f - f0|^2", example=4, default=None, otherwise="S2 left out")
    sigma: float | None = real(
        "sub-Gaussian parameter of the noise", example=0.5, symbol="σ", default=None, otherwise="S2 left out"
    )
    emp: float | None = real(
        "empirical risk (expected for S3, observed for S3_hp)", low_open=False, default=None, otherwise="S3 left out"
    )
    eta: float | None = real(
        "failure probability", high=1.0, example=0.05, default=None, otherwise="expectation forms only"
    )

    def printed(self) -> Variants:
        value = 2.0 * self.M_SH / self.n * (1.0 + self.logN) + 8.0 * self.kappa * self.radius + self.approx
        return {"value": printed_value(value, hypotheses=(verified("log N is not negative", self.logN >= 0.0),))}

    def sound(self) -> Variants:
        cover = excess_risk.given_cover(self.logN)
        fixed = assumed(COVER)
        in_range = assumed("the loss lies in an interval of length M")
        first = excess_risk.bernstein(
            cover, self.radius, self.n, V=self.V, M=self.M, kappa=self.kappa, approximation=self.approx
        )
        slow = excess_risk.slow(
            cover, self.radius, self.n, loss_range=self.M, kappa=self.kappa, approximation=self.approx
        )
        variants: dict[str, Bound] = {
            "S1": self.fast(first, None, fixed, assumed("-g <= M almost surely")),
            "S4": self.slow(slow, self.M, fixed, in_range),
            "A": side_number(first.tilt.oracle, "the oracle factor of S1"),
            "inverse_lambda": side_number(1.0 / first.tilt.lam, "at most 2V + 2M/3"),
        }
        if self.b_h is not None and self.sigma is not None:
            squared = excess_risk.squared(
                cover, self.radius, self.n, b_h=self.b_h, sigma=self.sigma, approximation=self.approx
            )
            variants["S2"] = self.squared(squared, self.b_h, fixed)
        ln_inverse_eta = None if self.eta is None else math.log(1.0 / self.eta)
        if ln_inverse_eta is not None:
            high = excess_risk.bernstein_hp(
                cover, self.radius, self.n, V=self.V, M=self.M, kappa=self.kappa, ln_inverse_eta=ln_inverse_eta
            )
            variants["S1_hp"] = self.fast(high, None, fixed, self.bayes_in_class, bounds=Quantity.EXCESS_RISK_HP)
        if self.emp is not None:
            setting = {"M": self.M, "kappa": self.kappa, "empirical": self.emp}
            hypotheses = (fixed, self.honest, assumed("the loss lies in [0, M]"))
            hopeful = excess_risk.optimistic_best(cover, self.radius, self.n, **setting)
            expected = assumed("emp is the expected empirical risk, not the observed one")
            variants["S3"] = _risk_bound(hopeful.value, self.M, *hypotheses, expected)
            if ln_inverse_eta is not None:
                value = excess_risk.optimistic_best(
                    cover, self.radius, self.n, ln_inverse_eta=ln_inverse_eta, **setting
                ).value
                sharp = excess_risk.optimistic_kl(cover, self.radius, self.n, ln_inverse_eta=ln_inverse_eta, **setting)
                note = "with probability 1 - eta for every f at once, emp observed"
                variants["S3_hp"] = _risk_bound(value, self.M, *hypotheses, note=note)
                variants["S3_kl"] = _risk_bound(sharp, self.M, *hypotheses, note=note)
        return variants

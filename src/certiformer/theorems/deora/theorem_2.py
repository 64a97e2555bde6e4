from __future__ import annotations

from certiformer.calculus.descent import Run
from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    choice,
    count,
    flag,
    printed_value,
    real,
    side_number,
    verified,
)
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._attention import (
    Attention,
    printed_beta1,
    stability_hypotheses,
)
from certiformer.theorems.deora._training import (
    printed_checks,
    printed_heads,
    printed_rho,
    printed_step,
    stability_bounds,
    training_bound,
)


class Theorem2(Result):
    r"""Expected generalization gap of gradient descent.

    Under a certificate of Theorem 1 (angle s, norm B, total loss S).

    It is a statement in expectation. Two hypotheses that no program can see must be claimed: the start does not
    depend on the sample, and R (with the other inputs) holds almost surely. Without the first the gap can be 0.69 at a
    value of 3e-4.

    Printed: E[gap] <= (4/n) E[2 K Lt + 9 D^2/(4 eta)] under the conditions of Theorem 1 (up to constants)
    .. math:: E[L(\theta_K)-\hat L(\theta_K)]\le\frac4nE\bigl[2K\hat
       L(\theta)+\tfrac{9\|\theta-\theta_0\|^2}{4\eta}\bigr]
    Sound: With s, B, S of deora.thm1: stability <= (eta beta1(B)/n) e^A (L0+S), A = 2 eta beta3(B)(L0+S)/(sqrt(H)
    cos s), E[gap] <= 2 beta1(B) stability; theta_0, eta, K, H independent of the sample, R and the inputs almost
    sure.
    .. math:: \mathrm{stability}\le\frac{\eta\beta_1(B)}{n}e^A(L_0+S),\quad A=\frac{2\eta\beta_3(B)(L_0+S)}{\sqrt
       H\cos s}, \qquad \mathrm{gap}\le 2\beta_1(B)\,\mathrm{stability}.
    Because: true with sqrt(H) >= 72 beta3(b + 3D) D^2, eta <= 1/beta1(b + 3D)^2 and a start independent of the
    sample
    Assumes:
    - the n samples are i.i.d.; theta_0, eta, K, H do not depend on them
    - R bounds every token of the population; D, b, b0, Lt, L0 bound their values for almost every training set
    - K is fixed in advance, not chosen from the training or validation curve
    Defects:
    - The condition on H hides its constant: 72 beta3(b + 3D) D^2 (1872 in the form of (3)).
    - The proof uses eta beta1^2 <= 1, which the huge rho implies; at any sharper step size that factor has to stay.
    - That theta_0 must not depend on the sample is not said: a start fitted to the sample has gap 0.69 at value
      3e-4.
    - (21) in its proof misplaces a bracket (deora.eq21).
    """

    paper, place = DEORA, "Theorem 2"
    bounds, status = Quantity.GAP, Status.CONSTANT
    monotone = "-n +D +b +b0 +Lt +L0 +T +R -H"

    n: int = count("sample size", example=1000, aliases=("m", "N"))
    D: float = real("distance ||theta - theta_0|| of the target from the start", low_open=False, example=5)
    b: float = real("max_h ||U_h||_F of the target theta", low_open=False, example=0.05, symbol="||θ||_{2,∞}")
    b0: float = real("max_h ||U_h||_F at the start theta_0", low_open=False, example=0)
    Lt: float = real("training loss at the target", low_open=False, example=0.05)
    L0: float = real("training loss at the start", low_open=False, example=0.69)
    H: int = count("heads", example=100_000)
    K: int = count("gradient steps, fixed in advance", example=100)
    eta: float = real("step size", example=0.5, symbol="η")
    T: int = count("tokens per input", example=4)
    R: float = real("bound on the norm of every token", high=1000000000000.0)
    d: int = count("token dimension (printed formulas only)", example=3)
    readout: str = choice(
        "full: U_h trained; pooling: U_h = 1 u_h^T; last: the last token only",
        ("full", "pooling", "last"),
        default="full",
    )
    G: float = real("the loss has |l'| <= G (logistic: 1)", default=1.0)
    C: float = real("the loss has |l'| <= C l (logistic: 1)", default=1.0)
    Q: float = real("the loss has 0 <= l'' <= Q (logistic: 1/4)", example=0.25, default=0.25)
    independent: bool | None = flag(
        "you vouch that theta_0, eta, K and H do not depend on the n samples (first-phase samples disjoint from them)"
    )
    almost_sure: bool | None = flag(
        "you vouch that R bounds every token of the population and that the other inputs hold for almost every "
        "training set"
    )

    def printed(self) -> Variants:
        run = Run(self.D, self.b, self.b0, self.Lt, self.L0, self.K, self.eta)
        heads = printed_heads(72.0, self.D, self.b, self.T, self.R, self.d)
        gradient = printed_beta1(self.b + 3.0 * self.D, self.T, self.R)
        hypotheses = (
            *printed_checks(
                run,
                heads,
                self.H,
                self.R,
                printed_step(run, printed_rho(self.D, self.b, self.H, self.T, self.R, self.d)),
            ),
            verified("eta <= 1/beta1(b + 3D)^2", self.eta * gradient * gradient <= 1.0, 1.0 / (gradient * gradient)),
            verified(
                "logistic loss, not pooled", self.readout != "pooling" and (self.G, self.C, self.Q) == (1.0, 1.0, 0.25)
            ),
            *stability_hypotheses(self.independent, self.almost_sure),
        )
        losses = 2.0 * self.K * self.Lt + 9.0 * self.D * self.D / (4.0 * self.eta)
        return {
            "value": printed_value(4.0 / self.n * losses, hypotheses=hypotheses),
            "stability": printed_value(
                2.0 * self.eta * gradient / self.n * losses, hypotheses=hypotheses, bounds=Quantity.STABILITY
            ),
            "H_needed": printed_value(heads, bounds=Quantity.WIDTH, note="(72 beta3(b + 3D) D^2)^2"),
        }

    def sound(self) -> Variants:
        run = Run(self.D, self.b, self.b0, self.Lt, self.L0, self.K, self.eta)
        model = Attention(self.T, self.R, self.H, self.readout, self.G, self.C, self.Q)
        train, certificate, hypotheses = training_bound(model, run)
        bounds = stability_bounds(
            model, run, certificate, self.n, (*hypotheses, *stability_hypotheses(self.independent, self.almost_sure))
        )
        return {**bounds, "train": side_number(train.value, "the bound of deora.thm1 on the training loss")}

from certiformer.theory.calculus.descent import Run
from certiformer.theory.core import Quantity, Status, Variants, count, printed_value, side_number, verified
from certiformer.theory.theorems.deora._attention import Attention, printed_beta1
from certiformer.theory.theorems.deora._setting import Readout, Sampled, Tokens, TowardsTarget
from certiformer.theory.theorems.deora._training import (
    printed_checks,
    printed_heads,
    printed_rho,
    printed_step,
    stability_bounds,
    training_bound,
)


class Theorem2(TowardsTarget, Tokens, Readout, Sampled):
    r"""Expected generalization gap of gradient descent.

    Under a certificate of Theorem 1 (angle s, norm B, total loss S).

    It is a statement in expectation. Two hypotheses that no program can see must be claimed: the start does not depend
    on the sample, and R (with the other inputs) holds almost surely. Without the first the gap can be 0.69 at a value
    of 3e-4.

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

    place = "Theorem 2"
    bounds, status = Quantity.GAP, Status.CONSTANT
    monotone = "-n +D +b +b0 +Lt +L0 +T +R -H"

    n: int = count("sample size", example=1000, aliases=("m", "N"))
    d: int = count("token dimension (printed formulas only)", example=3)

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
            # mutants: words
            verified("eta <= 1/beta1(b + 3D)^2", self.eta * gradient * gradient <= 1.0, 1.0 / (gradient * gradient)),
            verified(
                # mutants: words
                "logistic loss, not pooled",
                self.readout != "pooling" and (self.G, self.C, self.Q) == (1.0, 1.0, 0.25),
            ),
            *self.sampling,
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
        bounds = stability_bounds(model, run, certificate, self.n, (*hypotheses, *self.sampling))
        return {**bounds, "train": side_number(train.value, "the bound of deora.thm1 on the training loss")}

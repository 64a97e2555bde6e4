import math

from certiformer.theory.calculus.descent import Run
from certiformer.theory.core import Quantity, Status, Variants, count, printed_value, side_number, upper_bound, verified
from certiformer.theory.theorems.deora._attention import Attention
from certiformer.theory.theorems.deora._setting import Readout, Tokens, TowardsTarget
from certiformer.theory.theorems.deora._training import (
    heads_needed,
    printed_checks,
    printed_heads,
    printed_rho,
    printed_step,
    training_bound,
)


class Theorem1(TowardsTarget, Tokens, Readout):
    r"""Training loss of gradient descent, and the heads it needs.

    The training loss after K steps of size eta, against any target theta at distance D from theta_0; the angle s < pi/2
    must close the induction. No certificate is an answer: the value is then inf and the hypothesis says what is
    missing.

    Printed: L(theta_K) <= avg <= 2 Lt + 5 D^2/(4 eta K) and ||theta_K - theta_0|| <= 4D if sqrt(H) >~ d sqrt(T) R^5
    b D^3 (section 6.1: sqrt(H) >= 18 beta3(b + 3D) D^2) and eta <= 1 ^ 1/rho ^ D^2/(K Lt) ^ D^2/L0
    .. math:: \hat L(\theta_K)\le\tfrac1K\sum_{k\le K}\hat L(\theta_k)\le 2\hat
       L(\theta)+\frac{5\|\theta-\theta_0\|^2}{4\eta K},\quad \sqrt H\gtrsim d\sqrt
       TR^5\|\theta\|_{2,\infty}\|\theta-\theta_0\|^3
    Sound: For the least s < pi/2 with beta3(B) (rD)^2/sqrt(H) <= s^2, c0 = s cot s, c1 = s/sin s, S = [K c1 Lt +
    (1-c0) L0 + D^2/(2 eta)]/c0, (rD)^2 = D^2 + 2 eta (K c1 Lt + (1-c0) L0), B = max(b, b0, min(b + rD, b0 + eta
    sqrt(T) R (L0+S)/sqrt(H))), and if eta beta2(B + eta sqrt(T) R min(1, L0)/sqrt(H)) <= 1: L(theta_K) <= avg <=
    min(S/K, L0), ||theta_k - theta|| <= rD, b(theta_k) <= B. H_needed: the least H for which such an s exists.
    .. math:: \frac1K\sum_{k=1}^K\hat L(\theta_k)\le\frac{1}{c_0}\Bigl[c_1\hat L(\theta)+\frac{D^2}{2\eta K}
       +\frac{(1-c_0)\hat L(\theta_0)}{K}\Bigr],\quad c_0=s\cot s,\ c_1=s/\sin s.
    Because: true with the explicit conditions of section 6.1; the heads condition hides 468, and the order of rho
    is wrong
    Assumes:
    - full-batch gradient descent with a constant step size
    - the target theta is free: any point whose distance, norm and loss are known
    - labels are +1 or -1, every training token has norm at most R
    Defects:
    - The heads condition hides its constant and needs b, D, R >= 1: then 468 suffices (with the sqrt(Td) reading of
      beta3).
    - rho is said to be of order d^{3/2} T^{3/2} R^13 b^2 D^2; the explicit rho has a term d T^2 R^12, so the ratio
      grows like sqrt(T).
    - Heads of order d^3 T R^10 D^6: the sound condition has no d and grows like D^4 when b0 is O(1).
    - The step size must be below 1/rho, about 1e-5 on small problems where 1 is safe.
    """

    place = "Theorem 1"
    bounds, status = Quantity.TRAINING_LOSS, Status.CONSTANT
    monotone = "+D +b +b0 +Lt +L0 +T +R -H"

    d: int = count("token dimension (printed formulas only)", example=3)

    def printed(self) -> Variants:
        run = Run(self.D, self.b, self.b0, self.Lt, self.L0, self.K, self.eta)
        heads = printed_heads(18.0, self.D, self.b, self.T, self.R, self.d)
        rho = printed_rho(self.D, self.b, self.H, self.T, self.R, self.d)
        eta_max = printed_step(run, rho)
        hypotheses = (
            *printed_checks(run, heads, self.H, self.R, eta_max),
            verified(
                "logistic loss, not pooled", self.readout != "pooling" and (self.G, self.C, self.Q) == (1.0, 1.0, 0.25)
            ),
        )
        return {
            "value": printed_value(
                2.0 * self.Lt + 5.0 * self.D * self.D / (4.0 * self.eta * self.K), hypotheses=hypotheses
            ),
            "travel": printed_value(
                4.0 * self.D, hypotheses=hypotheses, bounds=Quantity.CONSTANT, note="||theta_K - theta_0||"
            ),
            "H_needed": printed_value(
                heads,
                bounds=Quantity.WIDTH,
                note="(18 beta3(b + 3D) D^2)^2, section 6.1; grows like d^3 T R^10 D^6",
            ),
            "rho": side_number(rho, "the step size must be at most 1/rho"),
            "eta_max": side_number(eta_max, "largest step size the theorem allows"),
        }

    def sound(self) -> Variants:
        run = Run(self.D, self.b, self.b0, self.Lt, self.L0, self.K, self.eta)
        model = Attention(self.T, self.R, self.H, self.readout, self.G, self.C, self.Q)
        value, certificate, hypotheses = training_bound(model, run)
        distance, B, q = (certificate.distance, certificate.B, certificate.q) if certificate else (math.inf,) * 3
        ratio = distance / self.D if self.D > 0.0 else (math.inf if distance > 0.0 else 1.0)
        return {
            "value": value,
            "travel": upper_bound(
                self.D + distance, hypotheses=hypotheses, bounds=Quantity.CONSTANT, note="||theta_k - theta_0||, k <= K"
            ),
            "distance": upper_bound(
                distance, hypotheses=hypotheses, bounds=Quantity.CONSTANT, note="||theta_k - theta||, k <= K"
            ),
            "r": side_number(ratio, "||theta_k - theta|| <= r D for every k <= K"),
            "B": side_number(B, "max_h ||U_h|| <= B at every iterate"),
            "q": side_number(q, "beta3(B) (r D)^2 / sqrt(H), below (pi/2)^2"),
            "H_needed": heads_needed(model, run),
        }

import math

from certiformer.theory.calculus.entropies import exp
from certiformer.theory.core import Quantity, Status, Variants, printed_value, side_number, upper_bound
from certiformer.theory.core.hypothesis import assumed, stated, verified
from certiformer.theory.core.inputs import derived, flag, real
from certiformer.theory.theorems.mwigo._shallow import ShallowEncoder
from certiformer.theory.theorems.mwigo._training import (
    flow_quantities,
    ln_consistent_loss,
    ln_printed_loss,
    printed_quantities,
)


class Lemma4(ShallowEncoder):
    r"""The training loss stays small.

    Phi = ||f - y||^2/2, alpha the smallest (N-th) singular value of the initial features F_pre, rho = sqrt(N) d_s^{3/2}
    R_X; a loss that is 1-Lipschitz in the prediction. `lipschitz` needs the residual of the weights in question only,
    `flow` gradient flow on Phi, along which the weights stay within their radii; `proof_consistent` has the printed
    proof's own constants, which the flow version confirms.

    Printed: L_S <= min(alpha^2/(8 rho M^ sqrt(N)), alpha^3 eta_O/(32 rho^4 z^ sqrt(N))) for all t, if alpha^2 >= 8
    rho M sqrt(2 Phi_0), alpha^3 >= 32 rho^2 z sqrt(2 Phi_0)/eta_O, dm >= Omega~(N^3)
    .. math:: L_S(f_{\theta^t})\le\min\Bigl(\frac{\alpha^2}{8\rho\hat M\sqrt N},\frac{\alpha^3\eta_O}{32\rho^4\hat
       z\sqrt N}\Bigr)
    Quoted: \mathcal{L}_S(f_{\boldsymbol{\theta}^t}) \leq \min \left( \frac{\alpha^2}{8\rho \hat{M} \sqrt{N}},
    \frac{\alpha^3 \eta_O}{32\rho^4 \hat{z} \sqrt{N}} \right)
    Sound: lipschitz: mean l(y,y) + ||f - y||/sqrt(N); flow: mean l(y,y) + sqrt(2 Phi_0/N) exp(-alpha^2 t/4) for
    gradient flow if alpha^2 >= 4 sqrt(N) B M' sqrt(2 Phi_0) and alpha^3 >= 8 N B^2 (z'/eta_O) sqrt(2 Phi_0); M' =
    max(xi_V/RO, eta_O/RV, B^2 xi_K xi_V eta_O/(sqrt(dm) RQ), B^2 xi_Q xi_V eta_O/(sqrt(dm) RK)), z' = eta_O^2 (1 +
    (B^4/dm) xi_V^2 (xi_Q^2 + xi_K^2)).
    .. math:: L_S\le\frac{1}{N}\sum_n\ell(y_n,y_n)+\frac{\|f-y\|}{\sqrt N},\qquad
       L_S(t)\le\frac{1}{N}\sum_n\ell(y_n,y_n)+\sqrt{\frac{2\Phi_0}{N}}\,e^{-\alpha^2t/4}
    Because: M^ and z^ in the denominators and rho^4 make the bound too small; l(y,y) is lost; another loss is
    trained
    Assumes:
    - the loss is 1-Lipschitz in the prediction
    Defects:
    - Replacing M by M^ >= M and z by z^ >= z in a denominator reverses the inequality.
    - sqrt(2 alpha^6 eta_O^2/(2048 rho^4 z^2)) is alpha^3 eta_O/(32 rho^2 z): rho^4 is wrong.
    - L_S <= mean (l(f,y) - l(y,y)) needs l(y,y) <= 0; the logistic loss has l(1,1) = 0.313.
    - The algorithm descends the 1-Lipschitz loss, the convergence theorem is about Phi.
    - alpha is 0 when d_m < N: six of the nine experiments violate the hypotheses, d_m >= N^3 excludes the others.
    - The corrected bound follows from its own hypotheses: it is never better than sqrt(2 Phi_0/N).
    - d_s^{3/2} belongs to sum pooling; with a mean sqrt(d_s) is enough.
    """

    place = "Lemma 4"
    bounds, status = Quantity.TRAINING_LOSS, Status.FALSE
    monotone = "+residual0 +lyy"

    alpha: float = real(
        "smallest (N-th) singular value of the initial features, pooled over the tokens by their mean as f does",
        example=0.5,
        symbol="α",
    )
    residual0: float = real("||f - y|| at the initial weights, sqrt(2 Phi_0)", example=1e-12)
    residual: float = real(
        "||f - y|| at the weights in question", low_open=False, factory=derived("residual0", lambda x: x.residual0)
    )
    t: float = real("time of the gradient flow", low_open=False, example=0, default=0.0)
    lyy: float = real("mean of l(y, y), the loss at a perfect fit", low_open=False, example=0, default=0.0)
    flow: bool | None = flag("training is gradient flow on Phi")

    def printed(self) -> Variants:
        made = printed_quantities(self)
        ln_alpha, ln_residual = math.log(self.alpha), math.log(self.residual0)
        first = 2.0 * ln_alpha - math.log(8.0) - made.rho - made.M
        second = 3.0 * ln_alpha + math.log(self.eta_O) - math.log(32.0) - 2.0 * made.rho - made.z
        ln = ln_printed_loss(self, self.alpha)
        hypotheses = (
            verified("alpha^2 >= 8 rho M sqrt(2 Phi_0)", ln_residual <= first, self.residual0),
            verified("alpha^3 >= 32 rho^2 z sqrt(2 Phi_0)/eta_O", ln_residual <= second, self.residual0),
            verified("d_m >= N (else alpha, the N-th singular value, is 0)", self.dm >= self.n, self.dm),
            assumed("d_m is at least of order N^3, up to logarithms"),
        )
        return {
            "value": printed_value(exp(ln), hypotheses=hypotheses, ln=ln),
            "rho": side_number(exp(made.rho)),
            "M": side_number(exp(made.M)),
            "M_hat": side_number(exp(made.M_hat)),
            "z": side_number(exp(made.z)),
            "z_hat": side_number(exp(made.z_hat)),
            "hypothesis_1": side_number(float(ln_residual <= first), "1 if alpha^2 >= 8 rho M sqrt(2 Phi_0)"),
            "hypothesis_2": side_number(float(ln_residual <= second), "1 if alpha^3 >= 32 rho^2 z sqrt(2 Phi_0)/eta_O"),
        }

    def sound(self) -> Variants:
        made = printed_quantities(self)
        ln_M, ln_z = flow_quantities(self)
        ln_alpha, ln_residual, ln_n, ln_B = (
            math.log(self.alpha),
            math.log(self.residual0),
            math.log(self.n),
            math.log(self.B),
        )
        wide = verified("d_m >= N (else alpha, the N-th singular value, is 0)", self.dm >= self.n, self.dm)
        flowing = stated("training is gradient flow on Phi from the initial weights", self.flow, "flow=1")
        # Conditions as upper limits on sqrt(2 Phi_0); a hair of slack on the safe side.
        limit_1 = 2.0 * ln_alpha - math.log(4.0) - 0.5 * ln_n - ln_B - ln_M - 1e-12  # mutants: rounding-margins
        # mutants: rounding-margins
        limit_2 = 3.0 * ln_alpha - math.log(8.0) - ln_n - 2.0 * ln_B - ln_z + math.log(self.eta_O) - 1e-12
        strict_1 = 2.0 * ln_alpha - math.log(8.0) - made.rho - made.M - 1e-12  # mutants: rounding-margins
        # mutants: rounding-margins
        strict_2 = 3.0 * ln_alpha + math.log(self.eta_O) - math.log(32.0) - 2.0 * made.rho - made.z - 1e-12
        grown = "residual" in self.derived
        seen = assumed("Phi has not grown" if grown else "residual is ||f - y|| of the weights in question")
        return {
            "lipschitz": upper_bound(self.lyy + self.residual / math.sqrt(self.n), hypotheses=(seen,)),
            "flow": upper_bound(
                self.lyy + self.residual0 / math.sqrt(self.n) * math.exp(-self.alpha * self.alpha * self.t / 4.0),
                hypotheses=(
                    self.initial_norms,
                    flowing,
                    wide,
                    verified("alpha^2 >= 4 sqrt(N) B M' sqrt(2 Phi_0)", ln_residual <= limit_1, self.residual0),
                    verified("alpha^3 >= 8 N B^2 (z'/eta_O) sqrt(2 Phi_0)", ln_residual <= limit_2, self.residual0),
                ),
            ),
            "proof_consistent": upper_bound(
                self.lyy + exp(ln_consistent_loss(self, self.alpha)),
                hypotheses=(
                    self.initial_norms,
                    flowing,
                    wide,
                    verified(
                        "B <= sqrt(ds) RX, so that the printed hypotheses suffice",
                        math.sqrt(self.ds) * self.RX >= self.B,
                        self.B,
                    ),
                    verified("alpha^2 >= 8 rho M sqrt(2 Phi_0)", ln_residual <= strict_1, self.residual0),
                    verified("alpha^3 >= 32 rho^2 z sqrt(2 Phi_0)/eta_O", ln_residual <= strict_2, self.residual0),
                ),
            ),
            "M_flow": side_number(exp(ln_M), "M'"),
            "z_flow": side_number(exp(ln_z), "z'"),
        }

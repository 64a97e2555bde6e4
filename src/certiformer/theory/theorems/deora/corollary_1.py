import math

from certiformer.theory.core import Quantity, Status, Variants, assumed, printed_value, upper_bound, verified
from certiformer.theory.theorems.deora._attention import Attention, printed_beta1, printed_beta2, printed_beta3
from certiformer.theory.theorems.deora._setting import Parameters, Readout


class Corollary1(Parameters, Readout):
    r"""Gradient, smoothness and weak convexity of the loss.

    Smoothness constants without the dimension, attained.

    Printed: ||grad L|| <= beta1 L, ||Hess L|| <= beta2, lambda_min >= -beta3 L/sqrt(H) with beta1 = sqrt(T) R (2
    R^2 b + 1), beta3 = 2 sqrt(T) d R^3 (3 sqrt(d) R^2 b + 1), beta2 = beta3/sqrt(H) + beta1^2/4
    .. math:: \beta_1=\sqrt T R(2R^2\|\theta\|_{2,\infty}+1),\ \beta_3=2\sqrt T dR^3(3\sqrt d
       R^2\|\theta\|_{2,\infty}+1),\ \beta_2=\beta_3/\sqrt H+\beta_1^2/4
    Sound: beta1 = sqrt(T) R max(1, R^2 b), beta3 = (sqrt(T) R^3/2)(C3 R^2 b + sqrt((C3 R^2 b)^2 + 4)), C3 = 4/(3
    sqrt 3), beta2 = beta3/sqrt(H) + beta1^2/4. Pooling: 1 -> sqrt(T) in beta1 and the 4 in beta3 -> 4T. Last token:
    T -> 1. Other losses: beta1, beta3 times C, beta2 = G beta3/sqrt(H) + Q beta1^2.
    .. math:: \beta_1 = \sqrt T R\max(1, R^2 b),\quad \beta_3 = \tfrac12\sqrt T
       R^3\bigl(C_3R^2b+\sqrt{(C_3R^2b)^2+4}\bigr).
    Because: all three inequalities hold; constants without d, and attained, replace them
    Assumes:
    - labels are +1 or -1
    - every token has norm at most R
    - b is the largest ||U_h||_F
    Defects:
    - beta3 is printed with 2 sqrt(T) d R^3 where Proposition 1 gives 2 sqrt(T d) R^3: valid, but larger by sqrt(d).
    - The constants grow with the dimension; attained ones do not.
    - The text says the least eigenvalue gets less positive as H grows; it gets less negative.
    - The footnote extends the results to pooling as they stand; with U = 1 u^T and equal tokens the gradient at
      zero is T R, above the printed sqrt(T) R. (The footnote's u 1_T^T also has the wrong shape.)
    """

    place = "Corollary 1"
    bounds, status = Quantity.SMOOTHNESS, Status.TRUE
    monotone = "+b +T +R -H +G +Q"

    def printed(self) -> Variants:
        hypotheses = (
            verified("R >= 1 (Assumption 1)", self.R >= 1.0, self.R),
            verified("not pooled: a shared vector moves every row at once", self.readout != "pooling"),
            verified("logistic loss", (self.G, self.C, self.Q) == (1.0, 1.0, 0.25)),
        )
        # The reading 2 sqrt(T d) R^3 is the one that Proposition 1 gives and that condition (3) uses.
        root_reading = printed_beta3(self.b, self.T, self.R, self.d) / math.sqrt(self.d)
        return {
            "beta1": printed_value(
                printed_beta1(self.b, self.T, self.R), hypotheses=hypotheses, bounds=Quantity.LIPSCHITZ_CONSTANT
            ),
            "beta2": printed_value(printed_beta2(self.b, self.T, self.R, self.d, self.H), hypotheses=hypotheses),
            "beta3": printed_value(
                printed_beta3(self.b, self.T, self.R, self.d), hypotheses=hypotheses, bounds=Quantity.CONSTANT
            ),
            "beta3_root_d": printed_value(root_reading, hypotheses=hypotheses, bounds=Quantity.CONSTANT),
        }

    def sound(self) -> Variants:
        model = Attention(self.T, self.R, self.H, self.readout, self.G, self.C, self.Q)
        tokens = (assumed("every token of the data has norm at most R; labels are +1 or -1"),)
        return {
            "beta1": upper_bound(
                float(model.beta1(self.b)),
                hypotheses=tokens,
                bounds=Quantity.LIPSCHITZ_CONSTANT,
                note="||grad L|| <= beta1 L",
            ),
            "beta2": upper_bound(float(model.beta2(self.b)), hypotheses=tokens, note="||Hess L|| <= beta2"),
            "beta3": upper_bound(
                float(model.beta3(self.b)),
                hypotheses=tokens,
                bounds=Quantity.CONSTANT,
                note="lambda_min >= -beta3 L / sqrt(H)",
            ),
        }

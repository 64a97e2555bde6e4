import math

from certiformer.theory.core import Quantity, Status, Variants, lower_bound, printed_value, side_number, upper_bound
from certiformer.theory.core.hypothesis import assumed, verified
from certiformer.theory.core.inputs import count, flag, real
from certiformer.theory.theorems.deora._mixture import Mixture
from certiformer.theory.theorems.deora._setting import TokenizedMixture


class Proposition2(TokenizedMixture):
    r"""NTK margin after the first phase.

    P3 holds surely and for every H with the paper's target (gamma_sum = gamma_U + gamma_W) or with its two blocks
    weighted (gamma_opt = sqrt2 hypot); gamma_W is a minimum over noise corners, minus T P R^3. The zero start is good
    too (gamma_zero = sqrt2 gamma_U).

    Printed: P1: B2 = sqrt(T)(S+P); P2: BPhi = T R (S+P) sqrt(2 log(n/delta)); P3: margin gamma_*/2 with probability
    1 - delta if sqrt(H) >~ R^4 T (S+P)/gamma_* sqrt(2 log(n/delta)), gamma_* of (7)
    .. math:: \gamma_\star=\tfrac{T(1-\zeta)\zeta(\zeta S^4-7\bar ZS^2-12\bar Z^2-16\bar
       Z^3/S^2)}{4\sqrt{2(M+1)}}-PT^{5/2}(S+Z)^3+\tfrac{S\sqrt T}{\sqrt2}(\zeta-2(1-\zeta)Z_\mu/S^2)
    Sound: gamma_U = (S sqrt(T)/sqrt 2)(zeta - 2(1-zeta) Zmu/S^2); gamma_W = (zeta/4) T min over the corners (A, C)
    of {zeta(1-zeta) min[(S^2-2Zmu)(A(S^2-Zmu)+C Zmu), S^2(A(S^2-Zmu)-C Zmu)] - (1-zeta) Zmu^2 (A+C)^2/(4A)}/(S^2
    sqrt(2(M+1))) - T P R^3, A = S^2 +- e, C = (1-zeta) S^2 +- e, e = (1-zeta)(Zmu+Znu). For every H, surely:
    gamma_sum = gamma_U + gamma_W, gamma_opt = sqrt(2) hypot(gamma_U+, gamma_W+). B2 = sqrt(T)(zeta S/(2 sqrt 2) +
    P), BPhi = sqrt(T) R B2 sqrt(2 log(2/delta)), 0 for balanced signs. Zero start: gamma_zero = sqrt(2) gamma_U.
    .. math:: \gamma_{sum}=\gamma_U+\gamma_W,\quad \gamma_{opt}=\sqrt{2}\sqrt{(\gamma_U)_+^2+(\gamma_W)_+^2},\quad
       \gamma_U=\frac{S\sqrt
       T}{\sqrt 2}\Bigl(\zeta-\frac{2(1-\zeta)Z_\mu}{S^2}\Bigr)
    Because: (7) is a valid lower bound; needlessly weak: P3 needs neither the factor 1/2, nor many heads, nor luck
    Assumes:
    - data from the tokenized mixture, zero start, one step with signs alpha_h on n1 samples of their own
    - P is a bound on ||p|| for those samples
    Defects:
    - The inner product in P3 is the same number for every draw of the signs: no concentration, no condition on H.
    - The factor 4 in (7) is right for the true coefficient zeta/4 and contradicts the zeta/2 of Lemma 2.
    - P T^{5/2} (S+Z)^3 can be P T R^3, and the noise polynomial is loose: the exact minimum stays positive longer.
    - P2 takes a union bound over n samples although the randomness is one sum of signs, and forgets the factor 2 of
      a two-sided tail: sqrt(2 log(2/delta)).
    - Section 5.1 says theta = 0 cannot be shown to be good; it is, whenever zeta S^2 > 2 (1 - zeta) Zmu.
    """

    place = "Proposition 2, (7)"
    bounds, status = Quantity.NTK_MARGIN, Status.TRUE
    monotone = "-Zmu -Znu -Z -P"

    Z: float = real("bound on ||z||", high=1e12, low_open=False, example=0.05)
    P: float = real("bound on ||p|| (deora.lem2)", high=1e12, low_open=False, example=0)
    n: int = count("sample size of the second phase (printed P2 only)", example=100, aliases=("m", "N"))
    delta: float = real("failure probability of P2", high=1.0, example=0.05, symbol="δ")
    balanced: bool | None = flag("as many heads with alpha_h = +1 as with -1")

    def printed(self) -> Variants:
        mixture = Mixture(self.T, self.zeta, self.M, self.S, self.Zmu, self.Znu, self.Z)
        gamma = mixture.printed_margin(self.P)
        tail = math.sqrt(2.0 * (math.log(self.n) - math.log(self.delta)))
        positive = verified("gamma_* > 0", gamma > 0.0, gamma)
        heads = mixture.R**4 * self.T * (self.S + self.P) / gamma * tail if gamma > 0.0 else math.inf
        return {
            "gamma": printed_value(gamma, hypotheses=(positive,), note="(7)"),
            "margin": printed_value(gamma / 2.0, hypotheses=(positive,), note="P3, with probability 1 - delta"),
            "B2": printed_value(math.sqrt(self.T) * (self.S + self.P), bounds=Quantity.CONSTANT),
            "BPhi": printed_value(self.T * mixture.R * (self.S + self.P) * tail, bounds=Quantity.CONSTANT),
            "H_needed": printed_value(heads * heads, bounds=Quantity.WIDTH, note="constant 1 where none is given"),
        }

    def sound(self) -> Variants:
        mixture = Mixture(self.T, self.zeta, self.M, self.S, self.Zmu, self.Znu, self.Z)
        margin_U, margin_W = mixture.margin_U(), mixture.margin_W(self.P)
        optimal = math.sqrt(2.0) * math.hypot(max(margin_U, 0.0), max(margin_W, 0.0))
        zero_start = math.sqrt(2.0) * margin_U
        first_phase = (
            *mixture.hypotheses(),
            assumed("alpha_h is +1 or -1, and ||p|| <= P at the first-phase iterate (deora.lem2)"),
        )
        in_range = verified(
            "the noise is small enough: S^2 >= 2 Zmu and A (S^2 - Zmu) >= C Zmu", math.isfinite(margin_W)
        )
        # ||(zeta/4) u_* + p|| with ||u_*|| = S sqrt 2
        readout = self.zeta * self.S / (2.0 * math.sqrt(2.0)) + self.P
        tail = 0.0 if self.balanced else math.sqrt(2.0 * (math.log(2.0) - math.log(self.delta)))
        return {
            "gamma_sum": lower_bound(
                margin_U + margin_W,
                hypotheses=(verified("the margin is positive", margin_U + margin_W > 0.0), in_range, *first_phase),
                note="at the paper's target, for every H, surely",
            ),
            "gamma_opt": lower_bound(
                optimal,
                hypotheses=(verified("the margin is positive", optimal > 0.0, optimal), *first_phase),
                note="the two blocks of the target weighted in proportion to their margins",
            ),
            "gamma_zero": lower_bound(
                zero_start,
                hypotheses=(verified("the margin is positive", zero_start > 0.0, zero_start), *mixture.hypotheses()),
                bounds=Quantity.CONSTANT,
                note="NTK margin of the zero start, where B2 = BPhi = 0",
            ),
            "gamma_U": side_number(margin_U, "part of the projection U"),
            "gamma_W": side_number(margin_W, "part of the attention W"),
            "B2": upper_bound(math.sqrt(self.T) * readout, hypotheses=first_phase, bounds=Quantity.CONSTANT, note="P1"),
            "BPhi": upper_bound(
                self.T * mixture.R * readout * tail,
                hypotheses=first_phase,
                bounds=Quantity.CONSTANT,
                note="P2, surely" if self.balanced else "P2, with probability 1 - delta over the signs alpha_h",
            ),
        }

"""Unbounded inputs, sub-Gaussian (Theorems 6.4-6.6) or heavy-tailed (6.9-6.11), for the three networks."""

from __future__ import annotations

import math
from dataclasses import replace

from certiformer.theory.calculus import excess_risk, robust, truncation
from certiformer.theory.calculus.covers import Cover
from certiformer.theory.calculus.truncation import Power, SubGaussian, Tail
from certiformer.theory.core import Bound, Quantity, Variants, printed_value, side_number, upper_bound
from certiformer.theory.core.hypothesis import Hypothesis, assumed, stated, verified
from certiformer.theory.core.inputs import count, derived, flag, real
from certiformer.theory.theorems.li import _printed
from certiformer.theory.theorems.li._bounded import Theorem, printed_by_rank
from certiformer.theory.theorems.li._networks import Ranks
from certiformer.theory.theorems.li._setting import log_size


class Clipped(Theorem):
    """Outputs that an unbounded input makes unbounded may be clipped."""

    clipped: bool | None = flag("outputs are clipped to [-B, B] inside the training objective, and |f0| <= B")


class Truncated(Theorem):
    """Inputs whose largest token norm b(X) has a known tail, truncated at M.

    Assumes:
    - the tail bound is for b(X), the largest token norm (or any norm above it), and known in advance
    """

    M: float = real("truncation threshold of the token norm (for clipped outputs an analysis parameter)", example=6)
    tilt: float | None = real("a in (0, 1/(2 sigma^2)) for S8 and S7clip_sq", default=None, otherwise="1/(4 sigma^2)")
    eta: float | None = real(
        "failure probability of the observable form", high=1.0, example=0.05, default=None, otherwise="form left out"
    )
    fraction: float | None = real(
        "observed fraction of inputs with b(X) > M",
        high=1.0,
        low_open=False,
        high_open=False,
        example=0.0,
        default=None,
        otherwise="form left out",
    )

    @property
    def tail(self) -> Tail:
        raise NotImplementedError

    @property
    def by_rank(self) -> bool:
        """Ranks, once given, define the class; otherwise it is the class of bounded l1 norms."""
        raise NotImplementedError

    @property
    def tails(self) -> tuple[Hypothesis, ...]:
        """The tail, stated by whoever gives its parameters."""
        words = f"P(b(X) > t) <= {tail_name(self.tail)} for every t, known before the data"
        names = [entry.name for entry in self.inputs if entry.name in ("a", "v", "C", "beta")]
        guessed = [name for name in names if name in self.derived]
        return (stated(words, None if guessed else True, ",".join(guessed or names), id="tail"),)

    @property
    def clip(self) -> tuple[Hypothesis, ...]:
        """Outputs are confined by the normalisation, or because the caller says that they are clipped."""
        if self.confined:
            return ()
        said: bool | None = getattr(self, "clipped", None)
        words = "outputs clipped to [-B, B] inside the training objective, |f0| <= B"
        return (stated(words, said, "clipped=1", id="clipped"),)

    @property
    def prefactor_note(self) -> str:
        """Where the printed prefactor has a B_X that unbounded inputs do not have."""
        return "" if self.confined else "B_X is printed in the prefactor; unbounded inputs have none: M is our reading"

    @property
    def width(self) -> float:
        """The length of the interval that confined outputs lie in."""
        return 2.0 * (self.network(self.M).output_bound if self.confined else self.B)

    def sound(self) -> Variants:
        """S7 and S8 for truncated inputs, S4 for them without any condition, S7clip for confined outputs."""
        network = self.network(self.M)
        cover = network.rank_cover() if self.by_rank else network.norm_cover()
        outside = self.tail.probability(self.M)
        variants = {
            "logN": log_size(cover, self.radius),
            "P": upper_bound(outside, clip=1.0, bounds=Quantity.TAIL_PROBABILITY, hypotheses=self.tails),
        }
        if not self.confined:
            variants |= self._truncated(cover, outside)
        return variants | self._confined(cover, outside)

    def _truncated(self, cover: Cover, outside: float) -> dict[str, Bound]:
        tilt, growth = self.tilt_or(self.tilt), self.growth()
        tau_1 = growth * truncation.first_moment(self.tail, self.M)
        tau_2 = growth**2 * truncation.second_moment(self.tail, self.M)
        reach = 2.0 * growth * self.M  # |f - f0| on truncated inputs
        most = (reach + math.sqrt(tau_2)) ** 2
        setting = {"reach": reach, "sigma": self.sigma, "tau_1": tau_1, "tau_2": tau_2}
        exact = (*self.tails, self.bayes_in_class)
        slow = excess_risk.slow_best(
            cover,
            self.n,
            loss_range=self.kappa * reach,
            kappa=self.kappa,
            approximation=self.approx + self.kappa * tau_1,
        )
        variants = {
            "tau1": side_number(tau_1, "E|f0(X) - f0(T_M X)| is at most this"),
            "tau2": side_number(tau_2, "E(f0(X) - f0(T_M X))^2 is at most this"),
            "S8": self.squared(truncation.squared(cover, self.radius, self.n, a=tilt, **setting), most, *exact),
            "S8_opt": self.squared(truncation.squared_best(cover, self.n, **setting), most, *exact),
            "S4_opt": self.slow(slow, None, *self.tails),
        }
        if self.V is not None:
            lipschitz = truncation.lipschitz_best(
                cover,
                self.radius,
                self.n,
                V=self.V,
                M_g=self.kappa * reach,
                kappa=self.kappa,
                outside=outside,
                tau_1=tau_1,
            )
            words = "E g^2 1{b <= M} <= V E g 1{b <= M} for every excess loss g"
            typical = stated(words, self.bernstein, "bernstein=1", id="bernstein-on-typical-inputs")
            variants["S7"] = self.fast(lipschitz, self.kappa * (reach + tau_1), typical, *exact)
        return variants

    def _confined(self, cover: Cover, outside: float) -> dict[str, Bound]:
        """S7clip: outputs in an interval of length `width`; S1, S2, S4 with the cover widened."""
        tilt, width = self.tilt_or(self.tilt), self.width
        distance = self.distance(width / 2.0) if self.confined else 2.0 * self.B
        widen, trivial = width * outside, self.kappa * distance
        setting = {"b_h": distance**2, "sigma": self.sigma, "approximation": self.approx, "widen": widen}
        more = (*self.clip, *self.tails)
        slow = excess_risk.slow_best(
            cover,
            self.n,
            loss_range=self.kappa * width,
            kappa=self.kappa,
            approximation=self.approx + 2.0 * self.kappa * widen,
        )
        variants = {
            "S7clip_sq": self.squared(
                excess_risk.squared(cover, self.radius, self.n, a=tilt, **setting), distance**2, *more
            ),
            "S7clip_sq_opt": self.squared(excess_risk.squared_best(cover, self.n, **setting), distance**2, *more),
            "S4clip_opt": self.slow(slow, trivial, *more),
        }
        if self.V is None:
            return variants
        common = {"V": self.V, "M": trivial, "kappa": self.kappa}
        lipschitz = excess_risk.bernstein(cover, self.radius, self.n, approximation=self.approx, widen=widen, **common)
        variants["S7clip_lip"] = self.fast(lipschitz, trivial, *more)
        if self.eta is not None and self.fraction is not None:
            observable = excess_risk.bernstein_hp(
                cover,
                self.radius,
                self.n,
                ln_inverse_eta=-math.log(self.eta),
                widen=widen,
                widen_observed=width * self.fraction,
                **common,
            )
            variants["S7clip_hp"] = self.fast(
                observable, trivial, *more, self.bayes_in_class, bounds=Quantity.EXCESS_RISK_HP
            )
        return variants


class SubGaussianInputs(Truncated):
    """P(b(X) > t) <= a exp(-t^2/2v).

    Defects:
    - The proof arrives at (M^2 + 2 nu^2) exp(-M^2/2nu^2) and then prints nu exp(-M^2/2nu^2): the ratio (M^2 + 2
      nu^2)/nu is unbounded (11 at nu = 1, M = 3), and the network's constant is dropped.
    - The network is said to be locally Lipschitz in X with constant O(||X||); it is of order 1 + ||X||^2.
    - Assumption 6.2 measures nu in units of X^2 and squares it again; it is not scale equivariant and fails for
      Gaussian matrices.
    - A Lipschitz constant independent of M is impossible for the squared loss.
    - The proof has 3 inf, the theorem 1 inf.
    """

    T: int = count("sequence length", example=5)
    nu: float = real("the paper's variance proxy max(||E X^T X||, ||E X X^T||)", symbol="ν")
    a: float = real(
        "P(b(X) > t) <= a exp(-t^2/2v)",
        factory=derived("T + d, as in Lemma 6.1", lambda x: float(x.T + x.d)),
    )
    v: float = real(
        "the v of that tail, in units of the inputs squared", factory=derived("nu, as in Lemma 6.1", lambda x: x.nu)
    )

    @property
    def tail(self) -> Tail:
        return SubGaussian(self.a, self.v)

    @property
    def by_rank(self) -> bool:
        return any(rank is not None for rank in self.ranks("rc", "rv", "rqk").values())

    def printed(self) -> Variants:
        gamma = self.printed_gamma(self.M)
        error = truncation_error(kappa=self.kappa, nu=self.nu, T=self.T, d=self.d, M=self.M)
        front = _printed.prefactor(self.n, self.kappa, self.B, self.printed_output(self.M))
        inside = _printed.log_cubed_over_squared(gamma, self.radius)
        return {
            "gamma": side_number(gamma),
            "T_err": printed_value(error, note="the constant inside O() is taken as 1"),
            "value": replace(
                _printed.fast_rate(front, inside, self.kappa, self.radius, self.approx, error), note=self.prefactor_note
            ),
        }


class HeavyInputs(Truncated, Ranks):
    """P(b(X) > t) <= C t^-beta, and the robust loss.

    Defects:
    - The proof ends with C1 M^(1-beta/2) + C2 M^(2-beta); the theorem keeps only the smaller second term (beta =
      3, M = 100: 0.01 of 0.11).
    - The proof assumes tails of the entries, with constant C (Td)^(1+beta/2); the assumption is about ||X||_F
      with constant C.
    - The scale of the robust loss never appears in the bound.
    - The base loss is already assumed Lipschitz, so the robust loss does nothing; psi' <= 1 holds for Catoni's
      function but reaches 1.76 for the generalized one.
    - M^(2-beta) rests on a network Lipschitz constant O(||X||) that is really O(1 + ||X||^2); by growth alone the
      bias of a Lipschitz loss is of order M^(1-beta).
    """

    C: float = real("P(b(X) > t) <= C t^-beta")
    beta: float = real("tail index", example=3, symbol="β")
    moment: float | None = real(
        "sup_f E l^alpha of the loss", example=4, symbol="V_α", default=None, otherwise="S9 is left out"
    )
    alpha: float = real("order of that moment", low=1.0, high=2.0, high_open=False, example=2.0, default=2.0)

    @property
    def tail(self) -> Tail:
        return Power(self.C, self.beta)

    @property
    def by_rank(self) -> bool:
        return True

    def printed(self) -> Variants:
        extra = bias(kappa=self.kappa, C=self.C, beta=self.beta, M=self.M)
        variants = printed_by_rank(self, self.M, self.M, extra)
        heavy = verified("the tail index is above 2", self.beta > 2.0, self.beta)
        value = variants["value"]
        return {
            **variants,
            "bias": printed_value(extra, hypotheses=(heavy,), note="C_beta = kappa C beta/(beta - 2)"),
            "value": printed_value(value.value, hypotheses=(*value.hypotheses, heavy), note=self.prefactor_note),
        }

    def sound(self) -> Variants:
        return {**super().sound(), **self._robust()}

    def _robust(self) -> dict[str, Bound]:
        """S9, for heavy-tailed *labels*: needs a moment of the loss, a confidence, and the observed fraction
        outside."""
        if self.moment is None or self.eta is None or self.fraction is None:
            return {}
        size = self.network(self.M).rank_cover().log_size(self.radius)
        value = robust.truncated_erm(self.n, size, self.moment, self.eta, alpha=self.alpha)
        widen = self.width * self.tail.probability(self.M)
        steps = robust.truncated_erm_discretisation(
            self.kappa, robust.slope(self.alpha), self.radius, widen, self.width * self.fraction
        )
        hypotheses = (
            *self.clip,
            *self.tails,
            self.honest,
            self.reference,
            assumed("the predictor minimises the mean of psi(s l)/s with the scale reported"),
            assumed("E l^alpha <= moment for every function of the class"),
        )
        scale = robust.truncated_erm_scale(self.n, size, self.moment, self.eta, self.alpha)
        return {
            "S9_scale": side_number(scale, "scale s of the robust loss"),
            "S9": upper_bound(value + steps + self.approx, hypotheses=hypotheses, bounds=Quantity.EXCESS_RISK_HP),
        }


def truncation_error(*, kappa: float, nu: float, T: int, d: int, M: float) -> float:
    """T_err = kappa nu (T + d) exp(-M^2/(2 nu^2)), the constant inside O() taken as 1."""
    return kappa * nu * (T + d) * math.exp(-(M**2) / (2.0 * nu**2))


def bias(*, kappa: float, C: float, beta: float, M: float) -> float:
    """C_beta M^(2-beta) with C_beta = kappa C beta/(beta - 2), as the proof has it; inf for beta <= 2."""
    return kappa * C * beta / (beta - 2.0) * M ** (2.0 - beta) if beta > 2.0 else math.inf


def tail_name(tail: Tail) -> str:
    if isinstance(tail, truncation.SubGaussian):
        return f"{tail.a:g} exp(-t^2/{2 * tail.v:g})"
    if isinstance(tail, truncation.Power):
        return f"{tail.C:g} t^-{tail.beta:g}"
    raise TypeError(f"unknown tail {tail!r}")


class ConfinedHeavyInputs(HeavyInputs, Clipped):
    r"""Heavy-tailed inputs, outputs clipped or inputs truncated.

    Sound: P(b(X) > t) <= C t^-beta. S7 (Lipschitz): bias kappa K' C (2beta-1)/(beta-1) M^(1-beta), beta > 1, best
    V' >= V; S8 (squared): K'^2 C (4 + 2/(beta-2) + 2/(beta-1)) M^(2-beta), beta > 2; S7clip (outputs clipped at B):
    only P(b > M) = C M^-beta, every beta > 0, D log n/n at M = n^(1/beta); S4 without condition; S9: log-truncated
    ERM for heavy-tailed labels.
    .. math:: \kappa K'C\,\frac{2\beta-1}{\beta-1}M^{1-\beta}\ (\beta>1),\qquad
       K'^2C\Bigl(4+\frac{2}{\beta-2}+\frac{2}{\beta-1}\Bigr)M^{2-\beta}\ (\beta>2)
    Assumes:
    - spectral norms and ranks bounded
    - S7, S8: the predictor is fhat o T_M, trained and deployed on truncated inputs; else add kappa K' m1
    """


class ConfinedSubGaussianInputs(SubGaussianInputs, Clipped):
    r"""Sub-Gaussian inputs, outputs clipped or inputs truncated.

    Sound: P(b(X) > t) <= a exp(-t^2/2v) gives p, m1, m2 beyond M. S7 (Lipschitz loss, Bernstein): log N/(n lambda)
    + (1+A) kappa delta + (A-1)(M_g + M_g^2/V')p + kappa K' m1, best V' >= V. S8 (squared loss): (sqrt Q + sqrt(K'^2
    m2))^2. S7clip (outputs clipped at B): S1 or S2 with delta + 2Bp for delta, no truncation. S4: no condition,
    slow.
    .. math:: \frac{\log N}{n\lambda}+(1+A)\kappa\delta+(A-1)\Bigl(M_g+\frac{M_g^2}{V'}\Bigr)p+\kappa K'm_1
    Assumes:
    - entrywise l1 norms bounded (or ranks, once given)
    - S7, S8: the predictor is fhat o T_M, trained and deployed on truncated inputs; else add kappa K' m1
    """

    rv: int | None = count("bound on the rank of W_v", default=None, otherwise="norm cover, ranks unused")
    rqk: int | None = count("bound on the rank of W_QK", default=None, otherwise="norm cover, ranks unused")

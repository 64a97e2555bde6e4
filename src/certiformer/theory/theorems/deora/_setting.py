"""What the results on multi-head attention share: inputs, by what they describe."""

from __future__ import annotations

from certiformer.theory.core import Hypothesis, Result, assumed, choice, count, flag, real, stated
from certiformer.theory.theorems.deora import DEORA


class Tokens(Result):
    """Inputs of T tokens of bounded norm."""

    paper = DEORA
    T: int = count("tokens per input", example=4)
    R: float = real("bound on the norm of every token", high=1e12)


class Parameters(Tokens):
    """Parameters of H heads on such inputs, by the largest norm of a head."""

    paper = DEORA
    b: float = real("max_h ||U_h||_F of the parameters", low_open=False, symbol="||θ||_{2,∞}")
    d: int = count("token dimension (printed formulas only)", example=3)
    H: int = count("heads", example=16)


class Readout(Result):
    """The readout and the derivatives of the loss.

    Assumes:
    - the loss l(y f) has |l'| <= G, |l'| <= C l and 0 <= l'' <= Q; G = C = 1, Q = 1/4 are those of the logistic loss
    """

    paper = DEORA
    readout: str = choice(
        "full: U_h trained; pooling: U_h = 1 u_h^T; last: the last token only",
        ("full", "pooling", "last"),
        default="full",
    )
    G: float = real("the loss has |l'| <= G (logistic: 1)", default=1.0)
    C: float = real("the loss has |l'| <= C l (logistic: 1)", default=1.0)
    Q: float = real("the loss has 0 <= l'' <= Q (logistic: 1/4)", example=0.25, default=0.25)


class TowardsTarget(Result):
    """Gradient descent towards a target theta."""

    paper = DEORA
    D: float = real("distance ||theta - theta_0|| of the target from the start", low_open=False, example=5)
    b: float = real("max_h ||U_h||_F of the target theta", low_open=False, example=0.05, symbol="||θ||_{2,∞}")
    b0: float = real("max_h ||U_h||_F at the start theta_0", low_open=False, example=0)
    Lt: float = real("training loss at the target", low_open=False, example=0.05)
    L0: float = real("training loss at the start", low_open=False, example=0.69)
    H: int = count("heads", example=100_000)
    K: int = count("gradient steps, fixed in advance", example=100)
    eta: float = real("step size", example=0.5, symbol="η")


class TokenizedMixture(Result):
    """The tokenised mixture model (DM1)."""

    paper = DEORA
    T: int = count("tokens per input", example=8)
    zeta: float = real("fraction of relevant tokens", high=1.0, example=0.25, symbol="ζ")
    M: int = count("irrelevant patterns", example=2)
    S: float = real("norm of every pattern", low=1e-12, high=1e12, example=1.3)
    Zmu: float = real("bound on |<z, mu>|", high=1e12, low_open=False, example=0.04, symbol="Z_μ")
    Znu: float = real("M times the bound on |<z, nu_l>|", high=1e12, low_open=False, example=0.04, symbol="Z_ν")


class GoodStart(Result):
    """A good initialisation (Definition 1)."""

    paper = DEORA
    gamma: float = real("NTK margin at a direction theta_* of norm sqrt 2 (P3)", example=0.7, symbol="γ")
    BPhi: float = real("bound on |model output| at the start (P2)", high=1e12, low_open=False, example=0, symbol="B_Φ")
    B2: float = real(
        "bound on the norm of every head at the start (P1)",
        high=1e12,
        low_open=False,
        example=0,
        symbol="B_2",
    )
    ninf: float | None = real(
        "max_h ||theta_*,h|| of the direction",
        high=1.4142135623745093,
        low_open=False,
        example=0.001414213562373095,
        symbol="||θ_⋆||_{2,∞}",
        default=None,
        otherwise="sqrt(2), which always holds; sqrt(2/H) if spread evenly over the heads (even=1)",
    )
    even: bool | None = flag("theta_* is spread evenly over the heads: ninf = sqrt(2/H) where ninf is not given")


class Sampled(Result):
    """What a bound by leave-one-out stability needs and no program can see."""

    paper = DEORA
    independent: bool | None = flag(
        "you state that theta_0, eta, K and H do not depend on the n samples (first-phase samples disjoint from them)"
    )
    almost_sure: bool | None = flag(
        "you state that R bounds every token of the population and that the other inputs hold for almost every "
        "training set"
    )

    @property
    def sampling(self) -> tuple[Hypothesis, ...]:
        return (
            stated(
                "theta_0, the step size, K and H are independent of the n samples; K was fixed in advance",
                self.independent,
                "independent=1",
            ),
            stated(
                "R bounds the population almost surely (it is not measured), and so do the other inputs",
                self.almost_sure,
                "almost_sure=1",
            ),
            assumed("the n samples are independent and identically distributed"),
        )

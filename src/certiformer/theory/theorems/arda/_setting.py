"""What the results on the shallow Transformer share: inputs, by what they describe, and hypotheses."""

from __future__ import annotations

from certiformer.theory.calculus.activations import Activation
from certiformer.theory.calculus.activations import activation as find_activation
from certiformer.theory.core import Result, assumed, choice, count, real, reals
from certiformer.theory.theorems.arda import ARDA
from certiformer.theory.theorems.arda._descent import Radii

UNIT_BALL = assumed("every token and the query have norm at most 1")
SYMMETRIC = assumed(
    "symmetric initialisation: u_i ~ N(0, I), W_i with N(0, 1) entries, c_i = +-1, drawn in opposite pairs"
)
FIXED_DATA = assumed("inputs, labels and transportation map were fixed before, independently of, the initialisation")
REALISABLE = assumed("the labels are y = f*(X) with f* in F_nu")
NOT_SELECTED = assumed("the initialisation is the first one drawn: not re-drawn, not the best of several seeds")
ALGORITHM = assumed("every step is projected on Omega_rho, block by block; the loss is the mean of (f - y)^2")


class Activated(Result):
    """A result that depends on the activation."""

    paper = ARDA
    activation: str = choice("the activation sigma (erf means erf(x/sqrt 2))", ("tanh", "erf", "sigmoid", "sin"))

    @property
    def sigma(self) -> Activation:
        return find_activation(self.activation)


class Projected(Result):
    """m heads near their initial values: the projection radii, block by block."""

    paper = ARDA
    m: int = count("width: the number of heads, even", low=2, example=1_000_000)
    rho_c: float = real("projection radius of the output weights, times sqrt(m)", example=0.15, symbol="ρ_c")
    rho_u: float = real("projection radius of the head vectors u, times sqrt(m)", example=0.15, symbol="ρ_u")
    rho_w: float = real(
        "projection radius of the attention matrices W (Frobenius), times sqrt(m)", example=0.15, symbol="ρ_w"
    )

    @property
    def rho(self) -> Radii:
        return Radii(self.rho_c, self.rho_u, self.rho_w)


class Transported(Result):
    """A target in F_nu, by the size of its transportation map."""

    paper = ARDA
    nu_c: float = real("sup |v_c| of the target's transportation map", example=0.1, symbol="ν_c")
    nu_u: float = real("sup ||v_u|| of the target's transportation map", example=0.1, symbol="ν_u")
    nu_w: float = real("sup ||v_w||_F of the target's transportation map", example=0.1, symbol="ν_w")

    @property
    def nu(self) -> Radii:
        return Radii(self.nu_c, self.nu_u, self.nu_w)


class GaussianHeads(Result):
    """Head vectors drawn from N(0, I_d): their norms up to a failure probability."""

    paper = ARDA
    d: int = count("dimension of a token", example=8)
    delta_R: float = real("probability that the initial norms ||u_i|| exceed the a-priori bound", high=1, example=0.01)


class RealisedHeads(GaussianHeads):
    """The same, and the norms that were drawn, if they are known."""

    u_norms: tuple[float, ...] | None = reals(
        "the norms ||u_i|| of the actual initialisation, one per head or one per pair (gives the variant `init`)",
        low_open=False,
        example=(2.8, 3.1),
        default=None,
        otherwise="not given: only the a-priori variants are computed",
    )


class Descending(Result):
    """A run of projected gradient descent on n examples."""

    paper = ARDA
    n: int = count("sample size", example=5000, aliases=("N",))
    delta: float = real("failure probability of the approximation step", high=1, example=0.05, symbol="δ")
    eta: float = real("step size", example=0.006, symbol="η")
    tau: int = count("number of steps", example=1_000_000, symbol="τ")


class ProjectedDescent(Activated, Projected, Transported, RealisedHeads, Descending):
    """Projected gradient descent on the squared loss near a symmetric initialisation.

    Assumes:
    - tokens and query in the unit ball; mean squared error without the factor 1/2
    - inputs, labels and v fixed before the initialisation is drawn; the initialisation not selected
    - every step projected on Omega_rho
    """

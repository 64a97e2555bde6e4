"""Inputs and hypotheses that the results on the shallow Transformer share."""

from __future__ import annotations

from certiformer.calculus.activations import ACTIVATIONS
from certiformer.core import assumed, choice, count, real, reals

ACTIVATION = choice("activation", "the activation sigma (erf means erf(x/sqrt 2))", tuple(ACTIVATIONS))
WIDTH = count("m", "width: the number of heads, even", low=2, example=1_000_000)
DIMENSION = count("d", "dimension of a token", example=8)
RHO = (
    real("rho_c", "projection radius of the output weights, times sqrt(m)", symbol="ρ_c", example=0.15),
    real("rho_u", "projection radius of the head vectors u, times sqrt(m)", symbol="ρ_u", example=0.15),
    real(
        "rho_w", "projection radius of the attention matrices W (Frobenius), times sqrt(m)", symbol="ρ_w", example=0.15
    ),
)
NU = (
    real("nu_c", "sup |v_c| of the target's transportation map", symbol="ν_c", example=0.1),
    real("nu_u", "sup ||v_u|| of the target's transportation map", symbol="ν_u", example=0.1),
    real("nu_w", "sup ||v_w||_F of the target's transportation map", symbol="ν_w", example=0.1),
)
DELTA_R = real("delta_R", "probability that the initial norms ||u_i|| exceed the a-priori bound", high=1, example=0.01)
SAMPLE_SIZE = count("n", "sample size", aliases=("N",), example=5000)
DELTA = real("delta", "failure probability of the approximation step", high=1, symbol="δ", example=0.05)
ETA = real("eta", "step size", symbol="η", example=0.006)
TAU = count("tau", "number of steps", symbol="τ", example=1_000_000)
U_NORMS = reals(
    "u_norms",
    "the norms ||u_i|| of the actual initialisation, one per head or one per pair (gives the variant `init`)",
    low_open=False,
    optional=True,
    derived="not given: only the a-priori variants are computed",
    example=(2.8, 3.1),
)

UNIT_BALL = assumed("every token and the query have norm at most 1")
SYMMETRIC = assumed(
    "symmetric initialisation: u_i ~ N(0, I), W_i with N(0, 1) entries, c_i = +-1, drawn in opposite pairs"
)
FIXED_DATA = assumed("inputs, labels and transportation map were fixed before, independently of, the initialisation")
REALISABLE = assumed("the labels are y = f*(X) with f* in F_nu")
NOT_SELECTED = assumed("the initialisation is the first one drawn: not re-drawn, not the best of several seeds")
ALGORITHM = assumed("every step is projected on Omega_rho, block by block; the loss is the mean of (f - y)^2")

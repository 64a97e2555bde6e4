"""The inputs that the theorems of the paper share, in the paper's symbols."""

from __future__ import annotations

from certiformer.core import Input, count, flag, real

SHAPE: tuple[Input, ...] = (
    count("d", "token dimension", example=4),
    count("k", "width of the value matrix", example=3),
)
NORMS: tuple[Input, ...] = (
    real("Bw", "bound on ||w||_2, the readout", symbol="B_w", example=1),
    real("Bc", "bound on the norm of W_c", symbol="B_c", example=1.2),
    real("Bv", "bound on the norm of W_v", symbol="B_v", example=0.9),
    real("BQK", "bound on the norm of W_QK", symbol="B_QK", example=0.7),
    real("L_sigma", "Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ", example=1),
)
OUTPUT_NORMS: tuple[Input, ...] = tuple(entry for entry in NORMS if entry.name != "BQK")
KAPPA = real("kappa", "Lipschitz constant of the loss l(y, .), for every label y", symbol="κ", example=2)
TARGET = real("B", "bound on the Bayes predictor |f0(X)|", example=1)
TOKENS: tuple[Input, ...] = (
    real("Bx", "bound on the l2 norm of every token", symbol="B_x", example=1),
    real("BX", "bound on ||X||_{2->2} (enters the printed side only)", symbol="B_X", example=1.5),
)
SIGMA = real("sigma", "the label noise Y - E[Y|X] is sub-Gaussian with this parameter", symbol="σ", example=0.5)
SAMPLE = count("n", "sample size", aliases=("m", "N"), example=1_000_000)
RADIUS = real("radius", "cover radius", symbol="δ", aliases=("cover_radius",), example=0.001)
HEADS = count("H", "number of heads, summed before the readout", example=2)
LAYERS = count("layers", "depth", symbol="L", example=2)
RANKS: tuple[Input, ...] = (
    count("rw", "rank of w (one; enters the printed side only)", symbol="r_w", example=1),
    count("rc", "bound on the rank of W_c", symbol="r_c", example=2),
    count("rv", "bound on the rank of W_v", symbol="r_v", example=2),
    count("rqk", "bound on the rank of W_QK", symbol="r_QK", example=1),
)
APPROX = real(
    "approx", "excess risk of the best predictor in the class over Bayes", low_open=False, default=0.0, example=0.0
)
BERNSTEIN_CONSTANT = real(
    "V", "Bernstein constant: E g^2 <= V E g for the excess losses g", optional=True, derived="variant S1 is left out"
)
FLAGS: tuple[Input, ...] = (
    flag("honest_kappa", "kappa holds for every label y, not only for the conditional risk", default=True),
    flag("bernstein", "the Bernstein condition holds with the constant V"),
    flag("squared_loss", "squared loss, f0(X) = E[Y|X], noise sub-Gaussian with parameter sigma"),
    flag("well_specified", "the Bayes predictor belongs to the class (or `approx` bounds its excess risk)"),
)
NORMALISATION: tuple[Input, ...] = (
    real("rho", "norm bound after normalisation; LayerNorm: sqrt(d) max|gain| + ||bias||_2", default=1.0, example=1.0),
    real("xi", "Lipschitz constant of the normalisation; LayerNorm: max|gain|/sqrt(eps)", default=1.0, example=1.0),
)
SETTING: tuple[Input, ...] = (*SHAPE, *NORMS, KAPPA, TARGET, *TOKENS, SIGMA, SAMPLE, RADIUS)
OPTIONS: tuple[Input, ...] = (APPROX, BERNSTEIN_CONSTANT, *FLAGS)
NORMALISATION_NOTE = "normalisation: the projection on the unit ball (rho = xi = 1), or LayerNorm with its rho and xi"
A_PRIORI = "norms, ranks and the cover radius are fixed before the data are seen (or paid for: `strata`)"
ERM = "the predictor minimises the empirical risk over the whole class (else add the optimisation error)"
CLASS_NOTE = "no residual stream, no MLP, no biases; a 1/sqrt(d_head) factor is part of W_QK"

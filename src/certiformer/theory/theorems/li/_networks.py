"""The paper's networks: one head, H heads summed before the readout, several layers."""

from __future__ import annotations

from certiformer.theory.core import Hypothesis, Result, count, real, verified
from certiformer.theory.theorems.li import _printed
from certiformer.theory.theorems.li._architecture import Network, Norms, many_layers, one_layer


class Weights(Result):
    """The norms of the weights.

    Assumes:
    - no residual stream, no MLP, no biases; a 1/sqrt(d_head) factor is part of W_QK
    """

    d: int = count("token dimension", example=4)
    k: int = count("width of the value matrix", example=3)
    Bw: float = real("bound on ||w||_2, the readout", symbol="B_w")
    Bc: float = real("bound on the norm of W_c", example=1.2, symbol="B_c")
    Bv: float = real("bound on the norm of W_v", example=0.9, symbol="B_v")
    BQK: float = real("bound on the norm of W_QK", example=0.7, symbol="B_QK")
    L_sigma: float = real("Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ")

    @property
    def norms(self) -> Norms:
        return Norms(self.d, self.k, self.Bw, self.Bc, self.Bv, self.BQK, self.L_sigma)

    @property
    def confined(self) -> bool:
        """Whether the outputs are bounded whatever the input is."""
        return False

    @property
    def unit_ball(self) -> tuple[Hypothesis, ...]:
        """What the printed statement asks of the normalisation."""
        return ()

    def network(self, b: float) -> Network:
        """The class on tokens of norm at most b."""
        raise NotImplementedError

    def growth(self) -> float:
        """K with |f(X)| <= K b(X)."""
        raise NotImplementedError

    def printed_output(self, BX: float) -> float:
        """The paper's bound on |f|."""
        raise NotImplementedError

    def printed_gamma(self, b: float) -> float:
        """The paper's gamma, whose cube over the squared radius is a log covering number."""
        raise NotImplementedError

    def printed_rank_sum(self, b: float, radius: float) -> tuple[str, float, float]:
        """The name of the paper's sum over ranks, its value, and what stands behind 1 + in the printed bound."""
        raise NotImplementedError

    def ranks(self, *names: str) -> dict[str, int | None]:
        """Ranks that belong to the inputs of the theorem, None for full rank."""
        return {name: getattr(self, name, None) for name in names}

    @property
    def printed_ranks(self) -> dict[str, int]:
        """The ranks of the printed side, 1 where none is given."""
        # mutants: same-for-every-value
        return {name: rank or 1 for name, rank in self.ranks("rw", "rc", "rv", "rqk").items()}


class OneLayer(Weights):
    """One layer, eqs. (2) and (3)."""

    @property
    def heads(self) -> int:
        return 1

    def network(self, b: float) -> Network:
        return one_layer(self.norms, b=b, H=self.heads, **self.ranks("rv", "rqk"))

    def growth(self) -> float:
        return self.norms.growth(self.heads)

    def printed_output(self, BX: float) -> float:
        return self.growth() * BX

    def printed_gamma(self, b: float) -> float:
        return _printed.gamma_one_layer(self.norms, b, self.heads)

    def printed_rank_sum(self, b: float, radius: float) -> tuple[str, float, float]:
        total = _printed.rank_sum_one_layer(self.norms, b, radius, self.printed_ranks, self.heads)
        return "N_rank", total, _printed.log_or_inf(total)


class ManyHeads(OneLayer):
    """H heads.

    Assumes:
    - heads are summed before one readout, without 1/sqrt(H)
    """

    H: int = count("number of heads, summed before the readout", example=2)

    @property
    def heads(self) -> int:
        return self.H


class ManyLayers(Weights):
    """Several layers, eq. (5).

    Assumes:
    - normalisation: the projection on the unit ball (rho = xi = 1), or LayerNorm with its rho and xi, whose gain and
      shift are fixed, not trained
    """

    layers: int = count("depth", high=1000, example=2, symbol="L")
    rho: float = real("norm bound after normalisation; LayerNorm: sqrt(d) max|gain| + ||bias||_2", default=1.0)
    xi: float = real("Lipschitz constant of the normalisation; LayerNorm: max|gain|/sqrt(eps)", default=1.0)

    @property
    def confined(self) -> bool:
        return True

    @property
    def unit_ball(self) -> tuple[Hypothesis, ...]:
        return (verified("the normalisation maps into the unit ball", self.rho <= 1.0, self.rho),)

    def network(self, b: float) -> Network:
        ranks = self.ranks("rc", "rv", "rqk")
        return many_layers(self.norms, layers=self.layers, b=b, rho=self.rho, xi=self.xi, **ranks)

    def printed_output(self, BX: float) -> float:
        return self.Bw

    def printed_gamma(self, b: float) -> float:
        return _printed.gamma_many_layers(self.norms, self.layers, b)

    def printed_rank_sum(self, b: float, radius: float) -> tuple[str, float, float]:
        total = _printed.rank_sum_many_layers(self.norms, self.layers, b, radius, self.printed_ranks)
        return "sum", total, total


class Ranks(Result):
    """Bounds on the ranks."""

    rw: int = count("rank of w (one; enters the printed side only)", example=1, symbol="r_w")
    rc: int = count("bound on the rank of W_c", example=2, symbol="r_c")
    rv: int = count("bound on the rank of W_v", example=2, symbol="r_v")
    rqk: int = count("bound on the rank of W_QK", example=1, symbol="r_QK")

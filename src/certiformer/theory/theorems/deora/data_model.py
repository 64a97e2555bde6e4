import math

from certiformer.theory.core import (
    Quantity,
    Status,
    Variants,
    count,
    printed_value,
    real,
    side_number,
    upper_bound,
    verified,
)
from certiformer.theory.theorems.deora._mixture import Mixture
from certiformer.theory.theorems.deora._setting import TokenizedMixture


class DataModel(TokenizedMixture):
    r"""Constants of the tokenized mixture.

    .. math:: R=\sqrt{S^2+Z^2+2Z_\nu/M},\qquad \|W_\star\|_F=S^2\sqrt{2(M+1)},\qquad \|U_\star\|_F=S\sqrt{2T}.

    A relevant token has norm S, an irrelevant one at most either of the two values of R.

    Printed: every token has norm at most R = sqrt(S^2 + Z^2 + 2 Znu/M)
    .. math:: R=\sqrt{S^2+Z^2+2Z_\nu/M}
    Sound: R = min(sqrt(S^2 + Z^2 + 2 Znu/M), S + Z); ||W_*||_F = S^2 sqrt(2(M+1)); ||U_*||_F = S sqrt(2T)
    .. math:: R=\min\Bigl(\sqrt{S^2+Z^2+2Z_\nu/M},\ S+Z\Bigr),\quad\|W_*\|_F=S^2\sqrt{2(M+1)},\quad\|U_*\|_F=S\sqrt{2T}
    Because: true; Assumption 1's R >= 1 is used by the printed orders only
    Assumes:
    - labels +1 and -1 equally likely
    - tokens independent given the label and the relevant positions
    Defects:
    - Gaussian noise violates the almost sure bounds; it has to be truncated.
    """

    id = "deora.dm1"
    place = "(DM1), Assumption 3"
    bounds, status = Quantity.CONSTANT, Status.TRUE

    Z: float = real("bound on ||z||", high=1e12, low_open=False, example=0.05)
    d: int | None = count("token dimension", example=8, default=None, otherwise="not checked")

    def printed(self) -> Variants:
        R = Mixture(self.T, self.zeta, self.M, self.S, self.Zmu, self.Znu, self.Z).R
        return {
            "R": printed_value(
                R, hypotheses=(verified("R >= 1 (Assumption 1)", R >= 1.0, R),), bounds=Quantity.CONSTANT
            )
        }

    def sound(self) -> Variants:
        mixture = Mixture(self.T, self.zeta, self.M, self.S, self.Zmu, self.Znu, self.Z)
        room = (
            ()
            if self.d is None
            else (verified("d >= M + 2: room for the orthogonal patterns", self.d >= self.M + 2, self.d),)
        )
        hypotheses = (*mixture.hypotheses(), *room)
        return {
            "R": upper_bound(
                min(mixture.R, self.S + self.Z),
                hypotheses=hypotheses,
                bounds=Quantity.CONSTANT,
                note="almost surely, every token",
            ),
            "W_norm": side_number(mixture.target_norm, "||W_*||_F"),
            "U_norm": side_number(self.S * math.sqrt(2.0 * self.T), "||U_*||_F"),
        }

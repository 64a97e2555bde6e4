import math

from certiformer.theory.core import Status, Variants, real
from certiformer.theory.theorems.trauger._linear_maps import AtomicMaps


class Lemma33(AtomicMaps):
    r"""Cover of linear maps, columns in an l1 ball.

    The class is {x -> Wx : ||W||_{1,inf} <= B_w}, W of size k x d, on inputs of **l1** norm at most B_x.

    Each column is covered by T3 (docs/proofs/covers.md); on l1 inputs the worst column decides (Lemma 3.2).

    Printed: log N <= d (Bw Bx / eps)^2 log(2k + 1)
    .. math:: \log N_\infty(\varepsilon) \le \frac{d B_w^2 B_x^2}{\varepsilon^2} \log(2k+1)
    Sound: The same for every eps > 0, 0 from eps = Bw Bx on; exact: d log C(2k+K, K), K = ceil((Bw Bx/eps -
    1)_+^2); volume: dk ln(1 + 2 Bw Bx/eps).
    .. math:: \log N_\infty(\varepsilon) \le d \log\tbinom{2k+K}{K}.
    Because: the missing ceiling is harmless
    Assumes:
    - ||W||_{1,inf} <= Bw (columns), fixed in advance
    - every input has l1 norm at most Bx; an l2 bound is not enough
    """

    place, status = "Lemma 3.3", Status.TRUE

    Bw: float = real("bound on ||W||_{1,inf}: every column in an l1 ball", example=2, symbol="B_w")
    Bx: float = real("bound on the l1 norm of the inputs", example=1.5, symbol="B_x")

    def printed(self) -> Variants:
        return self.claim(self.d * math.log(2 * self.k + 1))

    def sound(self) -> Variants:
        return self.by_atoms(self.d, self.k)

import math

from certiformer.theory.core import Status, Variants, real
from certiformer.theory.theorems.trauger._linear_maps import AtomicMaps


class Lemma36(AtomicMaps):
    r"""Cover of linear maps, entrywise l1 norm.

    The class is {x -> Wx : ||W||_{1,1} <= B_w}, W of size k x d, on inputs of l2 norm at most B_x.

    The printed proof leaves out a ceiling; shrinking the random average closes that gap (docs/proofs/covers.md, T3).

    Printed: log N <= (Bx Bw / eps)^2 log(2dk + 1)
    .. math:: \log N_\infty(\varepsilon) \le \frac{B_x^2 B_w^2}{\varepsilon^2} \log(2dk+1)
    Sound: The same for every eps > 0, 0 from eps = Bx Bw on; exact: log C(2dk+K, K), K = ceil((Bx Bw/eps - 1)_+^2);
    volume: dk ln(1 + 2 Bx Bw/eps).
    .. math:: \log N_\infty(\varepsilon) \le \log\binom{2dk+K}{K}.
    Because: the missing ceiling is harmless
    Assumes:
    - ||W||_{1,1} <= Bw, fixed in advance
    - every input has l2 norm at most Bx
    """

    place, status = "Lemma 3.6", Status.TRUE

    Bw: float = real("bound on the entrywise l1 norm of W", example=2, symbol="B_W")
    Bx: float = real("bound on the l2 norm of the inputs", example=1.5, symbol="B_x")

    def printed(self) -> Variants:
        return self.claim(math.log(2 * self.d * self.k + 1))

    def sound(self) -> Variants:
        return self.by_atoms(1, self.d * self.k)

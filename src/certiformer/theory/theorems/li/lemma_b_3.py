from certiformer.theory.core import Status, Variants
from certiformer.theory.theorems.li._linear import EntrywiseMaps


class LemmaB3(EntrywiseMaps):
    r"""Cover of linear maps, entrywise l1 norm.

    {x -> Wx} with entrywise l1 norm at most B_W, W of size d x k, inputs of l2 norm at most B_x.

    Printed: log N <= (Bx B/eps)^2 log(2dk + 1)
    .. math:: \log N_\infty(\varepsilon)\le\frac{B_x^2B_W^2}{\varepsilon^2}\log(2dk+1)
    Sound: maurey: log C(2dk+K, K), K = ceil((Bx B/eps)^2) - 1; maurey_shrunk: K = ceil((Bx B/eps - 1)_+^2);
    volumetric: dk log(1 + 2 Bx B/eps); best: their minimum. All proper.
    .. math:: \log N(\varepsilon)\le\min\Bigl\{\log\binom{2dk+K}{K},\
       dk\log\Bigl(1+\frac{2B_xB}{\varepsilon}\Bigr)\Bigr\},\quad
       K=\lceil\Bigl(\frac{B_xB}{\varepsilon}\Bigr)^2\rceil-1
    Because: holds without the ceiling that its proof would need
    Assumes:
    - ||W||_{1,1} <= B, fixed in advance
    - every input the matrix sees has l2 norm at most Bx
    Defects:
    - N > d is never needed.
    - For eps >= Bx B the printed value stays positive although one ball suffices.
    - It does not cover {||w||_2 <= B_w}, to which the paper applies it: eps = 1/2, d = 100: log N >= 69.3, the
      lemma's form 21.2.
    """

    place, status = "Lemma B.3", Status.TRUE

    def printed(self) -> Variants:
        return self.claim(self.logarithm)

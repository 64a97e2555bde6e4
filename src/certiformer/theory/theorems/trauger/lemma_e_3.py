from certiformer.theory.core import Quantity, Result, Status, Variants, printed_value, real, upper_bound
from certiformer.theory.theorems.trauger import TRAUGER


class LemmaE3(Result):
    r"""Error of the readout.

    True: add and subtract w^T ghat.

    .. math:: |w^\top g-\hat w^\top\hat g| \le \|w\|\,\|g-\hat g\| + |(w-\hat w)^\top\hat g|

    Printed: |w^T g - what^T ghat| <= ||w|| ||g - ghat|| + |(w - what)^T ghat|
    .. math:: |w^\top g-\hat w^\top\hat g|\le\|w\|\,\|g-\hat g\|+|(w-\hat w)^\top\hat g|
    Sound: The same.
    .. math:: |w^\top g-\hat w^\top\hat g|\le\|w\|\,\|g-\hat g\|+|(w-\hat w)^\top\hat g|
    Because: the triangle inequality
    Defects:
    - Norm bars stand around a scalar.
    """

    paper, place = TRAUGER, "Lemma E.3"
    bounds, status = Quantity.OUTPUT_CHANGE, Status.TRUE
    monotone = "+w +dg +dwg"

    w: float = real("l2 norm of the readout", low_open=False, example=2, symbol="||w||")
    dg: float = real("change of the token that is read", low_open=False, example=0.1)
    dwg: float = real("change of the readout at the covered token, |(w - what)^T ghat|", low_open=False, example=0.05)

    def printed(self) -> Variants:
        return {"value": printed_value(self.w * self.dg + self.dwg)}

    def sound(self) -> Variants:
        terms = {"token": self.w * self.dg, "readout": self.dwg}
        return {"value": upper_bound(self.w * self.dg + self.dwg, terms=terms, additive=True)}

from __future__ import annotations

import math

from certiformer.theory.calculus.softmax import softmax
from certiformer.theory.core import (
    InputError,
    Quantity,
    Result,
    Status,
    Variants,
    printed_value,
    side_number,
    upper_bound,
)
from certiformer.theory.core.inputs import count, reals
from certiformer.theory.core.lazy import np
from certiformer.theory.theorems.trauger import TRAUGER


class AppendixG(Result):
    r"""Cross-entropy is Lipschitz in the logits.

    True and sharp: the gradient p - e_y has l1 norm 2 (1 - p_y). In the l2 norm the constant is sqrt(2). The mean of
    two sigmoid losses on a pair of logits (binary cross-entropy against one-hot labels) has the constants 1 and
    1/sqrt(2).

    Printed: |CE(x, y) - CE(x', y)| <= 2 ||x - x'||_inf
    .. math:: |L(\hat y_1,y)-L(\hat y_2,y)|\le2\|\hat y_1-\hat y_2\|_\infty
    Sound: The same, sharp; sqrt(2) in the l2 norm. The gradient at x has l1 norm 2 (1 - p_y).
    .. math:: |L(\hat y_1,y)-L(\hat y_2,y)|\le\min\bigl\{2\|\hat y_1-\hat y_2\|_\infty,\ \sqrt 2\,\|\hat y_1-\hat
       y_2\|_2\bigr\}
    Because: true and sharp
    Defects:
    - The mean-value step takes an l1 norm of a scalar product.
    """

    paper, place = TRAUGER, "Appendix G"
    bounds, status = Quantity.LIPSCHITZ_CONSTANT, Status.TRUE

    x: tuple[float, ...] = reals("logits at which the gradient is reported", low=-math.inf, example=(0.0, 1.0, 2.0))
    label: int = count("the right class, counted from 0", low=0, example=0)

    def printed(self) -> Variants:
        return {"value": printed_value(2.0)}

    def sound(self) -> Variants:
        if self.label >= len(self.x):
            raise InputError("label", self.label, f"an index below the number of logits, {len(self.x)}")
        others = np.delete(softmax(np.array(self.x)), self.label)
        wrong = float(np.sum(others))  # 1 - p_y without cancellation
        l2 = math.hypot(wrong, float(np.linalg.norm(others)))
        return {
            "value": upper_bound(2.0),
            "value_l2": upper_bound(math.sqrt(2.0), bounds=Quantity.CONSTANT, note="Lipschitz constant in the l2 norm"),
            "gradient_l1": side_number(2.0 * wrong, "l1 norm of the gradient at x: 2 (1 - p_y)"),
            "gradient_l2": side_number(l2, "l2 norm of the gradient at x"),
            "two_sigmoids": side_number(1.0, "sup-norm constant of the mean of two sigmoid losses"),
            "two_sigmoids_l2": side_number(math.sqrt(0.5), "l2 constant of the mean of two sigmoid losses"),
        }

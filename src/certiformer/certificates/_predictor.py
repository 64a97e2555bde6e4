"""A certified predictor as an object: what is written beside the report, loads with one call, and predicts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from certiformer.theory.core.lazy import np, npt

if TYPE_CHECKING:
    from certiformer.certificates._evidence import Evidence

Array: TypeAlias = "npt.NDArray[np.float64]"
Labels: TypeAlias = "npt.NDArray[np.int64]"
Tensors: TypeAlias = "Mapping[str, npt.NDArray[Any]]"
COUNTED = ("errors", "n", "models", "seed", "draws", "parts", "two_sided")
"""What a predictor and examples tell, and what is declared and not counted."""


class Predictor(ABC):
    """Tensors and settings that determine a function from a batch of inputs to outputs.

    Outputs are (n,) for one logit (positive means class 1) or (n, classes). `kind` names the class in the file.
    """

    kind: ClassVar[str]
    reads: ClassVar[str] = "inputs"
    """What it predicts from: inputs as the data have them, or features of a frozen encoder."""
    tolerance: ClassVar[float] = 1e-9
    """Relative: how far a figure may move when its arithmetic is done again, on this machine or another."""

    @abstractmethod
    def tensors(self) -> Tensors:
        """The arrays that are written."""

    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """What is written beside them, as JSON."""

    @classmethod
    @abstractmethod
    def restore(cls, tensors: Tensors, settings: Mapping[str, Any]) -> Self:
        """The predictor from what was written."""

    @abstractmethod
    def outputs(self, inputs: npt.ArrayLike) -> Array:
        """Logits of a batch of inputs."""

    def predict(self, inputs: npt.ArrayLike) -> Labels:
        """Classes 0 to K - 1: the sign of one logit (0 counts as class 0), the first largest of several."""
        found = self.outputs(inputs)
        return np.asarray(found > 0 if found.ndim == 1 else np.argmax(found, axis=1), np.int64)

    def errors(self, inputs: npt.ArrayLike, labels: Labels) -> int:
        """Mistakes among labelled examples, labels being classes from 0; a tie is one, as is what is no number."""
        found = self.outputs(inputs)
        if found.ndim == 1:
            return int(np.sum(~((2 * labels - 1) * found > 0)))
        rows = np.arange(len(labels))
        own, rest = found[rows, labels], found.copy()
        rest[rows, labels] = -np.inf
        return int(np.sum(~(own > np.max(rest, axis=1))))

    def recount(self, record: Evidence, inputs: npt.ArrayLike, labels: Labels) -> Evidence:
        """`record` counted again from this predictor and the examples it was certified with.

        Here: its errors. A predictor that shows more (a code length, a divergence) counts all of it.
        """
        return replace(record, errors=self.errors(inputs, labels), n=len(labels))  # type: ignore[call-arg]

    def kept(self, record: Evidence) -> tuple[str, ...]:
        """The figures that are not counted again: none if the predictor has a `recount` of its own."""
        if type(self).recount is not Predictor.recount:
            return ()
        return tuple(name for name in record.record() if name not in COUNTED)

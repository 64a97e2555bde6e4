"""What a network in few coordinates knows of itself, so that covers and codes can certify it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Predictor
from certiformer.certificates._covers import Scale

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Codeword:
    """A network named by integers: its coordinates, what the code costs item by item, and what it counts wrong."""

    z: Array
    parts: Mapping[str, float]
    errors: int


class CoordinateNetwork(ABC):
    """f_z(x) for z in R^D, everything else fixed before the data. Outputs are float64, within `rounding` of f_z."""

    name: ClassVar[str]
    proof: ClassVar[str] = ""
    """Where it is proved how much f changes with z, over the domain and at an example."""
    start: ClassVar[str] = "the fixed part of the network"
    """What of it somebody may have trained, in words; "" where it is fixed by its settings alone."""

    @property
    @abstractmethod
    def coordinates(self) -> int:
        """D."""

    @abstractmethod
    def features(self, inputs: npt.ArrayLike) -> Any:
        """What z acts on: a fixed map of the inputs, computed once."""

    @abstractmethod
    def outputs(self, z: Array, features: Any) -> Array:
        """f_z, one logit or one per class."""

    @abstractmethod
    def fit(self, features: Any, labels: Labels, seed: int) -> Array:
        """Training; any search is free, for the certificates hold for all z at once."""

    @abstractmethod
    def scales(self, kind: str, z: Array, features: Any, labels: Labels) -> tuple[Scale, ...]:
        """The grid of a cover (`cover.coordinates`, `cover.soft`, `cover.local`): counts, nats, what the cell costs."""

    def remark(self, kind: str, z: Array) -> str:
        """What a reader should know of the cover of this kind at z, in a sentence."""
        return ""

    @abstractmethod
    def codeword(self, z: Array, features: Any, labels: Labels, seed: int) -> Codeword:
        """A network on a grid near z, with a short code."""

    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """The configuration, as JSON."""

    @abstractmethod
    def predictor(self, z: Array) -> Predictor:
        """The network at z as something that can be handed over."""

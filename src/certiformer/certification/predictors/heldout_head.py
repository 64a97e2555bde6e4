"""A linear head on frozen features, trained on some rows of a sample and certified on the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence
from certiformer.certificates._predictor import Labels, Tensors
from certiformer.certificates.holdout import HoldOut
from certiformer.certification.predictors.linear_head import TrainedHead, mistakes, prepared
from certiformer.theory.core.errors import InputError


class HeldOutHead(TrainedHead):
    """`rows` are those that the head was not trained on."""

    kind: ClassVar[str] = "linear head"

    def settings(self) -> Mapping[str, Any]:
        return {}

    @classmethod
    def restore(cls, tensors: Tensors, settings: Mapping[str, Any]) -> Self:
        return cls(tensors["trained"], tensors["rows"].astype(np.int64))

    def recount(self, record: Evidence, inputs: npt.ArrayLike, labels: Labels) -> Evidence:
        if not isinstance(record, HoldOut):
            raise InputError("predictor", self.kind, "a hold-out row")
        wrong = int(np.sum(mistakes(prepared(inputs)[self.rows] @ self.trained, labels[self.rows])))
        return replace(record, errors=wrong, n=len(self.rows))

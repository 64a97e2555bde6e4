"""M, soft and local cover of a network in few coordinates, trained here on all examples."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence
from certiformer.certificates._covers import SLOPES, TWICE
from certiformer.certificates.cover_coordinates import CoverOfCoordinates
from certiformer.certificates.cover_local import LocalCover
from certiformer.certificates.cover_soft import SoftCover
from certiformer.lab.coordinate_covers.attention_pooling import Array, AttentionPooling, Labels, Pooled
from certiformer.theory.core.errors import UnknownNameError

KINDS = {record.id: record for record in (CoverOfCoordinates, SoftCover, LocalCover)}


@dataclass(frozen=True, eq=False)
class CoordinateCover:
    """`network`: a class whose every change of a weight is known at the output; `kinds`: which covers to report.

    `pretrained_on`: inputs that the fixed part of the network has seen, or "nothing".
    """

    network: AttentionPooling = field(default_factory=AttentionPooling)
    kinds: tuple[str, ...] = tuple(KINDS)
    seed: int = 0
    label: str = ""
    pretrained_on: Any = None

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in KINDS:
                raise UnknownNameError("cover", kind, KINDS)

    def start(self, model: Any) -> str:
        return ""  # the fixed part of the network follows from its settings

    def certify(self, model: Any, inputs: npt.NDArray[Any], labels: Labels, classes: int) -> tuple[Evidence, ...]:
        features, z = fitted(self.network, inputs, labels, self.seed)
        return cover_records(self.network, z, features, labels, self.kinds, self.label)


def cover_records(
    network: AttentionPooling,
    z: Array,
    features: Pooled,
    labels: Labels,
    kinds: Iterable[str] = tuple(KINDS),
    label: str = "",
) -> tuple[Evidence, ...]:
    """The covers of the network at z, whoever trained it."""
    predictor, subject = network.predictor(z), f"{network.name} with {network.coordinates} real numbers"
    return tuple(
        KINDS[kind](
            n=len(labels),
            scales=network.scales(kind, z, features, labels),
            label=label,
            subject=subject,
            note=network.remark(kind, z),
            shown=dict.fromkeys((SLOPES, TWICE), network.proof),
            predictor=predictor,
        )
        for kind in kinds
    )


_FITTED: OrderedDict[str, tuple[Pooled, Array]] = OrderedDict()


def fitted(network: AttentionPooling, inputs: npt.NDArray[Any], labels: Labels, seed: int) -> tuple[Pooled, Array]:
    """Features and trained coordinates; the last few are kept, so that a cover and a code share their training."""
    digest = hashlib.sha256(f"{network.name} {dict(network.settings())} {seed}".encode())
    digest.update(np.ascontiguousarray(inputs).tobytes())
    digest.update(np.ascontiguousarray(labels).tobytes())
    key = digest.hexdigest()
    if key not in _FITTED:
        features = network.features(inputs)
        _FITTED[key] = features, network.fit(features, labels, seed)
        while len(_FITTED) > 2:
            _FITTED.popitem(last=False)
    return _FITTED[key]

r"""O for any model: coordinates of a subspace on a grid, theta = theta_0 + M z, under a prior fixed before the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence, Predictor
from certiformer.certificates._predictor import Tensors
from certiformer.certificates.occam import Occam as Record
from certiformer.certification.predictors import kind_of, part_of
from certiformer.certification.predictors.model import Network, predictor_of
from certiformer.lab.coordinate_covers.attention_pooling import AttentionPooling, Codeword
from certiformer.lab.procedures._model import WEIGHTS, Labels, Parametrised, loss_of, margins, parametrised
from certiformer.lab.procedures.coordinate_cover import fitted
from certiformer.lab.training.subspace import Quantisation, Subspace, descend
from certiformer.theory.calculus import quantised
from certiformer.theory.core.errors import InputError


@dataclass(frozen=True)
class Code:
    """The grid `step` and how it is trained; the prior's scale is sqrt(2)^i steps, i = -2..`scales` - 3, paid."""

    step: float = 1.0
    scales: int = 16
    steps: int = 3000
    rate: float = 0.1
    batch: int = 100

    def nats(self, z: npt.NDArray[np.int64]) -> dict[str, float]:
        """-ln P item by item."""
        scales = [2.0 ** (i / 2) for i in range(-2, self.scales - 2)]
        return {
            "coordinates and their scale": quantised.best_scale(z, 1.0, scales)[0],
            "dimension": quantised.dimension_nats(len(z)),
        }


@dataclass(frozen=True, eq=False)
class Occam:
    """`subspace`: a number of random directions at the model's own weights, a `Subspace`, or a network in coordinates.

    Random directions have the scale of the weights they change, and come from `seed`, never from the data. The prior is
    centred at the weights of the model: `pretrained_on` says which inputs they have seen, or "nothing".
    """

    subspace: int | Subspace | AttentionPooling = 32
    code: Code = Code()
    seed: int = 0
    label: str = ""
    pretrained_on: Any = None

    def start(self, model: Any) -> str:
        if isinstance(self.subspace, AttentionPooling):
            return ""  # the fixed part of the network follows from its settings
        return "the subspace and its origin" if isinstance(self.subspace, Subspace) else WEIGHTS

    def certify(self, model: Any, inputs: npt.NDArray[Any], labels: Labels, classes: int) -> tuple[Evidence, ...]:
        if isinstance(self.subspace, AttentionPooling):
            return (self._named(self.subspace, inputs, labels),)
        start = parametrised(model)
        space = (
            self.subspace
            if isinstance(self.subspace, Subspace)
            else random_subspace(start.params, self.subspace, self.seed)
        )
        settings = Quantisation(
            step=self.code.step,
            steps=self.code.steps,
            learning_rate=self.code.rate,
            examples=len(labels),
            batch=min(self.code.batch, len(labels)),
        )
        z = descend(
            start.apply,
            _pointwise,
            space,
            jnp.asarray(inputs),
            jnp.asarray(labels),
            jax.random.key(self.seed),
            settings,
            progress=False,
        )
        params = space.at(jnp.asarray(self.code.step * z, jnp.float32))
        parts = self.code.nats(z)
        named = None if isinstance(self.subspace, Subspace) else in_subspace(start, z, self.seed, self.code)
        return (
            Record(
                errors=int(np.sum(margins(start.outputs(params, inputs), labels) <= 0)),
                n=len(labels),
                code_length=math.fsum(parts.values()),
                parts=parts,
                label=self.label,
                subject=f"the model named by {len(z)} integers",
                predictor=named if named is not None else predictor_of(start.rebuild(params)),
            ),
        )

    def _named(self, network: AttentionPooling, inputs: npt.NDArray[Any], labels: Labels) -> Record:
        features, z = fitted(network, inputs, labels, self.seed)
        return word_record(network, network.codeword(z, features, labels, self.seed), len(labels), self.label)


def word_record(network: AttentionPooling, word: Codeword, n: int, label: str = "") -> Record:
    """A network named by integers, whoever found them."""
    return Record(
        errors=word.errors,
        n=n,
        code_length=math.fsum(word.parts.values()),
        parts=dict(word.parts),
        label=label,
        subject=f"{network.name} with {network.coordinates} integers",
        predictor=network.predictor(word.z),
    )


@dataclass(frozen=True, eq=False)
class InSubspace(Predictor):
    """Integers z and the network they start from: theta_0 + M (step z), M being drawn from the seed."""

    kind: ClassVar[str] = "model named by integers"
    tolerance: ClassVar[float] = Network.tolerance
    start: Network
    names: tuple[str, ...]
    """The weights in the order in which their directions are drawn."""
    z: npt.NDArray[np.int64]
    seed: int
    step: float
    scales: int

    @cached_property
    def network(self) -> Network:
        origin = [jnp.asarray(self.start.tensors()[name], jnp.float32) for name in self.names]
        space = random_subspace(origin, len(self.z), self.seed)
        moved = space.at(jnp.asarray(self.step * self.z, jnp.float32))
        return self.start.at({name: np.asarray(leaf) for name, leaf in zip(self.names, moved, strict=True)})

    def tensors(self) -> Tensors:
        return {"z": self.z, **{f"start/{name}": array for name, array in self.start.tensors().items()}}

    def settings(self) -> Mapping[str, Any]:
        code = {"seed": self.seed, "step": self.step, "scales": self.scales}
        return {"start": {"kind": self.start.kind, **self.start.settings()}, "names": list(self.names), **code}

    @classmethod
    def restore(cls, tensors: Tensors, settings: Mapping[str, Any]) -> Self:
        kind = kind_of(settings["start"]["kind"])
        assert issubclass(kind, Network)
        given = {**settings["start"], **({"apply": settings["apply"]} if "apply" in settings else {})}
        start = kind.restore(part_of("start", tensors), given)
        code = (settings["seed"], settings["step"], settings["scales"])
        return cls(start, tuple(settings["names"]), tensors["z"].astype(np.int64), *code)

    def outputs(self, inputs: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return self.network.outputs(inputs)

    def recount(self, record: Evidence, inputs: npt.ArrayLike, labels: Labels) -> Evidence:
        if not isinstance(record, Record):
            raise InputError("predictor", self.kind, "an Occam row")
        parts = Code(step=self.step, scales=self.scales).nats(self.z)
        wrong = self.errors(inputs, labels)
        return replace(record, errors=wrong, n=len(labels), code_length=math.fsum(parts.values()), parts=parts)


def in_subspace(start: Parametrised, z: npt.NDArray[np.int64], seed: int, code: Code) -> InSubspace | None:
    """The named model as a file, where the weights of the model are known by name and are all float32."""
    base = predictor_of(start.rebuild(start.params))
    leaves, _ = jax.tree_util.tree_flatten_with_path(start.params)
    names = tuple(jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in leaves)
    if base is None or set(names) != set(base.tensors()) or any(leaf.dtype != jnp.float32 for _, leaf in leaves):
        return None
    return InSubspace(base, names, z, seed, code.step, code.scales)


def random_subspace(params: Any, dimension: int, seed: int) -> Subspace:
    """Gaussian directions; along each, a weight matrix moves by its own root mean square, over sqrt(dimension)."""
    if dimension < 1:
        raise InputError("subspace", dimension, "at least one direction")
    leaves, tree = jax.tree.flatten(params)
    random = np.random.default_rng(seed)

    def directions(leaf: Any) -> jax.Array:
        size = float(np.sqrt(np.mean(np.square(np.asarray(leaf, np.float64))))) or 1.0
        return jnp.asarray(random.standard_normal((*leaf.shape, dimension)) * size / math.sqrt(dimension), leaf.dtype)

    return Subspace(params, jax.tree.unflatten(tree, [directions(leaf) for leaf in leaves]))


def _pointwise(output: jax.Array, label: jax.Array) -> jax.Array:
    return loss_of(output[None], label[None])[0]

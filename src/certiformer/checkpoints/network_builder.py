"""From the tensors of a checkpoint to the weights of its network: the class of its architecture with its own norms.

Every weight's class is the set of matrices with the norms measured here (or, with a reference, with the measured
distances from the reference). The architecture asks for weights; every tensor must have been asked for, whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from certiformer.checkpoints.checkpoint_error import CheckpointError, NoNetwork, shown
from certiformer.checkpoints.measuring import Measurer
from certiformer.checkpoints.parts import Folded, FoldedBias, Part, Parts
from certiformer.checkpoints.roles import Assigned, Roles, architecture, oriented_shape
from certiformer.theory.networks.architecture import Architecture, Block, Built, End, build
from certiformer.theory.networks.weights import Reference, Weight

Pay = Callable[[str, float], float]
"""A measured norm by its name to the radius that was paid for."""


class Tensors:
    """The weights of a checkpoint. `centre` holds the parts of a reference checkpoint.

    `ranks`: the tensors whose distance from the reference has bounded rank (LoRA). `pay` rounds a norm up to a grid and
    keeps the account: then every weight has one norm, the one its rule reads, and pays for that alone.
    """

    def __init__(
        self,
        parts: Parts,
        measurer: Measurer,
        *,
        centre: Parts | None = None,
        ranks: Mapping[str, int] | None = None,
        pay: Pay | None = None,
    ) -> None:
        self.parts, self.measurer, self.centre, self.ranks, self.pay = parts, measurer, centre, ranks or {}, pay
        self.known: dict[str, Weight] = {}
        self.roles: dict[str, str] = {}
        """The role of the tensor behind each weight."""
        self.used: dict[str, set[tuple[int, int]]] = {}
        """The rows of every tensor that the network has asked for."""
        self.folded: dict[tuple[str, int | None], tuple[str, bool]] = {}
        """The norm that is part of a weight, and whether it has a shift, by role and layer of the weight."""

    def weight(
        self,
        role: str,
        shape: tuple[int, int],
        block: str = "",
        *,
        head: tuple[int, int] | None = None,
        blocks: int = 0,
        alternatives: int = 1,
    ) -> Weight:
        """The class of one weight, measured once."""
        layer = int(block) if block else None
        part = _cut(self.parts.path, self.part(role, layer), head)
        if part.shape != shape:
            expected = f"{shape} (outputs x inputs), as the architecture says"
            raise CheckpointError(self.parts.path, f"shape of {shown(part.name)}: {part.shape}, expected {expected}")
        self._use(part)
        if part.name not in self.known:
            self.known[part.name] = self._measured(part, role, layer, head, blocks)
            self.roles[part.name] = part.assigned.role
        return self.known[part.name]

    def folds(self, norm: str, block: str, readers: Sequence[tuple[str, bool]], *, shift: bool) -> bool:
        """||W diag(g)|| <= ||W|| max|g| and ||Wb + c|| <= ||W|| ||b|| + ||c||: no sensitivity and no reach grows.

        A shift wants readers with biases: else there would be more weights than before. The same with LoRA, whose
        update of W would move a bias that stands still.
        """
        if shift and (self.ranks or not all(biased for _, biased in readers)):
            return False
        layer = int(block) if block else None
        for role, _ in readers:
            self.folded[role, layer] = (norm, shift)
        return True

    def part(self, role: str, layer: int | None, of: Parts | None = None) -> Folded:
        """A weight or bias, the gain or shift of the norm it reads in it where that belongs there."""
        parts = of or self.parts
        found, folded = parts.need(role, layer), self.folded.get((role.removesuffix(".bias"), layer))
        if folded is None:
            return found
        norm, shifted = folded
        weight, gain = parts.need(role.removesuffix(".bias"), layer), parts.need(f"{norm}.gain", layer)
        shift = parts.need(f"{norm}.shift", layer) if shifted else None
        for vector in (gain,) if shift is None else (gain, shift):
            if vector.shape != (weight.shape[1], 1):
                reads = f"{shown(weight.name)} reads {weight.shape[1]}"
                raise CheckpointError(parts.path, f"{shown(vector.name)} has {vector.shape[0]} entries, {reads}")
        if not role.endswith(".bias"):
            return replace(found, gain=gain.assigned)
        return found if shift is None else FoldedBias(found, weight, shift.assigned)

    def scores(self, block: Block) -> tuple[float, ...]:
        """||W_Q^T W_K|| of every head of a block, gains apart."""
        query, key = (self.parts.need(role, int(block.label)) for role in ("query", "key"))
        heads, shared = self.parts.heads, self.parts.key_heads
        found = []
        for h in range(heads):
            first, second = (
                _cut(self.parts.path, part, (n, of))
                for part, n, of in ((query, h, heads), (key, h * shared // heads, shared))
            )
            assert isinstance(first, Part)
            assert isinstance(second, Part)
            found.append(self.measurer.product(first, second))
        return tuple(found)

    def _use(self, part: Folded) -> None:
        self.used.setdefault(part.assigned.tensor.name, set()).add((part.start, part.stop))
        beside = part.shift if isinstance(part, FoldedBias) else part.gain
        if beside is not None:
            self.used.setdefault(beside.tensor.name, set()).add((0, oriented_shape(beside)[0]))

    def idle(self, one: Assigned) -> bool:
        """Whether the network has not asked for all of a tensor."""
        reached = 0
        for start, stop in sorted(self.used.get(one.tensor.name, ())):
            if start > reached:
                return True
            reached = max(reached, stop)
        return reached < oriented_shape(one)[0] or reached == 0

    def _measured(
        self, part: Folded, role: str, layer: int | None, head: tuple[int, int] | None, blocks: int
    ) -> Weight:
        name, own = part.name, self.measurer.sizes(part)
        if self.pay is not None:
            by_rows = part.assigned.row.stored == "rows" or role.endswith((".gain", ".scale")) or role == "classifier"
            if by_rows:
                return Weight(name, part.shape, max_row=self.pay(f"largest row of {name}", own.max_row))
            return Weight(name, part.shape, spectral=self.pay(f"spectral norm of {name}", own.spectral))
        width = part.shape[1] // blocks if blocks else 0
        cuts = [slice(h * width, (h + 1) * width) for h in range(blocks)]
        norms: dict[str, Any] = {
            "spectral": own.spectral,
            "max_row": own.max_row,
            "blocks": tuple(self.measurer.sizes(part, cut).spectral for cut in cuts),
        }
        if self.centre is None:
            return Weight(name, part.shape, l1=own.norm_11, frobenius=own.frobenius, **norms)
        centre = _cut(self.centre.path, self.part(role, layer, self.centre), head)
        moved, there = self.measurer.difference(part, centre), self.measurer.sizes(centre)
        rank = self.ranks.get(part.assigned.tensor.name)
        if rank is not None and self._same_gain(part, centre):
            # Nothing but rank, spectral and Frobenius distance: the low-rank cover stays in this class.
            return Weight(
                name,
                part.shape,
                frobenius=moved.frobenius,
                spectral_distance=moved.spectral,
                reference=Reference(there.spectral, there.max_row),
                rank=rank,
            )
        return Weight(
            name,
            part.shape,
            l1=moved.norm_11,
            frobenius=moved.frobenius,
            spectral_distance=moved.spectral,
            max_row_distance=moved.max_row,
            reference=Reference(
                there.spectral, there.max_row, tuple(self.measurer.sizes(centre, cut).spectral for cut in cuts)
            ),
            **norms,
        )

    def _same_gain(self, part: Folded, centre: Folded) -> bool:
        """Whether what is folded into two weights is the same."""
        gains = [one.gain if isinstance(one, Part) else None for one in (part, centre)]
        digests = [None if gain is None else self.measurer.digest(gain.tensor) for gain in gains]
        return digests[0] == digests[1]


def _cut(path: Any, part: Folded, head: tuple[int, int] | None) -> Folded:
    """The rows of one of several heads."""
    if head is None:
        return part
    number, count = head
    if part.shape[0] % count:
        raise CheckpointError(path, f"{shown(part.name)} has {part.shape[0]} rows, which {count} heads cannot share")
    width = part.shape[0] // count
    return part.rows(number * width, (number + 1) * width)


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A recognised checkpoint with the architecture that its family states."""

    roles: Roles
    architecture: Architecture

    @classmethod
    def of(cls, roles: Roles, given: Mapping[str, Any] | None = None, unused: Sequence[str] = ()) -> Model:
        """Refused (`NoNetwork`) where a key of the configuration is not understood.

        `unused`: tensors and keys that the caller says play no part, which is then the network without them.
        """
        left = roles.without(unused)
        return cls(left, architecture(left, given, unused)[0])

    @property
    def parts(self) -> Parts:
        return Parts(self.roles, self.architecture)

    def build(
        self, measurer: Measurer, *, fused: bool = False, margin: float = 1.0, **options: Any
    ) -> tuple[Built, Tensors]:
        """The network; refused where a tensor of the file plays no part in it and nobody said so.

        `margin` is that of the ramp loss at the end, the options are those of `Tensors`.
        """
        weights = Tensors(self.parts, measurer, **options)
        end = self.architecture.end
        assert end.loss is not None
        scaled = replace(end, loss=(end.loss[0] / margin, end.loss[1]))
        built = build(replace(self.architecture, end=scaled), weights, fused=fused)
        if idle := self.idle(weights):
            names = ", ".join(shown(name) for name in idle[:3]) + (f" and {len(idle) - 3} more" if idle[3:] else "")
            option = " ".join(f"--assume-unused '{shown(name)}'" for name in _patterns(idle))
            raise NoNetwork(
                self.roles.checkpoint.path,
                f"{names} {'plays' if len(idle) == 1 else 'play'} no part in the network of family "
                f"{self.roles.family.key if self.roles.family else ''}",
                f"If that is so, say it: {option}",
            )
        return built, weights

    def idle(self, weights: Tensors) -> list[str]:
        """The tensors that play no part, but for copies of tied weights."""
        family = self.roles.family
        assert family is not None
        names = [tensor.name for tensor in self.roles.unknown if tensor.real]
        for one in self.roles.assigned:
            if one.role == "buffer" or not weights.idle(one):
                continue
            twin = family.copies.get(one.role)
            other = None if twin is None else self.roles.get(twin)
            if other is None or weights.idle(other) or not self._same(one, other, weights.measurer):
                names.append(one.tensor.name)
        return names

    def _same(self, one: Assigned, other: Assigned, measurer: Measurer) -> bool:
        return one.tensor.shape == other.tensor.shape and (measurer.digest(one.tensor) == measurer.digest(other.tensor))


def _patterns(names: Sequence[str]) -> list[str]:
    """Names as few patterns: modules with a star where weight and bias are both there."""
    modules = dict.fromkeys(name.rpartition(".")[0] for name in names)
    found = []
    for module in modules:
        own = [name for name in names if name.rpartition(".")[0] == module]
        found += own if len(own) == 1 or not module else [f"{module}.*"]
    return found[:6]


def told(end: End, margin: float = 1.0) -> str:
    """The output of a network and its loss, in words."""
    said = f"ramp loss of margin {margin:g}"
    if not end.role:
        return f"output: a readout of unit norm on one token or the mean; {said}"
    if end.role == "classifier":
        between = "".join(f" behind the {dense.role} ({dense.activation})" for dense in end.dense)
        return f"output: the classifier on one token (or the mean){between}; {said}"
    return f"output: the logits of a token at one position; {said}"

r"""Networks as directed acyclic graphs, and what the errors of their weights become at the output.

Every signal is a set of tokens with the metric max_t ||z_t||_2 (after a vocabulary head: the largest coordinate).
A layer with inputs z_1, z_2, ... and weights W_i satisfies, hats denoting the covering network,

.. math:: \|f(z;W) - f(\hat z;\hat W)\| \le \sum_j \lambda_j \|z_j - \hat z_j\| + \sum_i \beta_i e_i ,

where e_i is the error of W_i at *hatted* inputs and lambda_j uses norms of un-hatted weights. Unrolling this from the
output backwards gives each weight the sum, over all paths to the output, of beta times the product of the lambdas.

Radii must hold for hatted signals too. With proper covers hatted weights obey the bounds of the class. With external
covers they need not: what passes through such a weight has no bound until a projection or a normalisation gives it one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from certiformer.theory.calculus import chaining
from certiformer.theory.calculus.allocation import Term, network_cover, split
from certiformer.theory.calculus.covers import Cover
from certiformer.theory.calculus.entropies import Shifted, exp
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.records import fast_replace
from certiformer.theory.core.rounding import up
from certiformer.theory.networks.magnitude import ONE, UNBOUNDED, ZERO, Magnitude, size, total
from certiformer.theory.networks.weights import Use, Weight, added_coefficient, class_covers, smallest_cover, weights_of


@dataclass(frozen=True, slots=True)
class Signal:
    """What is known of the tokens at one place, in the network and in its covering network.

    `radius` bounds their l2 norm (for logits: every coordinate), `half_diameter` half the distance of any two tokens
    of one sample, `l1` and `sup` their l1 and sup norms; `positions` is the number of tokens per sample.
    """

    dimension: int
    positions: int
    radius: Magnitude
    half_diameter: Magnitude
    l1: Magnitude
    sup: Magnitude
    logits: bool = False

    def times(self, factor: Magnitude) -> Signal:
        """Every coordinate times at most this."""
        sizes = (self.radius, self.half_diameter, self.l1, self.sup)
        return signal(self.dimension, self.positions, *(factor * one for one in sizes))


def signal(
    dimension: int,
    positions: int,
    radius: Magnitude,
    half_diameter: Magnitude = UNBOUNDED,
    l1: Magnitude = UNBOUNDED,
    sup: Magnitude = UNBOUNDED,
) -> Signal:
    """A signal whose bounds have been tightened by each other; a single token has no diameter."""
    width = size(math.sqrt(dimension))
    radius = min(radius, l1, width * sup)
    spread = min(half_diameter, radius) if positions > 1 else ZERO
    return Signal(dimension, positions, radius, spread, min(l1, width * radius), min(sup, radius))


@dataclass(frozen=True, slots=True)
class Hats:
    """Norms of the *hatted* weights: those of the class if the covers stay in it, otherwise unknown."""

    proper: bool

    def trusts(self, weight: Weight) -> bool:
        return self.proper or weight.keeps_class

    def spectral(self, weight: Weight) -> Magnitude:
        return weight.spectral_norm if self.trusts(weight) else UNBOUNDED

    def row(self, weight: Weight) -> Magnitude:
        return weight.row_norm if self.trusts(weight) else UNBOUNDED

    def block(self, weight: Weight, block: int, count: int) -> Magnitude:
        return weight.block_norm(block, count) if self.trusts(weight) else UNBOUNDED


@dataclass(frozen=True, slots=True)
class Effect:
    """A layer at work: its output, one Lipschitz factor per input, and its uses of weights."""

    output: Signal
    factors: tuple[Magnitude, ...]
    uses: tuple[Use, ...] = ()


@dataclass(frozen=True, slots=True)
class Errors:
    """What a layer reads in the covering network: its input signals, how far each is off, and the error of each use."""

    inputs: tuple[Signal, ...]
    off: tuple[Magnitude, ...]
    uses: tuple[Magnitude, ...]


@dataclass(frozen=True, slots=True)
class Layer(ABC):
    """A rule: given the input signals and the norms of the hatted weights, what comes out and how errors travel."""

    reads_logits: ClassVar[bool] = False

    @property
    def floor(self) -> float:
        """What the layer's condition (a deviation, half a gap) must reach for its rule; 0 where there is none."""
        return 0.0

    def counted_below(self, at: Errors) -> float:
        """The floor plus twice what the condition moves by when inputs and weights are off by `at`."""
        raise InputError("layer", type(self).__name__, "one with a condition")

    @property
    def weights(self) -> tuple[Weight, ...]:
        """The weights the layer uses: its fields, in their order."""
        return weights_of(self)

    def spread(self, output: Signal) -> Magnitude:
        """How far the output can be from its value at the centres of the weights, by its size alone."""
        return output.radius + output.radius

    @abstractmethod
    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        """The rule itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A layer applied to the outputs of other nodes. Reading one node several times is what makes a graph of it."""

    layer: Layer
    parents: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Contribution:
    """One use of a weight, with the sensitivity of the *network's output* to its error there."""

    use: Use
    node: Node
    beta: Magnitude

    @property
    def name(self) -> str:
        """The name of the weight."""
        return self.use.weight.name


@dataclass(frozen=True, slots=True)
class Condition:
    """A floor under the deviation s(z) of every token at a normalisation, or under half the gap of a router's logits.

    Examples below `counted_below` are counted; all of them (inf) where the cover is too coarse for the rule.
    """

    node: Node
    floor: float
    counted_below: float


@dataclass(frozen=True)
class Analysis:
    """A network's sensitivities and radii, its cover, and the complexity that follows."""

    output: Node
    proper: bool
    samples: int | None
    signals: Mapping[Node, Signal]
    sensitivities: Mapping[Node, Magnitude]
    contributions: tuple[Contribution, ...]
    range: Magnitude
    distance: Magnitude
    effects: Mapping[Node, Effect]

    def sensitivity(self, node: Node) -> Magnitude:
        """By how much the output moves per unit of movement of every token at `node`: a sum over paths."""
        return self.sensitivities[node]

    @cached_property
    def coefficients(self) -> dict[str, Magnitude]:
        """For each weight the sensitivity of the output to its error at unit input norm, all uses added."""
        return {name: added_coefficient(uses) for name, (uses, _) in self._by_weight.items()}

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The weights as terms of the allocation: smallest admissible cover and logarithm of the coefficient."""
        return tuple(self._term(name, uses, same) for name, (uses, same) in self._by_weight.items())

    @cached_property
    def cover(self) -> Cover:
        """The cover of the whole network."""
        # Terms without a cover to pay for (frozen or without influence) are dropped by the allocation.
        whole = fast_replace(network_cover(self.terms), proper=self.proper)
        if self.distance.ln >= whole.ln_radius:
            return whole
        # The network at the centres of all weights is a member, and nobody is farther from it than `distance`.
        shift = whole.ln_radius - self.distance.ln
        return fast_replace(
            whole,
            ln_radius=self.distance.ln,
            entropy=Shifted(shift, whole.entropy),
            rough=None if whole.rough is None else Shifted(shift, whole.rough),
            quadratic=whole.quadratic * exp(2.0 * shift),
        )

    def on_samples(self, samples: int) -> Analysis:
        """The same, with covers of the points of a sample of this size allowed, where no layer has a condition."""
        found = replace(self, samples=None if self.conditional else samples)
        # what does not hang on the sample is not computed again
        for name in ("_by_weight", "_of_class", "coefficients", "conditional"):
            found.__dict__[name] = getattr(self, name)
        return found

    @property
    def radius(self) -> Magnitude:
        """The distance of every output to a fixed function: to zero (or a loss's centre), or to the centre network."""
        return min(self.range, self.distance)

    def log_size(self, eps: float) -> float:
        """ln N(eps) of the network's outputs; 0 from the distance to the network at the centres on."""
        return self.cover.log_size(eps)

    @cached_property
    def conditional(self) -> tuple[Node, ...]:
        """The nodes whose rule holds only where their input passes a condition: a floor, a gap."""
        return tuple(node for node in self.signals if node.layer.floor > 0.0)

    def conditions(self, eps: float) -> tuple[Condition, ...]:
        """What an example must pass to be covered at eps: deviations at least the floor plus twice the error there.

        Theorem L of docs/proofs/more-layers.md. Everything else is counted, together with the margin errors.
        """
        error, errors = self._weight_errors(eps), self.errors(eps)
        found = []
        for node in self.conditional:
            at = Errors(
                tuple(self.signals[parent] for parent in node.parents),
                tuple(errors[parent] for parent in node.parents),
                tuple(use.radius * error(use) for use in self.effects[node].uses),
            )
            found.append(Condition(node, node.layer.floor, node.layer.counted_below(at)))
        return tuple(found)

    def errors(self, eps: float) -> dict[Node, Magnitude]:
        """How far every signal of the covering network is off when the output is covered at eps."""
        error = self._weight_errors(eps)
        errors: dict[Node, Magnitude] = {}
        for node, effect in self.effects.items():
            errors[node] = total(
                *(factor * errors[parent] for factor, parent in zip(effect.factors, node.parents, strict=True)),
                *(use.coefficient * error(use) for use in effect.uses),
            )
        return errors

    def _weight_errors(self, eps: float) -> Callable[[Use], Magnitude]:
        """The error of a weight at unit inputs, as one of its uses feels it: the radius of its cover, or its reach."""
        radii = dict(zip((term.name for term in self.terms), split(self.terms, math.log(eps)).ln_radii, strict=True))
        return lambda use: min(Magnitude(radii[use.weight.name]), use.weight.reach(use.geometry))

    def ln_rademacher(self, n: int) -> float:
        """ln of the best chain at sample size n: proper or external as the analysis was."""
        if self.conditional:
            raise InputError(
                "network",
                f"{len(self.conditional)} layers with a condition (a floor, a gap)",
                "one without: a condition holds only for the examples that pass it",
                "Count the others with the certificate cover.floors, or leave the conditions out",
            )
        end = self.signals[self.output]
        if (end.dimension, end.positions) != (1, 1):
            got = f"{end.positions} outputs of dimension {end.dimension}"
            raise InputError(
                "network", got, "one scalar per sample", "End with readout or loss, after pick or mean_pool"
            )
        if self.samples is not None and self.samples < n:
            raise InputError("n", n, f"at most the {self.samples} samples that the covers were built for")
        top = self.radius.ln
        if top == -math.inf:
            return -math.inf
        # Rademacher complexity is homogeneous: measure in units of the radius, which may not fit a float.
        unit = fast_replace(self.cover, ln_radius=self.cover.ln_radius - top)
        chain = chaining.proper_chain if self.proper else chaining.external_chain
        return min(top, (Magnitude(top) * size(up(chain(unit, 1.0, n)))).ln)

    def rademacher(self, n: int) -> float:
        """The best chain at sample size n; never more than the range, nor than the distance to the centre."""
        return Magnitude(self.ln_rademacher(n)).value

    @cached_property
    def _by_weight(self) -> dict[str, tuple[list[Use], bool]]:
        grouped: dict[str, list[Contribution]] = {}
        for contribution in self.contributions:
            grouped.setdefault(contribution.name, []).append(contribution)
        return {
            name: (
                [replace(part.use, beta=part.beta) for part in parts],
                len({id(part.node) for part in parts}) == 1,
            )
            for name, parts in grouped.items()
        }

    @cached_property
    def _of_class(self) -> dict[str, Sequence[Cover]]:
        return {
            name: () if uses[0].weight.cover is not None else class_covers(uses)
            for name, (uses, _) in self._by_weight.items()
        }

    def _term(self, name: str, uses: list[Use], same_layer: bool) -> Term:
        cover = smallest_cover(
            uses, same_layer=same_layer, proper=self.proper, samples=self.samples, of_class=self._of_class[name]
        )
        if not self.proper:
            # The perturbation inequality used hats that may leave the class: not for a proper chain.
            cover = fast_replace(cover, proper=False)
        copies = uses[0].weight.copies
        beta = self.coefficients[name] if copies == 1 else self.coefficients[name] / size(copies)
        return Term(name, cover, beta.ln, copies)


def analyse(output: Node, *, proper: bool = True, samples: int | None = None) -> Analysis:
    """Propagate radii forward and sensitivities backward.

    `proper`: every cover stays in the class (external ones are taken at half the radius), as the proper chain needs.
    Otherwise external covers are used as they are, joint bounds on W_Q and W_K count, and a composition that needs the
    norm of an externally covered weight is refused. `samples`: allow covers of the points of a sample of this size.
    """
    order = _topological(output)
    _check_names(order)
    if any(node.layer.floor > 0.0 for node in order):
        # Conditions are on examples yet unseen: only covers of the whole domain will do.
        samples = None
    effects = _forward(order, Hats(proper))
    sensitivities = _backward(order, effects)
    contributions = tuple(
        Contribution(use, node, use.beta * sensitivities[node]) for node in order for use in effects[node].uses
    )
    # The range concerns members of the class only, whatever their covers.
    in_class = effects if proper else _forward(order, Hats(proper=True))
    return Analysis(
        output,
        proper,
        samples,
        {node: effects[node].output for node in order},
        sensitivities,
        contributions,
        in_class[output].output.radius,
        _distances(order, in_class)[output],
        effects,
    )


def _distances(order: Sequence[Node], effects: Mapping[Node, Effect]) -> dict[Node, Magnitude]:
    """How far every signal can be from that of the network at the centres of all weights.

    Node by node: by the layer's own inequality with the radii of the weights as errors, and by its size, twice where
    the centre's is not known to be smaller.
    """
    distances: dict[Node, Magnitude] = {}
    for node in order:
        effect = effects[node]
        moved = total(
            *(factor * distances[parent] for factor, parent in zip(effect.factors, node.parents, strict=True)),
            *(use.coefficient * use.weight.reach(use.geometry) for use in effect.uses),
        )
        distances[node] = min(moved, node.layer.spread(effect.output))
    return distances


def _topological(output: Node) -> list[Node]:
    """Every ancestor before its descendants; no recursion, networks are deep."""
    order: list[Node] = []
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(output, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((parent, False) for parent in node.parents)
    return order


def _check_names(order: Sequence[Node]) -> None:
    known: dict[str, Weight] = {}
    for node in order:
        for weight in node.layer.weights:
            if known.setdefault(weight.name, weight) != weight:
                raise InputError("weight", weight.name, "one weight per name", "Tied weights share one Weight object")


def _forward(order: Sequence[Node], hats: Hats) -> dict[Node, Effect]:
    effects: dict[Node, Effect] = {}
    for node in order:
        inputs = tuple(effects[parent].output for parent in node.parents)
        if any(one.logits for one in inputs) and not node.layer.reads_logits:
            raise InputError("layer", type(node.layer).__name__, "a loss", "Only a loss may follow a vocabulary head")
        effect = node.layer.effect(inputs, hats)
        needed = [*effect.factors, *(use.coefficient for use in effect.uses)]
        if not all(one.finite for one in needed):
            raise _unbounded(node, hats)
        effects[node] = effect
    return effects


def _unbounded(node: Node, hats: Hats) -> InputError:
    culprits = sorted(
        {weight.name for above in _topological(node) for weight in above.layer.weights if not hats.trusts(weight)}
    )
    return InputError(
        f"covers of {', '.join(culprits)}",
        "external",
        f"proper ones: {type(node.layer).__name__} needs a bound on signals or weights of the covering network",
        "Use analyse(..., proper=True), mark these weights proper_only=True, or project or normalise before this layer",
    )


def _backward(order: Sequence[Node], effects: Mapping[Node, Effect]) -> dict[Node, Magnitude]:
    """Reverse accumulation: the sensitivity at a node is the sum over its readers of factor times theirs."""
    sensitivities = dict.fromkeys(order, ZERO)
    sensitivities[order[-1]] = ONE
    for node in reversed(order):
        for parent, factor in zip(node.parents, effects[node].factors, strict=True):
            sensitivities[parent] = sensitivities[parent] + factor * sensitivities[node]
    return sensitivities

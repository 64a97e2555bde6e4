"""A network as a value: a graph with the norms that define its class, where they come from, and what follows."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from certiformer.theory.calculus.allocation import split
from certiformer.theory.core.bound import json_number
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.hypothesis import Hypothesis, State
from certiformer.theory.core.rounding import decimals, outward
from certiformer.theory.networks.attention_layer import Attention
from certiformer.theory.networks.core_attention import CoreAttention, FusedAttention
from certiformer.theory.networks.graph import Analysis, Node, analyse
from certiformer.theory.networks.magnitude import Magnitude
from certiformer.theory.networks.maps import Normalisation

_TEN = math.log(10.0)


@dataclass(frozen=True)
class Network:
    """A graph, a name, the sample size it is asked about, and how the norms of its class are known.

    `origin`: "stated" by whoever wrote the file, "assumed" where they are guesses, "measured" on a checkpoint.
    `unused`: what is in the file and said to play no part in the network.
    """

    name: str
    output: Node
    samples: int | None = None
    radii: tuple[float, ...] = (1.0, 0.1, 0.01)
    origin: str = "stated"
    unused: tuple[str, ...] = ()

    @cached_property
    def analysis(self) -> Analysis:
        """Radii forward, sensitivities backward."""
        return analyse(self.output, samples=self.samples)

    @property
    def parameters(self) -> int:
        """Entries of all weights that may move, every expert and copy; tied ones count once."""
        weights = {part.name: part.use.weight for part in self.analysis.contributions}
        return sum(weight.parameters for weight in weights.values() if weight.frobenius_radius > 0.0)

    def compose(self) -> Composition:
        """Everything the engine has to say."""
        return Composition(self)

    def _repr_html_(self) -> str:
        return self.compose()._repr_html_()


@dataclass(frozen=True)
class Composition:
    """The answer of `certiformer compose`."""

    network: Network

    @property
    def analysis(self) -> Analysis:
        """Radii forward, sensitivities backward."""
        return self.network.analysis

    @cached_property
    def layers(self) -> list[dict[str, Any]]:
        """One row per node: what it is, radius and half-diameter of its output, sensitivity of the network to it."""
        rows = []
        for node, signal in self.analysis.signals.items():
            rows.append(
                {
                    "layer": type(node.layer).__name__,
                    "weights": [weight.name for weight in node.layer.weights],
                    "shape": [signal.positions, signal.dimension],
                    "log10_radius": _log10(signal.radius),
                    "log10_half_diameter": _log10(signal.half_diameter),
                    "log10_sensitivity": _log10(self.analysis.sensitivity(node)),
                }
            )
        return rows

    @cached_property
    def coefficients(self) -> dict[str, float | None]:
        """log10 of the sensitivity of the output to every weight's error."""
        return {name: _log10(beta) for name, beta in self.analysis.coefficients.items()}

    @cached_property
    def log_covering(self) -> dict[str, float]:
        """ln N at every radius asked for."""
        return {f"{eps:g}": self.analysis.log_size(eps) for eps in self.network.radii}

    @cached_property
    def complexity(self) -> float | None:
        """The Rademacher complexity at n; None without a sample size, or where floors make it a matter of counting."""
        if self.network.samples is None or self.analysis.conditional:
            return None
        return self.analysis.rademacher(self.network.samples)

    @property
    def range(self) -> float:
        """The trivial answer: how far outputs can be from a fixed function."""
        return self.analysis.radius.value

    @cached_property
    def dominating(self) -> list[dict[str, Any]]:
        """Who pays at the smallest radius: nats and parameters by kind of weight, the most expensive first."""
        terms = self.analysis.terms
        found = split(terms, math.log(min(self.network.radii)))
        counts = {part.name: part.use.weight.parameters for part in self.analysis.contributions}
        groups: dict[str, list[float]] = {}
        for term, ln_radius in zip(terms, found.ln_radii, strict=True):
            nats = term.copies * term.cover.log_size_ln(ln_radius) if math.isfinite(ln_radius) else 0.0
            entry = groups.setdefault(_kind(term.name), [0.0, 0.0])
            entry[0] += nats
            entry[1] += counts[term.name]
        whole = math.fsum(entry[0] for entry in groups.values()) or 1.0  # mutants: same-for-every-value
        rows = [
            {"weight": name, "nats": nats, "share": nats / whole, "parameters": int(count)}
            for name, (nats, count) in groups.items()
        ]
        return sorted(rows, key=lambda row: -row["nats"])

    @cached_property
    def advice(self) -> list[str]:
        """What would help, in the order of what it is worth."""
        analysis, found = self.analysis, []
        norms = [node for node in analysis.signals if isinstance(node.layer, Normalisation)]
        slopes = math.fsum(_decades(analysis.effects[node].factors) for node in norms)
        attention = [n for n in analysis.signals if isinstance(n.layer, Attention | CoreAttention | FusedAttention)]
        heads = math.fsum(_decades(analysis.effects[node].factors) for node in attention)
        smallest = min(self.network.radii)
        size = self.log_covering[f"{smallest:g}"]
        count = max(1, self.network.parameters)  # mutants: same-for-every-value
        if size == 0.0:
            return [f"at radius {smallest:g} one network stands for all: ask for a smaller radius"]
        if norms and slopes > 1.0 and not analysis.conditional:  # mutants: words
            found.append(
                f"{len(norms)} normalisations multiply by up to 10^{slopes:.1f} together (1/sqrt(eps) each): floors "
                "under the deviations, counted per example (`floor`, certificate cover.floors), would cut most of it"
            )
        if attention and heads > 1.0:  # mutants: words
            found.append(
                f"{len(attention)} attention layers multiply by up to 10^{heads:.1f} together: smaller query, key "
                "and value norms, or closer tokens, enter through their product"
            )
        found.append(
            f"{size / count:.3g} nats for each of {count:,} parameters at radius {smallest:g}: sensitivities enter "
            "through a logarithm, parameters linearly; a low-rank or few-coordinate class around a reference helps most"
        )
        found.append(f"a one-scale certificate needs ln N below 0.1 n: n = {10.0 * size:.3g} examples")
        return found

    @property
    def hypotheses(self) -> list[dict[str, Any]]:
        """What the numbers stand on."""
        origin = self.network.origin
        states: dict[str, tuple[State, str]] = {
            "stated": ("stated", "stated in the description"),
            "assumed": ("open", "assumed, not measured: give bounds, or measure with `certiformer inspect`"),
            "measured": ("verified", "measured on the checkpoint"),
        }
        state, why = states[origin]
        found = [
            Hypothesis("every weight obeys the norm bounds of the class", state, why, id="norms"),
            Hypothesis("bounds, references and radii are fixed before the sample", "open", "not stated", id="fixed"),
            Hypothesis("the examples are independent", "open", "not stated", id="independent"),
        ]
        if self.network.unused:
            requires = f"{', '.join(self.network.unused)} play no part in the network"
            found.insert(0, Hypothesis(requires, "stated", "stated by the caller", id="unused"))
        if self.analysis.conditional:
            requires = f"examples below {len(self.analysis.conditional)} floors are counted (cover.floors)"
            found.append(Hypothesis(requires, "open", "a floor is a condition on examples", id="floors"))
        return [one.as_json() for one in found]

    def as_json(self) -> dict[str, Any]:
        """The document that `certiformer compose --json` prints."""
        return {
            "name": self.network.name,
            "layers": self.layers,
            "coefficients": self.coefficients,
            "log_covering": {radius: json_number(value) for radius, value in self.log_covering.items()},
            "n": self.network.samples,
            "complexity": None if self.complexity is None else json_number(self.complexity),
            "range": json_number(self.range),
            "dominating": self.dominating,
            "advice": self.advice,
            "hypotheses": self.hypotheses,
        }

    def lines(self) -> list[tuple[str, str]]:
        """Label and value, for tables."""
        worst = max(self.coefficients, key=lambda name: self.coefficients[name] or -math.inf)
        grows = decimals(self.coefficients[worst] or 0.0, 4)  # mutants: words
        rows = [
            ("parameters", f"{self.network.parameters:,}"),
            ("range of the output", f"{outward(self.range, 6):.6g}"),
            ("largest sensitivity", f"10^{grows:.4f} ({worst})"),
        ]
        rows += [(f"ln N at {radius}", f"{outward(value, 6):.6g}") for radius, value in self.log_covering.items()]
        if self.complexity is not None:
            trivial = "" if self.complexity < self.range else " (the trivial range)"
            rows.append((f"complexity at n = {self.network.samples:,}", f"{outward(self.complexity, 6):.6g}{trivial}"))
        for condition in self.analysis.conditions(min(self.network.radii))[:1]:
            rows.append(("first floor, counted below", f"{condition.floor:g}, {condition.counted_below:.6g}"))
        return rows

    def _repr_html_(self) -> str:
        cells = "".join(f"<tr><th>{html.escape(a)}</th><td>{html.escape(b)}</td></tr>" for a, b in self.lines())
        advice = "".join(f"<li>{html.escape(line)}</li>" for line in self.advice)
        return f"<h4>{html.escape(self.network.name)}</h4><table>{cells}</table><ul>{advice}</ul>"


def _log10(magnitude: Magnitude) -> float | None:
    """log10; None for zero."""
    return magnitude.ln / _TEN if math.isfinite(magnitude.ln) else None


def _decades(factors: Sequence[Magnitude]) -> float:
    return max((one.ln / _TEN for one in factors if one.finite), default=0.0)


def _kind(name: str) -> str:
    """`3.attention.query.0` and `0.attention.query.5` are of one kind: numbers between dots do not count."""
    return ".".join(part for part in name.split(".") if not part.isdigit()) or name


def require(mapping: Mapping[str, Any], allowed: Sequence[str], where: str) -> None:
    """A clear error for a key nobody reads."""
    unknown = sorted(set(mapping) - set(allowed))
    if unknown:
        raise InputError(f"{where}.{unknown[0]}", mapping[unknown[0]], f"one of {', '.join(sorted(allowed))}")

"""The second path for networks: one token, one score, one coordinate at a time, and membership of the class anew.

Nothing here shares a line with the interpreter of `attacks.graphs` that a search uses: numbers are added up in plain
Python, a rotation is a complex number, a softmax is written out. Only the claim comes from outside: the sensitivities.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from certiformer.auditing.attack import Instance
from certiformer.auditing.plain_numpy import Array, spectral_norm
from certiformer.theory.networks import Geometry, Head, Node, Weight, core_attention, joins, maps, routing
from certiformer.theory.networks.attention_layer import Attention

if TYPE_CHECKING:
    from certiformer.auditing.attacks.graphs import Graph

Token = list[float]
Tokens = list[Token]
Matrix = Callable[[Weight], Array]
_OUTSIDE = Instance(0.0, {}, 1.0)
_SLACK = 1.0 + 1e-12


def instance(graph: Graph, data: Mapping[str, Array]) -> Instance:
    """What is attained and allowed; nothing where a member is outside its class or a condition fails."""
    if not _members(graph, data):
        return _OUTSIDE
    first, holds = _run(graph, data, "")
    second, holds_hat = _run(graph, data, "_hat")
    if not holds or (graph.both and not holds_hat):
        return _OUTSIDE
    for node in graph.analysis.conditional:
        if isinstance(node.layer, routing.Routing):  # logits off by less than twice the floor: the same choice
            name = node.layer.router.name
            pairs = zip(first[node.parents[0]][0], second[node.parents[0]][0], strict=True)
            logits = ((_times(data[name], x), _times(data[f"{name}_hat"], y)) for x, y in pairs)
            if max(abs(a - b) for r, s in logits for a, b in zip(r, s, strict=True)) >= 2.0 * node.layer.floor:
                return _OUTSIDE
    allowed = math.fsum(
        [
            *(part.beta.value * _error(graph, part, data, second) for part in graph.analysis.contributions),
            *(
                graph.analysis.sensitivity(node).value
                * max(math.dist(x, y) for x, y in zip(data[f"tokens{i}"], data[f"tokens{i}_hat"], strict=True))
                for i, node in enumerate(graph.inputs)
            ),
        ]
    )
    ends = zip(first[graph.output][0], second[graph.output][0], strict=True)
    return Instance(max(math.dist(x, y) for x, y in ends), {}, allowed)


def _members(graph: Graph, data: Mapping[str, Array]) -> bool:
    """Every matrix within its distances of its centre, every token within its radius, no two too far apart."""
    for name, weight in graph.matrices.items():
        for value in (data[name], data[f"{name}_hat"]):
            away = value - graph.centres.get(name, 0.0)
            longest = max(math.hypot(*row) for row in away)
            if spectral_norm(away) > weight.spectral_radius * _SLACK or longest > weight.row_radius * _SLACK:
                return False
    for i, node in enumerate(graph.inputs):
        signal = graph.analysis.signals[node]
        for tokens in (data[f"tokens{i}"], data[f"tokens{i}_hat"]):
            if max(math.hypot(*token) for token in tokens) > signal.radius.value * _SLACK:
                return False
            apart = max(math.dist(x, y) for x in tokens for y in tokens)
            if apart > 2.0 * signal.half_diameter.value * _SLACK and len(tokens) > 1:
                return False
    return True


def _error(graph: Graph, part: Any, data: Mapping[str, Array], second: Mapping[Node, list[Tokens]]) -> float:
    """The error of a weight where it acts: at its inputs in the second network, or its size times their radius."""
    weight, seen, found = part.use.weight, graph.seen(part), 0.0
    for e in range(weight.alternatives):
        name = weight.name if weight.alternatives == 1 else f"{weight.name}@{e}"
        change = data[name] - data[f"{name}_hat"]
        if seen is not None:
            size = max(math.hypot(*_times(change, token)) for token in second[seen][e])
        elif part.use.geometry is Geometry.OPERATOR:
            size = part.use.radius.value * spectral_norm(change)
        else:
            size = part.use.radius.value * max(math.hypot(*row) for row in change)
        found = max(found, size)
    return found


def _run(graph: Graph, data: Mapping[str, Array], hat: str) -> tuple[dict[Node, list[Tokens]], bool]:
    """Every signal, expert by expert, and whether all conditions hold."""
    values: dict[Node, list[Tokens]] = {}
    holds = True
    for node in graph.analysis.signals:
        layer: Any = node.layer
        if node in graph.inputs:
            tokens = [list(map(float, token)) for token in data[f"tokens{graph.inputs.index(node)}{hat}"]]
            values[node] = [tokens] * graph.alternatives
            continue
        found = []
        for e in range(graph.alternatives):

            def of(weight: Weight, e: int = e) -> Array:
                return data[f"{weight.name}{'' if weight.alternatives == 1 else f'@{e}'}{hat}"]

            parents = [values[parent][e] for parent in node.parents]
            if isinstance(layer, routing.Routing):
                found.append(_routing(layer, parents[0], values[node.parents[1]], of))
            elif isinstance(layer, joins.Pooling):
                mean = [math.fsum(column) / len(parents[0]) for column in zip(*parents[0], strict=True)]
                found.append([mean if graph.pooled else parents[0][0]])
            else:
                found.append(_layer(layer, parents, of, data.get("biases")))
            if layer.floor > 0.0:
                holds = holds and all(_reached(layer, token, of) >= layer.floor for token in parents[0])
        values[node] = found
    return values, holds


def _layer(layer: Any, z: Sequence[Tokens], of: Matrix, biases: Array | None) -> Tokens:
    match layer:
        case maps.Linear():
            return [_times(of(layer.weight), token) for token in z[0]]
        case maps.Bias():
            return [[x + b[0] for x, b in zip(token, of(layer.shift), strict=True)] for token in z[0]]
        case maps.Elementwise():
            known = {"identity": lambda x: x, "relu": lambda x: max(x, 0.0), "sigma": lambda x: max(x, 0.0)}
            sigma = {**known, "tanh": math.tanh}[layer.sigma.name]
            return [[sigma(x) for x in token] for token in z[0]]
        case maps.Scale():
            return [[layer.factor * x for x in token] for token in z[0]]
        case maps.Projection():
            return [[x / max(1.0, math.hypot(*token) / layer.radius) for x in token] for token in z[0]]
        case maps.Normalisation():
            return [_normalised(layer, token, of) for token in z[0]]
        case maps.Unit():
            return [[x / max(math.hypot(*token), layer.least) for x in token] for token in z[0]]
        case maps.SquaredRelu():
            return [[x * x if x > 0.0 else 0.0 for x in token] for token in z[0]]
        case joins.Sum():
            return [[math.fsum(xs) for xs in zip(*same, strict=True)] for same in _aligned(z)]
        case joins.Product():
            return [[x * y for x, y in zip(*same, strict=True)] for same in _aligned(z)]
        case joins.MaxPooling():
            return [[max(column) for column in zip(*z[0], strict=True)]]
        case Attention():
            joined = [[x for head in layer.heads for x in _head(head, asking, z[-1], of)] for asking in z[0]]
            return joined if layer.projection is None else [_times(of(layer.projection), one) for one in joined]
        case core_attention.CoreAttention():
            return [_core(layer, t, q, z[1], z[2], of, biases) for t, q in enumerate(z[0])]
        case core_attention.FusedAttention():
            return [_fused(layer, q, z[1], z[2]) for q in z[0]]
        case core_attention.Join():
            whole = [[x for one in same for x in one] for same in zip(*z, strict=True)]
            return [_times(of(layer.weight), one) for one in whole]
    raise TypeError(f"no second interpretation of {type(layer).__name__}")


def _times(matrix: Array, token: Sequence[float]) -> Token:
    return [math.fsum(float(w) * x for w, x in zip(row, token, strict=True)) for row in matrix]


def _dot(x: Sequence[float], y: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(x, y, strict=True))


def _aligned(z: Sequence[Tokens]) -> list[list[Token]]:
    """The tokens at each position; a single token goes with every position."""
    positions = max(len(tokens) for tokens in z)
    return [[tokens[t if len(tokens) > 1 else 0] for tokens in z] for t in range(positions)]


def _average(scores: Sequence[float], values: Sequence[Token]) -> Token:
    """sum_s p_s v_s, p = softmax(scores)."""
    top = max(scores)
    weights = [math.exp(score - top) for score in scores]
    whole = math.fsum(weights)
    return [
        math.fsum(p * x for p, x in zip(weights, column, strict=True)) / whole for column in zip(*values, strict=True)
    ]


def _head(head: Head, x: Token, keys: Tokens, of: Matrix) -> Token:
    if head.score is not None:
        asked = _times(of(head.score), x)
        scores = [head.scale * _dot(key, asked) for key in keys]
    elif head.query is not None and head.key is not None:
        asked = _times(of(head.query), x)
        scores = [head.scale * _dot(_times(of(head.key), key), asked) for key in keys]
    else:
        raise TypeError("a head without scores")
    mean = _average(scores, keys)
    return mean if head.value is None else _times(of(head.value), mean)


def _core(
    layer: core_attention.CoreAttention,
    t: int,
    q: Token,
    keys: Tokens,
    values: Tokens,
    of: Matrix,
    biases: Array | None,
) -> Token:
    scores = []
    for s, key in enumerate(keys):
        score = layer.scale * _dot(q, _turned(key, 2.0 * s) if layer.positional else key)
        if layer.slope is not None:
            score -= float(of(layer.slope)[0, 0]) * abs(t - s)
        if layer.score_bias is not None:
            score += float(of(layer.score_bias)[s, 0])
        if layer.biased and biases is not None:
            score += float(biases[s])
        scores.append(layer.cap * math.tanh(score / layer.cap) if math.isfinite(layer.cap) else score)
    return _average(scores, values)


def _turned(key: Token, angle: float) -> Token:
    """Pairs of coordinates as complex numbers, times e^(i angle); an odd one stays."""
    turned: Token = []
    for i in range(0, len(key) - 1, 2):
        rotated = complex(key[i], key[i + 1]) * cmath.exp(1j * angle)
        turned += [rotated.real, rotated.imag]
    return turned + key[len(turned) :]


def _fused(layer: core_attention.FusedAttention, q: Token, keys: Tokens, values: Tokens) -> Token:
    out: Token = []
    wide, long = len(q) // layer.heads, len(values[0]) // layer.key_heads
    for h in range(layer.heads):
        g = h * layer.key_heads // layer.heads
        query = q[h * wide : (h + 1) * wide]
        scores = [layer.scale * _dot(query, key[g * wide : (g + 1) * wide]) for key in keys]
        out += _average(scores, [value[g * long : (g + 1) * long] for value in values])
    return out


def _normalised(layer: maps.Normalisation, token: Token, of: Matrix) -> Token:
    mean = math.fsum(token) / len(token) if layer.centred else 0.0
    deviation = _deviation(layer, token)
    out = [(x - mean) / deviation for x in token]
    if layer.gain is not None:
        out = [x * float(g[0]) for x, g in zip(out, of(layer.gain), strict=True)]
    return out if layer.shift is None else [x + float(b[0]) for x, b in zip(out, of(layer.shift), strict=True)]


def _deviation(layer: maps.Normalisation, token: Token) -> float:
    mean = math.fsum(token) / len(token) if layer.centred else 0.0
    return math.sqrt(math.fsum((x - mean) ** 2 for x in token) / len(token) + layer.eps)


def _routing(layer: routing.Routing, z: Tokens, experts: Sequence[Tokens], of: Matrix) -> Tokens:
    out = []
    for t, token in enumerate(z):
        logits = _times(of(layer.router), token)
        taken = sorted(range(len(logits)), key=lambda e: -logits[e])[: layer.chosen]
        out.append(_average([logits[e] for e in taken], [experts[e][t] for e in taken]))
    return out


def _reached(layer: Any, token: Token, of: Matrix) -> float:
    """What a floor is a bound on."""
    if isinstance(layer, maps.Normalisation):
        return _deviation(layer, token)
    if isinstance(layer, routing.Routing):
        logits = sorted(_times(of(layer.router), token), reverse=True)
        return (logits[layer.chosen - 1] - logits[layer.chosen]) / 2.0
    raise TypeError(f"{type(layer).__name__} has no condition")

"""Each rule against a real layer: random perturbations and a search for the worst one, one tensor at a time and all."""

from __future__ import annotations

import functools
import math

import mpmath
import numpy as np
import pytest
from scipy.special import erf, expit

from certiformer.theory import networks as net
from certiformer.theory.networks import Head, Weight
from theory.networks import layer_search as ls
from theory.networks.layer_search import Array, Case, Params, Tensor

D, T = 3, 3
RADIUS, SPREAD = 1.5, 0.8


def matrix(name: str, rows: int = D, columns: int = D, norm: float = 1.2) -> Weight:
    return Weight(name, (rows, columns), spectral=norm)


def members(*weights: Weight) -> dict[str, Tensor]:
    """The tensors of weights bounded in spectral norm (k x 1: l2 norm)."""
    return {weight.name: Tensor(weight.shape, ls.spectral(weight.spectral)) for weight in weights}


def source(dimension: int = D, positions: int = T, radius: float = RADIUS, spread: float = SPREAD) -> net.Node:
    return net.tokens(dimension, radius, positions=positions, half_diameter=spread)


def token_tensor(dimension: int = D, positions: int = T, radius: float = RADIUS, spread: float = SPREAD) -> Tensor:
    return Tensor((positions, dimension), ls.ball(radius, spread))


def reads(name: str):
    return lambda p: p[name]


def elementwise(name: str, sigma: net.Activation, function) -> Case:
    z = source(positions=1, radius=4.0, spread=4.0)
    tensors = {"x": token_tensor(positions=1, radius=4.0, spread=4.0)}
    return Case(name, net.activation(z, sigma), tensors, lambda p: function(p["x"]), {"x": z})


def gelu(x: Array) -> Array:
    return x * 0.5 * (1.0 + erf(x / math.sqrt(2.0)))


def gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def silu(x: Array) -> Array:
    return x * expit(x)


ACTIVATIONS = [
    elementwise("identity", net.IDENTITY, lambda x: x),
    elementwise("relu", net.RELU, lambda x: np.maximum(x, 0.0)),
    elementwise("tanh", net.TANH, np.tanh),
    elementwise("sigmoid", net.SIGMOID, expit),
    elementwise("gelu", net.GELU, gelu),
    elementwise("gelu_tanh", net.GELU_TANH, gelu_tanh),
    elementwise("silu", net.SILU, silu),
]


def linear_case() -> Case:
    x, w, b = source(), matrix("W", 2), matrix("b", 2, 1)
    return Case(
        "linear and bias",
        net.linear(x, w, b),
        {"x": token_tensor(), **members(w, b)},
        lambda p: ls.apply(p["W"], p["x"]) + ls.shift(p["b"]),
        {"x": x},
        {"W": reads("x")},
    )


def projection_case() -> Case:
    x = source()
    return Case("projection", net.project(x), {"x": token_tensor()}, lambda p: ls.project(p["x"]), {"x": x})


def norm_case(name: str, eps: float, *, centred: bool) -> Case:
    x = source(4, 2, 6.0, 6.0)
    g, b = Weight("g", (4, 1), max_row=1.5), matrix("b", 4, 1)
    graph = net.layer_norm(x, g, b, eps=eps) if centred else net.bias(net.rms_norm(x, g, eps=eps), b)

    def forward(p: Params) -> Array:
        return ls.shift(p["g"]) * ls.normalise(p["x"], eps, centred=centred) + ls.shift(p["b"])

    tensors = {"x": token_tensor(4, 2, 6.0, 6.0), "g": Tensor((4, 1), ls.sup(1.5)), **members(b)}
    return Case(name, graph, tensors, forward, {"x": x})


def residual_case() -> Case:
    x, w = source(), matrix("W")
    return Case(
        "residual",
        net.add(x, net.linear(x, w)),
        {"x": token_tensor(), **members(w)},
        lambda p: p["x"] + ls.apply(p["W"], p["x"]),
        {"x": x},
        {"W": reads("x")},
    )


def gated_case() -> Case:
    x, gate, up, down = source(), matrix("gate", 2), matrix("up", 2), matrix("down", 2, 2)
    shifts = {name: matrix(name, 2, 1, 0.5) for name in ("bg", "bu", "bd")}
    graph = net.gated_feed_forward(
        x, gate, up, down, net.SILU, gate_shift=shifts["bg"], up_shift=shifts["bu"], down_shift=shifts["bd"]
    )

    def hidden(p: Params) -> Array:
        gated = silu(ls.apply(p["gate"], p["x"]) + ls.shift(p["bg"]))
        return gated * (ls.apply(p["up"], p["x"]) + ls.shift(p["bu"]))

    return Case(
        "gated feed-forward",
        graph,
        {"x": token_tensor(), **members(gate, up, down, *shifts.values())},
        lambda p: ls.apply(p["down"], hidden(p)) + ls.shift(p["bd"]),
        {"x": x},
        {"gate": reads("x"), "up": reads("x"), "down": hidden},
    )


def feed_forward_case() -> Case:
    x, up, down = source(), matrix("up", 4), matrix("down", 2, 4)

    def hidden(p: Params) -> Array:
        return np.maximum(ls.apply(p["up"], p["x"]), 0.0)

    return Case(
        "feed-forward",
        net.feed_forward(x, up, down, net.RELU),
        {"x": token_tensor(), **members(up, down)},
        lambda p: ls.apply(p["down"], hidden(p)),
        {"x": x},
        {"up": reads("x"), "down": hidden},
    )


def merged_case(*, masked: bool) -> Case:
    """Self-attention with one score matrix; with a causal mask and a fixed additive bias the numbers are the same."""
    x, a, v = source(), matrix("A", norm=3.0), matrix("V")
    fixed = np.where(np.tril(np.ones((T, T))) > 0, np.array([[0.0, -1.0, 2.0]] * T), -np.inf) if masked else 0.0

    def forward(p: Params) -> Array:
        scores = np.einsum("nsi,nij,ntj->nts", p["x"], p["A"], p["x"]) + fixed
        return ls.apply(p["V"], ls.attend(scores, p["x"]))

    return Case(
        "self-attention, merged, masked" if masked else "self-attention, merged",
        net.attention(x, Head(value=v, score=a)),
        {"x": token_tensor(), **members(a, v)},
        forward,
        {"x": x},
        {"A": reads("x"), "V": reads("x")},
    )


def separate_scores(p: Params, x: Array, y: Array, scale: float, angles: Array | None = None) -> Array:
    queries = ls.apply(p["Q"], x) + (ls.shift(p["bQ"]) if "bQ" in p else 0.0)
    keys = ls.apply(p["K"], y) + (ls.shift(p["bK"]) if "bK" in p else 0.0)
    if angles is not None:
        queries, keys = ls.rotate(queries, angles), ls.rotate(keys, angles)
    return scale * np.einsum("nti,nsi->nts", queries, keys)


def separate_case(*, biased: bool, rotary: bool) -> Case:
    x, q, k, v, scale = source(), matrix("Q", 2, norm=2.0), matrix("K", 2, norm=1.5), matrix("V"), 0.7
    biases = {"bQ": matrix("bQ", 2, 1), "bK": matrix("bK", 2, 1), "bV": matrix("bV", 3, 1)} if biased else {}
    head = Head(
        value=v,
        query=q,
        key=k,
        scale=scale,
        rotary=rotary,
        query_bias=biases.get("bQ"),
        key_bias=biases.get("bK"),
        value_bias=biases.get("bV"),
    )
    tensors = {"x": token_tensor(), **members(q, k, v, *biases.values())}
    if rotary:
        tensors["angles"] = Tensor((T,), ls.free)

    def forward(p: Params) -> Array:
        scores = separate_scores(p, p["x"], p["x"], scale, p.get("angles"))
        return ls.apply(p["V"], ls.attend(scores, p["x"])) + (ls.shift(p["bV"]) if biased else 0.0)

    name = f"self-attention, separate{', biases' if biased else ''}{', rotary' if rotary else ''}"
    seen = {"Q": reads("x"), "K": reads("x"), "V": reads("x")}
    return Case(name, net.attention(x, head), tensors, forward, {"x": x}, seen, fixed=("angles",))


def cross_case(*, merged: bool) -> Case:
    """Queries and keys differ in number, dimension and radius."""
    x, y = source(2, 2, 2.0, 2.0), source(3, 3, 1.2, 0.7)
    v = matrix("V")
    a, q, k = matrix("A", 3, 2, 2.0), matrix("Q", 2, 2, 1.5), matrix("K", 2, 3, 1.5)
    own = (a,) if merged else (q, k)
    head = Head(value=v, score=a) if merged else Head(value=v, query=q, key=k, scale=0.7)

    def forward(p: Params) -> Array:
        if merged:
            scores = np.einsum("nsi,nij,ntj->nts", p["y"], p["A"], p["x"])
        else:
            scores = separate_scores(p, p["x"], p["y"], 0.7)
        return ls.apply(p["V"], ls.attend(scores, p["y"]))

    return Case(
        f"cross-attention, {'merged' if merged else 'separate'}",
        net.attention(x, head, keys=y),
        {"x": token_tensor(2, 2, 2.0, 2.0), "y": token_tensor(3, 3, 1.2, 0.7), **members(v, *own)},
        forward,
        {"x": x, "y": y},
        {"A": reads("x"), "Q": reads("x"), "K": reads("y"), "V": reads("y")},
    )


def score_bias_case() -> Case:
    x, a, v, table = source(), matrix("A"), matrix("V"), Weight("table", (T * T, 1), max_row=2.0)

    def forward(p: Params) -> Array:
        scores = np.einsum("nsi,nij,ntj->nts", p["x"], p["A"], p["x"]) + p["table"].reshape(-1, T, T)
        return ls.apply(p["V"], ls.attend(scores, p["x"]))

    tensors = {"x": token_tensor(), **members(a, v), "table": Tensor((T * T, 1), ls.sup(2.0))}
    seen = {"A": reads("x"), "V": reads("x")}
    graph = net.attention(x, Head(value=v, score=a, score_bias=table))
    return Case("trained score bias", graph, tensors, forward, {"x": x}, seen)


def heads_case(*, summed: bool) -> Case:
    x = source()
    scores = [matrix("A1", norm=2.0), matrix("A2", norm=0.5)]
    values = [matrix("V1", 2 if not summed else 3), matrix("V2", 2 if not summed else 3, norm=0.6)]
    heads = [Head(value=v, score=a) for v, a in zip(values, scores, strict=True)]
    out = Weight("O", (3, 4), spectral=1.3, blocks=(1.0, 1.1))

    def each(p: Params) -> list[Array]:
        return [
            ls.apply(p[v], ls.attend(np.einsum("nsi,nij,ntj->nts", p["x"], p[a], p["x"]), p["x"]))
            for v, a in (("V1", "A1"), ("V2", "A2"))
        ]

    def joined(p: Params) -> Array:
        return np.concatenate(each(p), axis=-1)

    def blocks(raw: Array) -> Array:
        halves = [ls.spectral(n)(raw[:, :, s]) for n, s in ((1.0, slice(0, 2)), (1.1, slice(2, 4)))]
        return ls.spectral(1.3)(np.concatenate(halves, axis=-1))

    tensors = {"x": token_tensor(), **members(*scores, *values)}
    seen = {name: reads("x") for name in ("A1", "A2", "V1", "V2")}
    if summed:
        graph = net.add(*(net.attention(x, head) for head in heads))
        return Case("heads, summed", graph, tensors, lambda p: sum(each(p)), {"x": x}, seen)
    tensors["O"] = Tensor((3, 4), blocks)
    graph = net.attention(x, heads, output=out)
    forward = lambda p: ls.apply(p["O"], joined(p))  # noqa: E731
    return Case("heads, concatenated", graph, tensors, forward, {"x": x}, {**seen, "O": joined})


def pooled_case(name: str) -> Case:
    x, w, b = source(), matrix("w", 1), matrix("b", 1, 1)
    pool = net.mean_pool if name == "mean" else net.pick

    def pooled(p: Params) -> Array:
        return p["x"].mean(axis=1, keepdims=True) if name == "mean" else p["x"][:, :1]

    return Case(
        f"{name} pooling, scalar readout",
        net.readout(pool(x), w, b),
        {"x": token_tensor(), **members(w, b)},
        lambda p: ls.apply(p["w"], pooled(p)) + ls.shift(p["b"]),
        {"x": x},
        {"w": pooled},
    )


def vocabulary_case(*, with_loss: bool) -> Case:
    x, w, b = source(), Weight("W", (4, D), max_row=1.2), Weight("b", (4, 1), max_row=0.5)
    logits = net.vocabulary(x, w, b)
    tensors = {"x": token_tensor(), "W": Tensor((4, D), ls.rows(1.2)), "b": Tensor((4, 1), ls.sup(0.5))}

    def forward(p: Params) -> Array:
        out = ls.apply(p["W"], p["x"]) + ls.shift(p["b"])
        return -np.log(ls.softmax(out)[..., :1]) if with_loss else out

    graph = net.loss(logits, 2.0) if with_loss else logits
    name = "vocabulary head, cross entropy" if with_loss else "vocabulary head"
    return Case(name, graph, tensors, forward, {"x": x}, {"W": reads("x")}, "l2" if with_loss else "sup")


def embedding_case() -> Case:
    """Trained table and CLS token, fixed positions, scaled; then attention, so that the radii matter."""
    table, cls, a = Weight("E", (4, D), max_row=0.9), matrix("cls", D, 1, 0.7), matrix("A", norm=2.0)
    positions = np.array([[0.3, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 0.3]])
    fixed = net.tokens(D, 0.3, positions=T)
    z = net.prepend(net.add(net.scale(net.embedding(table, positions=T), 1.5), fixed), cls)

    def tokens(p: Params) -> Array:
        return np.concatenate([ls.shift(p["cls"]), 1.5 * p["E"][:, [2, 0, 2]] + positions], axis=1)

    def forward(p: Params) -> Array:
        z = tokens(p)
        return ls.attend(np.einsum("nsi,nij,ntj->nts", z, p["A"], z), z)

    tensors = {"E": Tensor((4, D), ls.rows(0.9)), **members(cls, a)}
    return Case("embedding", net.attention(z, Head(score=a)), tensors, forward, seen_by={"A": tokens})


def tied_case() -> Case:
    """One table for embedding and vocabulary head: its sensitivities add."""
    table, w = Weight("E", (4, D), max_row=0.9), matrix("W")
    z = net.linear(net.embedding(table, positions=2), w)

    def hidden(p: Params) -> Array:
        return ls.apply(p["W"], p["E"][:, [1, 3]])

    return Case(
        "tied embedding",
        net.vocabulary(z, table),
        {"E": Tensor((4, D), ls.rows(0.9)), **members(w)},
        lambda p: ls.apply(p["E"], hidden(p)),
        seen_by={"E": hidden, "W": lambda p: p["E"][:, [1, 3]]},
        metric="sup",
    )


CASES = [
    *ACTIVATIONS,
    linear_case(),
    projection_case(),
    norm_case("layer norm", 0.3, centred=True),
    norm_case("layer norm, small eps", 1e-5, centred=True),
    norm_case("rms norm", 0.3, centred=False),
    norm_case("rms norm, small eps", 1e-5, centred=False),
    residual_case(),
    feed_forward_case(),
    gated_case(),
    merged_case(masked=False),
    merged_case(masked=True),
    separate_case(biased=False, rotary=False),
    separate_case(biased=True, rotary=False),
    separate_case(biased=False, rotary=True),
    separate_case(biased=True, rotary=True),
    cross_case(merged=True),
    cross_case(merged=False),
    score_bias_case(),
    heads_case(summed=True),
    heads_case(summed=False),
    pooled_case("mean"),
    pooled_case("first"),
    vocabulary_case(with_loss=False),
    vocabulary_case(with_loss=True),
    embedding_case(),
    tied_case(),
]

# The search all but attains the bound, except where the rule pays for a sum of effects that rarely align.
FLOOR = 0.96
FLOORS = {
    "self-attention, merged": {"x": 0.7},
    "self-attention, merged, masked": {"x": 0.7},
    "self-attention, separate": {"x": 0.6, "K": 0.8},
    "self-attention, separate, biases": {"x": 0.6, "K": 0.8, "bK": 0.0},
    "self-attention, separate, rotary": {"x": 0.45, "Q": 0.6},
    "self-attention, separate, biases, rotary": {"x": 0.4, "Q": 0.6, "K": 0.8, "bQ": 0.6, "bK": 0.8},
    "cross-attention, merged": {"y": 0.6},
    "cross-attention, separate": {"y": 0.5},
    "trained score bias": {"x": 0.55},
    "heads, summed": {"x": 0.55},
    "heads, concatenated": {"x": 0.5},
    "gated feed-forward": {"x": 0.8, "up": 0.8, "bu": 0.8, "bg": 0.8},
    "embedding": {"E": 0.6, "cls": 0.25, "A": 0.65, "all": 0.6},
}
BY_NAME = {case.name: case for case in CASES}
MOVES = [(case.name, moved) for case in CASES for moved in (*case.movable, *(["all"] if len(case.movable) > 1 else []))]


@pytest.mark.parametrize(("name", "moved"), MOVES)
def test_no_perturbation_beats_the_rule_and_the_search_comes_close(name: str, moved: str) -> None:
    case = BY_NAME[name]
    best = ls.worst_ratio(case, case.movable if moved == "all" else [moved])
    assert best <= 1.0 + 1e-7
    assert best >= FLOORS.get(name, {}).get(moved, FLOOR)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_tensor_costs_something_unless_the_output_ignores_it(case: Case) -> None:
    analysis = net.analyse(case.graph)
    free = {name for name, coefficient in analysis.coefficients.items() if coefficient.value == 0.0}
    plain, other = ls.sample(case, 200, 1), ls.sample(case, 200, 2)
    for name in set(case.movable) - set(case.inputs):
        change = ls.token_norm(case.forward(plain) - case.forward({**plain, name: other[name]}), case.metric)
        assert (name in free) == bool(change.max() < 1e-12), name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_outputs_stay_within_the_propagated_radii(case: Case) -> None:
    end = net.analyse(case.graph).signals[case.graph]
    out = case.forward(ls.sample(case, 1000, 3))
    slack = 1.0 + 1e-9
    assert out.shape[1:] == (end.positions, end.dimension)
    assert np.abs(out).max() <= end.sup.value * slack
    if end.logits or case.name.endswith("cross entropy"):  # a loss is centred elsewhere
        return
    assert np.linalg.norm(out, axis=-1).max() <= end.radius.value * slack
    assert np.abs(out).sum(axis=-1).max() <= end.l1.value * slack
    distances = np.linalg.norm(out[:, :, None] - out[:, None], axis=-1)
    assert distances.max() <= 2.0 * end.half_diameter.value * slack


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("dimension", [1, 2, 4, 32])
def test_gains_at_one_hot_inputs(centred: bool, dimension: int) -> None:
    """All the energy in one coordinate is the worst input for the gain; RMSNorm passes sqrt(d), LayerNorm sqrt(d-1)."""
    gain = Weight("g", (dimension, 1), max_row=2.0)
    z = net.tokens(dimension, 1e6, positions=1)
    analysis = net.analyse(net.layer_norm(z, gain) if centred else net.rms_norm(z, gain))
    (part,) = analysis.contributions
    one_hot = np.zeros((1, 1, dimension))
    one_hot[..., 0] = 1e6
    # Change the gain by one in the same coordinate: its l2 and sup norms are both 1.
    change = np.abs(ls.normalise(one_hot, 1e-5, centred=centred)[0, 0, 0])
    claimed = part.beta.value * min(1.0, part.use.euclidean_discount.value)
    assert change <= claimed * (1 + 1e-9)
    assert claimed == pytest.approx(math.sqrt(dimension - 1 if centred else dimension), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("sigma", "radius"),
    [
        (net.IDENTITY, 5.0),
        (net.RELU, 5.0),
        (net.GELU, 5.0),
        (net.GELU_TANH, 5.0),
        (net.SILU, 5.0),
        (net.TANH, math.sqrt(3.0)),
        (net.SIGMOID, math.sqrt(3.0)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_activations_grow_no_faster_than_their_argument_or_are_bounded(sigma: net.Activation, radius: float) -> None:
    node = net.activation(net.tokens(3, 5.0, positions=2), sigma)
    assert net.analyse(node).signals[node].radius.value == pytest.approx(radius)
    small = net.activation(net.tokens(3, 0.1, positions=2), sigma)
    # A sigmoid is 1/2 at zero: small inputs do not make it small.
    expected = math.sqrt(3.0) if sigma is net.SIGMOID else 0.1
    assert net.analyse(small).signals[small].radius.value == pytest.approx(expected)


def smooth(name: str, x: mpmath.mpf) -> mpmath.mpf:
    if name == "gelu":
        return x / 2 * (1 + mpmath.erf(x / mpmath.sqrt(2)))
    if name == "silu":
        return x / (1 + mpmath.exp(-x))
    return x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)))


@pytest.mark.parametrize("sigma", [net.GELU, net.GELU_TANH, net.SILU], ids=lambda sigma: sigma.name)
def test_activation_constants_are_the_largest_slopes_rounded_up(sigma: net.Activation) -> None:
    with mpmath.workdps(40):
        slope = functools.partial(mpmath.diff, functools.partial(smooth, sigma.name))
        peak = mpmath.findroot(lambda x: mpmath.diff(slope, x), 2.4 if sigma.name == "silu" else 1.4)
        assert 0 <= mpmath.mpf(sigma.lipschitz) - slope(peak) < mpmath.mpf("1.1e-10")
    # The peak found is the global one.
    grid = np.linspace(-8.0, 8.0, 4001)
    values = {"gelu": gelu, "gelu_tanh": gelu_tanh, "silu": silu}[sigma.name](grid)
    assert np.max(np.abs(np.diff(values) / np.diff(grid))) <= sigma.lipschitz
    assert np.all(np.abs(values) <= np.abs(grid))

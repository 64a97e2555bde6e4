"""From a description (TOML, or a dictionary of the same shape) to a `Network`. The schema is in docs/compose.md.

Every key changes the network or is an error: one that does not belong where it stands, or that would change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.schema import NUMBERS, require_shape, tables
from certiformer.theory.core.toml_reader import read_toml
from certiformer.theory.networks.architecture import (
    ACTIVATIONS,
    Architecture,
    Attention,
    Block,
    Bounds,
    End,
    FeedForward,
    Half,
    Norm,
    Stated,
    Tables,
    Tokens,
    build,
)
from certiformer.theory.networks.network import Network, require
from certiformer.theory.networks.weights import Reference, Weight

NOT_LIPSCHITZ = {
    "moe": "top-k routing is not continuous at ties, so no weight error is small enough: two experts +-c jump by 2c; "
    "give the block `experts`, `chosen` and a `gap` to be counted, or no `chosen` for soft routing",
    "hard_attention": "an argmax over scores is not continuous at ties",
    "batch_norm": "statistics of the batch make one example's output depend on the others",
    "l2_norm": "x/||x|| is not Lipschitz at 0: use `unit` with a positive `least`",
}
_NOT_STATED = ("name", "shape", "reference", "proper_only", "cover", "copies", "alternatives")
_BOUNDS = (*(field.name for field in fields(Weight) if field.name not in _NOT_STATED), "reference")
_TOP = ("name", "samples", "radii", "origin", "tokens", "embedding", "weights", "blocks", "readout", "loss")
_ATTENTION = ("heads", "key_heads", "head_dimension", "scale", "rotary", "cap", "alibi", "qk_norm", "merged")
_FEED_FORWARD = ("activation", "hidden", "gated", "experts", "chosen", "gap")
_EITHER = ("kind", "repeat", "norm", "normalisation", "biases", "residual", "project", "tied", "weights")
_KEYS = {
    "transformer": (*_ATTENTION, *_FEED_FORWARD, *_EITHER),
    "attention": (*_ATTENTION, *_EITHER),
    "feed_forward": (*_FEED_FORWARD, *_EITHER),
}
MOST_BLOCKS = 1_000
_NUMBERS = tables({"type": "number"})
_WEIGHTS = tables(
    {**_NUMBERS, "properties": {"blocks": NUMBERS, "reference": {**_NUMBERS, "properties": {"blocks": NUMBERS}}}}
)
_BLOCK = {**tables(), "properties": {"weights": _WEIGHTS}}
_SHAPE = {"properties": {"radii": NUMBERS, "weights": _WEIGHTS, "blocks": {"type": "array", "items": _BLOCK}}}
_NORM = {
    "layer_norm": ("kind", "eps", "trained", "floor", "shift"),
    "rms_norm": ("kind", "eps", "trained", "floor"),
    "projection": ("kind", "radius"),
}


def load(path: str | Path) -> Network:
    """A network from a TOML file."""
    path = Path(path)
    return network({"name": path.stem, **read_toml(path)})


def network(description: Mapping[str, Any]) -> Network:
    """A network from a description."""
    require(description, _TOP, "network")
    require_shape(dict(description), _SHAPE, "network")
    source = _source(description)
    blocks, own = _blocks(description, source.dimension)
    architecture = Architecture(source.dimension, source, tuple(blocks), _end(description, source))
    weights = Stated(_bounds(description.get("weights", {}), "weights"), own)
    output = build(architecture, weights).output
    _all_read(weights)
    samples = description.get("samples")
    return Network(
        str(description.get("name", "network")),
        output,
        None if samples is None else _count(description, "samples"),
        tuple(float(eps) for eps in description.get("radii", (1.0, 0.1, 0.01))),
        _choice(description, "origin", "stated", ("stated", "assumed", "measured")),
    )


# --- weights -------------------------------------------------------------------------------------------------------


def _bounds(given: Mapping[str, Mapping[str, Any]], where: str) -> Bounds:
    """The bounds of every role as fields of `Weight`."""
    found = {}
    for role, own in given.items():
        place = f"{where}.{role}"
        values = {key: tuple(value) if key == "blocks" else value for key, value in own.items()}
        require(values, _BOUNDS, place)
        if "blocks" in values and role != "output":
            raise InputError(f"{place}.blocks", values["blocks"], "norms of column blocks of `output` only")
        if "reference" in values:
            centre = own["reference"]
            require(centre, ("spectral", "max_row", "blocks"), f"{place}.reference")
            if "spectral" not in centre:
                raise InputError(f"{place}.reference", centre, "its spectral norm: reference = { spectral = ... }")
            values["reference"] = Reference(**{**centre, "blocks": tuple(centre.get("blocks", ()))})
        found[role] = values
    return found


def _all_read(weights: Stated) -> None:
    """Bounds that no weight has are a mistake: the class is not the one that was meant."""
    stated = {("", role) for role in weights.bounds}
    stated |= {(block, role) for block, bounds in weights.own.items() for role in bounds}
    for block, role in sorted(stated - weights.read):
        where = "weights" if not block else f"weights of block {block}"
        raise InputError(f"{where}.{role}", "stated", "a role that a weight of this network has", "Take it out")


# --- the two ends ----------------------------------------------------------------------------------------------------


def _source(description: Mapping[str, Any]) -> Tokens | Tables:
    if ("tokens" in description) == ("embedding" in description):
        raise InputError("network", "its source", "either [tokens] (fixed) or [embedding] (a trained table)")
    if "tokens" in description:
        given = _table(description["tokens"], "tokens")
        require(given, ("dimension", "positions", "radius", "half_diameter", "l1", "sup"), "tokens")
        sizes = {name: _number(given, name) for name in ("half_diameter", "l1", "sup") if name in given}
        radius = _number(given, "radius", math.inf)
        return Tokens(_count(given, "dimension"), _count(given, "positions"), radius, **sizes)
    given = _table(description["embedding"], "embedding")
    require(given, ("dimension", "positions", "entries", "learned_positions", "scale", "normalisation"), "embedding")
    positions = _count(given, "positions")
    entries = {"word": _count(given, "entries")}
    if _flag(given, "learned_positions"):
        entries["position"] = positions
    norm = _norm(given["normalisation"]) if "normalisation" in given else None
    return Tables(_count(given, "dimension"), positions, entries, _number(given, "scale", 1.0), norm)


def _end(description: Mapping[str, Any], source: Tokens | Tables) -> End:
    given = _table(description.get("readout", {}), "readout")
    require(given, ("pool", "classes", "bias", "cap", "normalisation", "tied"), "readout")
    classes, tied = _count(given, "classes", 1), _flag(given, "tied")
    if classes == 1 and "cap" in given:
        raise InputError("readout.cap", given["cap"], "several classes: one output has no logits to cap")
    if tied and not (isinstance(source, Tables) and source.entries["word"] == classes):
        raise InputError("readout.tied", True, "[embedding] with as many entries as there are classes")
    loss = None
    if "loss" in description:
        told = _table(description["loss"], "loss")
        require(told, ("lipschitz", "bound"), "loss")
        loss = (_number(told, "lipschitz", 1.0), _number(told, "bound", math.inf))
    elif classes > 1:
        raise InputError("loss", None, "a loss for several classes", "Add [loss] with lipschitz and bound")
    return End(
        norm=_norm(given["normalisation"]) if "normalisation" in given else None,
        pool=_choice(given, "pool", "cls", ("cls", "last", "mean", "max", "none"), "readout."),
        role="word" if tied else "readout",
        classes=classes,
        bias="readout.bias" if _flag(given, "bias") else "",
        cap=_number(given, "cap", math.inf),
        loss=loss,
    )


# --- blocks ----------------------------------------------------------------------------------------------------------


def _block(given: Mapping[str, Any], label: str, width: int) -> Block:
    kind = given.get("kind", "transformer")
    halves: list[Half] = []
    place = _choice(given, "norm", "none", ("pre", "post", "both", "none"), "blocks.")
    norm = _norm(given["normalisation"]) if "normalisation" in given else None
    if norm is not None and place == "none" and not _flag(given, "qk_norm"):
        fix = 'Add norm = "pre", "post" or "both", or take the table out'
        raise InputError("blocks.normalisation", given["normalisation"], "a place for it", fix)
    placed = norm or Norm(shift=True)
    before = placed if place in ("pre", "both") else None
    inside, after = placed if place == "both" else None, placed if place == "post" else None
    if kind != "feed_forward":
        attention = _attention(given, width, norm or (placed if place != "none" else None))
        halves.append(Half(attention, before, inside, after))
    if kind != "attention":
        halves.append(Half(_feed_forward(given, width), before, inside, after))
    return Block(label, tuple(halves), residual=_flag(given, "residual", True), project=_flag(given, "project"))


def _attention(given: Mapping[str, Any], width: int, norm: Norm | None) -> Attention:
    heads = _count(given, "heads", 1)
    key_heads = _count(given, "key_heads", heads)
    if "head_dimension" not in given and width % heads:
        raise InputError("blocks.heads", heads, f"a count that divides the width {width}", "Or give head_dimension")
    size = _count(given, "head_dimension", max(1, width // heads))
    capped, alibi = "cap" in given, _choice(given, "alibi", "", ("", "fixed", "trained"), "blocks.")
    if alibi == "fixed" and not capped:
        raise InputError("blocks.alibi", alibi, "a cap beside it: alone, what is fixed changes no number here")
    qk_norm, merged = _flag(given, "qk_norm"), _flag(given, "merged")
    if qk_norm and (norm or Norm("rms_norm")).kind != "rms_norm":
        why = "queries and keys have norms without shifts here"
        raise InputError("blocks.qk_norm", True, 'normalisation.kind = "rms_norm" beside it', why)
    for key in ("rotary", "biases", "qk_norm", "cap", "alibi") if merged else ():
        if given.get(key) not in (None, False):
            raise InputError(f"blocks.{key}", given[key], "separate matrices: `merged` has no rule with it")
    biases = ("query", "key", "value", "output") if _flag(given, "biases") else ()
    return Attention(
        heads=heads,
        key_heads=key_heads,
        head_dimension=size,
        scale=_number(given, "scale", 1.0 / math.sqrt(size)),
        rotary=_flag(given, "rotary"),
        cap=_number(given, "cap", math.inf),
        alibi=alibi,
        norm=(norm or Norm("rms_norm", eps=1e-6)) if qk_norm else None,
        merged=merged,
        biases=biases,
    )


def _feed_forward(given: Mapping[str, Any], width: int) -> FeedForward:
    name = _choice(given, "activation", "gelu", tuple(sorted(ACTIVATIONS)), "blocks.")
    gated, experts = _flag(given, "gated"), 0
    if "experts" in given:
        experts = _count(given, "experts")
    for key, needs in (("chosen", "experts"), ("gap", "chosen")):
        if key in given and needs not in given:
            raise InputError(f"blocks.{key}", given[key], f"`{needs}` beside it")
    chosen = _count(given, "chosen", max(1, experts))
    if "gap" in given and chosen == experts:
        raise InputError("blocks.gap", given["gap"], "fewer chosen than experts: soft routing has no gap")
    return FeedForward(
        hidden=_count(given, "hidden", 4 * width),
        activation=name,
        gated=gated,
        biases=("gate", "up", "down") if _flag(given, "biases") else (),
        experts=experts,
        chosen=chosen if experts else 0,
        gap=_number(given, "gap", 0.0),
    )


def _blocks(description: Mapping[str, Any], width: int) -> tuple[list[Block], dict[str, Bounds]]:
    """The blocks one by one, and the bounds that some of them state themselves."""
    found: list[Block] = []
    own: dict[str, Bounds] = {}
    for index, given in enumerate(description.get("blocks", [])):
        kind = _kind(given, "transformer")
        if kind not in _KEYS:
            raise InputError("blocks.kind", kind, "transformer, attention or feed_forward")
        require(given, _KEYS[kind], f"blocks[{index}]")
        repeat = _count(given, "repeat", 1)
        if len(found) + repeat > MOST_BLOCKS:
            raise InputError("blocks.repeat", repeat, f"at most {MOST_BLOCKS:,} blocks in all")
        for _ in range(repeat):
            block = _block(given, f"tied{index}" if _flag(given, "tied") else str(len(found)), width)
            found.append(block)
            if "weights" in given:
                own[block.label] = _bounds(given["weights"], f"blocks[{index}].weights")
    return found, own


def _kind(given: Mapping[str, Any], default: str) -> Any:
    kind = given.get("kind", default)
    if not isinstance(kind, str):
        raise InputError("kind", kind, "a word")
    if kind in NOT_LIPSCHITZ:
        raise InputError("kind", kind, "a layer that is Lipschitz", NOT_LIPSCHITZ[kind])
    return kind


def _norm(given: Any) -> Norm:
    kind = _kind(_table(given, "normalisation"), "layer_norm")
    if kind not in _NORM:
        raise InputError("normalisation.kind", kind, "layer_norm, rms_norm or projection")
    require(given, _NORM[kind], f"normalisation of kind {kind}")
    trained = _flag(given, "trained", kind != "projection")
    if "shift" in given and not trained:
        raise InputError("normalisation.shift", given["shift"], "trained = true: otherwise there is no shift")
    return Norm(
        kind,
        eps=_number(given, "eps", 1e-5),
        gain=trained,
        shift=kind == "layer_norm" and trained and _flag(given, "shift", True),
        floor=_number(given, "floor", 0.0),
        radius=_number(given, "radius", 1.0),
    )


# --- values ----------------------------------------------------------------------------------------------------------


def _table(given: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(where, given, "a table")
    return given


def _count(given: Mapping[str, Any], key: str, default: int | None = None) -> int:
    value = given.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(key, value, "a count, at least 1")
    return value


def _number(given: Mapping[str, Any], key: str, default: float | None = None) -> float:
    value = given.get(key, default)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or math.isnan(value):
        raise InputError(key, value, "a number")
    return float(value)


def _flag(given: Mapping[str, Any], key: str, default: bool = False) -> bool:
    value = given.get(key, default)
    if not isinstance(value, bool):
        raise InputError(key, value, "true or false")
    return value


def _choice(given: Mapping[str, Any], key: str, default: str, names: Sequence[str], where: str = "") -> Any:
    value = given.get(key, default)
    if value not in names:
        raise InputError(f"{where}{key}", value, f"one of {', '.join(name for name in names if name)}")
    return value

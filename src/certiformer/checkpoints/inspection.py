"""What theory says of a checkpoint: the sizes of every tensor, the sensitivity of every layer, what n would be needed.

`inspect` gives a document (the JSON contract of `certiformer inspect --json`); tables, pages and figures are drawn
from it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from certiformer.checkpoints.adapters import Adapter, is_adapter, read_adapter
from certiformer.checkpoints.cache import Cache
from certiformer.checkpoints.checkpoint_error import CheckpointError, NoNetwork, shown
from certiformer.checkpoints.families import Row
from certiformer.checkpoints.measuring import Measurer, Progress
from certiformer.checkpoints.network_builder import Model, Tensors, told
from certiformer.checkpoints.parts import whole
from certiformer.checkpoints.readers import open_checkpoint
from certiformer.checkpoints.roles import Assigned, Roles, assign
from certiformer.checkpoints.tensors import Tensor
from certiformer.checkpoints.violations import facts, violations
from certiformer.theory import networks
from certiformer.theory.core.bound import json_number
from certiformer.theory.core.report import Report, Reported, Statement
from certiformer.theory.core.rounding import power_of_ten
from certiformer.theory.networks import Analysis
from certiformer.theory.networks.architecture import Architecture, Built, Patches, Tokens

LN10 = math.log(10.0)
UNKNOWN = Row("", "not recognised", "bare")
SCALES = (0.05, 0.25)
"""Radii (in units of a loss in [0, 1]) at which the cover is tried for the number of examples."""
QUARTER = 0.25
"""The radius of a cover for a loss in [0, 1] at margin 1 and two classes or a ramp."""
PRICE = "the norms were read off these weights: a bound on this very model pays for that choice too (strata)"


@dataclass(frozen=True, slots=True)
class Options:
    """What no file says, and where the class is centred (`reference`) or only compared with (`against`)."""

    reference: Path | None = None
    against: Path | None = None
    base: Path | None = None
    heads: int | None = None
    activation: str | None = None
    norm_first: bool | None = None
    input_radius: float | None = None
    assume_unused: tuple[str, ...] = ()
    """Tensors (names or patterns) and keys of config.json that play no part: a hypothesis of the caller."""
    cache: bool = True

    @property
    def given(self) -> dict[str, Any]:
        """What the caller said about the architecture, to fill what the files leave out."""
        names = ("heads", "activation", "norm_first", "input_radius")
        return {name: getattr(self, name) for name in names}


class Inspection(Reported, dict[str, Any]):
    """The document of one checkpoint, as `certiformer inspect --json` prints it, and the report about it."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """What the number of examples rests on."""
        unused = self["assumed_unused"]
        said = (f"these play no part: {', '.join(unused)}",) if unused else ()
        return (*said, *(self["remarks"] if self["no_network"] is None else ()))

    @property
    def report(self) -> Report:
        """How many examples the covering bound of this class needs, as a statement; none where there is no network."""
        name, missing = Path(self["path"]).name, self["no_network"]
        needed = self["log10_n_needed"]
        log10 = None if needed is None else math.inf if needed == "inf" else float(needed)
        about = f"{name} ({self['title']}, {self['parameters']:,} parameters)"
        if log10 is None:
            headline = f"{about}: sizes only, no network, because {missing}"
        else:
            unused, moved = self["assumed_unused"], "of fine-tuned models as far from the reference"
            said = f", if {', '.join(unused)} play no part" if unused else ""
            kind = moved if self["reference"] else "of networks of these norms"
            count = "infinitely many" if log10 == math.inf else power_of_ten(log10)
            headline = f"{about}{said}: the covering bound of the class {kind} needs {count} examples"
        only = Statement(
            id="inspect",
            title="Examples that the covering bound needs",
            bounds="examples",
            log10=log10,
            verdict="does not apply" if log10 is None else "informative",
            subject="the class of networks with these norms",
            quantity="number of examples from which the covering bound is below the trivial one",
            dominating=self["dominating"] or "",
            reason=missing or "",
        )
        unknown = self["not_recognised"]
        return Report(
            title=name,
            headline=headline,
            statements=(only,),
            decisive=None if log10 is None else "inspect",
            summary=f"{len(self['tensors'])} tensors and {len(self['layers'])} layers were measured.",
            conditions=self.conditions,
            not_checked=(f"{len(unknown)} tensors that were not recognised",) if unknown else (),
        )


def inspect(path: str | Path, options: Options | None = None, progress: Progress | None = None) -> Inspection:
    """What theory says of one checkpoint: a document of its tensors and layers, with a report."""
    chosen = options or Options()
    measurer = Measurer(Cache("norms", kept=chosen.cache), progress)
    target = Path(path)
    adapter: Adapter | None = None
    if is_adapter(target):
        adapter = read_adapter(target, chosen.base)
        roles = assign(adapter.merged)
    else:
        roles = assign(open_checkpoint(target))
    centre = None if chosen.reference is None else assign(open_checkpoint(chosen.reference))
    if adapter is not None and centre is None:
        centre = assign(adapter.base)
    compared = centre if chosen.against is None else assign(open_checkpoint(chosen.against))
    return Inspection(_document(roles, centre, compared, adapter, chosen, measurer))


def _document(
    roles: Roles,
    centre: Roles | None,
    compared: Roles | None,
    adapter: Adapter | None,
    options: Options,
    measurer: Measurer,
) -> dict[str, Any]:
    checkpoint = roles.checkpoint
    known = [one for one in roles.assigned if one.role != "buffer" and one.tensor.real]
    unknown = [Assigned(tensor, "not recognised", None, UNKNOWN) for tensor in roles.unknown if tensor.real]
    listed = sorted([*known, *unknown], key=_order)
    measurer.work = sum(_work(one.tensor) for one in listed)
    tensors = [_tensor(one, measurer, compared) for one in listed]
    document: dict[str, Any] = {
        "path": str(checkpoint.path),
        "format": checkpoint.format,
        "family": None if roles.family is None else roles.family.key,
        "title": "not recognised" if roles.family is None else roles.family.title,
        "parameters": _parameters(listed),
        "reference": None if centre is None else str(centre.checkpoint.path),
        "tensors": tensors,
        "not_recognised": [shown(tensor.name) for tensor in roles.unknown],
        "buffers": [shown(one.tensor.name) for one in roles.assigned if one.role == "buffer"],
        "layers": [],
        "violations": [],
        "log10_coefficient": None,
        "log10_n_needed": None,
        "dominating": None,
        "shares": [],
        "assumed_unused": [],
        "no_network": None,
        "remarks": [*checkpoint.remarks],
    }
    try:
        model = Model.of(roles, options.given, options.assume_unused)
        around = None if centre is None else _centre(centre, roles, options)
        ranks = {} if adapter is None or options.reference is not None else adapter.ranks

        def analysed(*, fused: bool) -> tuple[Built, Tensors, Analysis]:
            built, weights = model.build(
                measurer, fused=fused, centre=None if around is None else around.parts, ranks=ranks
            )
            return built, weights, networks.analyse(built.output)

        built, weights, analysis = analysed(fused=False)
        if ranks and model.architecture.first[0].norm is None:
            # A rank counts once for all heads together: usually cheaper than once per head.
            together = analysed(fused=True)
            if together[2].log_size(QUARTER) < analysis.log_size(QUARTER):
                built, weights, analysis = together
    except NoNetwork as error:
        document["no_network"] = f"{error.problem}. {error.fix}" if error.fix else error.problem
        return document
    document |= _network(model.architecture, built, weights, analysis)
    document["settings"] = _settings(model.architecture)
    document["violations"] = violations(facts(model.architecture))
    everything = [*checkpoint.tensors, *map(str, checkpoint.config)]
    document["assumed_unused"] = [
        shown(name) for name in options.assume_unused if any(fnmatchcase(one, name) for one in everything)
    ]
    document["remarks"] += [*_inputs(model.architecture), told(model.architecture.end), PRICE]
    if adapter is not None:
        document["adapter"] = adapter.as_json(analysis.log_size(QUARTER))
    return document


def _centre(centre: Roles, roles: Roles, options: Options) -> Model:
    if centre.family is not roles.family:
        other, own = ("none" if family is None else family.key for family in (centre.family, roles.family))
        raise CheckpointError(centre.checkpoint.path, f"the reference is of family {other}, not {own}")
    return Model.of(centre, options.given, options.assume_unused)


def _settings(it: Architecture) -> dict[str, Any]:
    attention, feed_forward = it.first
    norms = [norm for half in it.blocks[0].halves for norm in (half.before, half.after) if norm is not None]
    return {
        "layers": len(it.blocks),
        "heads": attention.heads,
        "key_heads": attention.key_heads,
        "positions": it.source.positions,
        "eps": norms[0].eps,
        "activation": feed_forward.activation,
        "normalisation": "after" if it.blocks[0].halves[1].after else "before",
    }


def _inputs(it: Architecture) -> list[str]:
    """What is taken for granted about inputs that are not looked up in a table."""
    if isinstance(it.source, Tokens):
        return [f"input tokens of norm at most {it.source.radius:g} (not in the file; --input-radius changes it)"]
    if isinstance(it.source, Patches):
        return [f"patches of norm at most {it.source.radius:g}: pixels in [-1, 1] (--input-radius changes it)"]
    return []


def _network(it: Architecture, built: Built, weights: Tensors, analysis: Analysis) -> dict[str, Any]:
    layers = []
    scores = {block.label: weights.scores(block) for block in it.blocks}
    for index, (stated, block) in enumerate(zip(it.blocks, built.blocks, strict=True)):
        before, middle, after = (
            analysis.sensitivity(node).ln / LN10 for node in (block.before, block.middle, block.after)
        )
        layers.append(
            {
                "index": index,
                "lipschitz_log10": before - after,
                "attention_log10": before - middle,
                "feed_forward_log10": middle - after,
                "sensitivity_log10": before,
                "score_norms": list(scores[stated.label]),
            }
        )
    shares = _shares(analysis, weights.roles)
    return {
        "layers": layers,
        "log10_coefficient": json_number(_ln_reach(analysis) / LN10),
        "log10_n_needed": json_number(_log10_examples(analysis)),
        "log10_ln_cover": json_number(math.log10(max(1e-300, analysis.log_size(QUARTER)))),
        "sensitivity_log10": analysis.sensitivity(built.embedded).ln / LN10,
        "dominating": shares[0]["role"] if shares else None,
        "shares": shares,
    }


def _log10_examples(analysis: Analysis) -> float:
    r"""The n from which 2 Rad_n < 1 for a loss in [0, 1], by one scale of the (proper) cover.

    Rad_n <= eps + r sqrt(2 ln N(eps)/n), r = 1/2 the range, so n > 2 ln N(eps)/(1 - 2 eps)^2 will do.
    """
    best = math.inf
    for eps in SCALES:
        nats = analysis.log_size(eps)
        if nats <= 0.0:
            return 0.0
        best = min(best, math.log10(2.0 * nats) - 2.0 * math.log10(1.0 - 2.0 * eps))
    return max(0.0, best)


def _ln_reach(analysis: Analysis) -> float:
    """ln of the sum over weights of sensitivity times radius: how far the class reaches, however small its range is."""
    reaches = [term.ln_reach for term in analysis.terms if math.isfinite(term.ln_reach)]
    top = max(reaches, default=-math.inf)
    return top + math.log(math.fsum(math.exp(reach - top) for reach in reaches)) if reaches else top


def _shares(analysis: Analysis, roles: Mapping[str, str]) -> list[dict[str, Any]]:
    """Who pays: nats by role when every parameter gets the same share of the error budget 1/4."""
    entries = [term for term in analysis.terms if math.isfinite(term.ln_reach)]
    counts = {term.name: float(term.cover.parameters) for term in entries}
    total = sum(count for count in counts.values() if math.isfinite(count))
    nats: dict[str, float] = {}
    decades: dict[str, float] = {}
    for term in entries:
        count = counts[term.name]
        if not (0 < count < math.inf):
            continue
        role = roles.get(term.name, term.name)
        ln_eps = math.log(0.25) + math.log(count / total) - term.ln_beta
        nats[role] = nats.get(role, 0.0) + term.cover.log_size_ln(ln_eps)
        decades[role] = max(decades.get(role, -math.inf), term.ln_beta / LN10)
    paid = sum(nats.values()) or 1.0
    return [
        {"role": role, "share": value / paid, "log10_coefficient": json_number(decades[role])}
        for role, value in sorted(nats.items(), key=lambda item: -item[1])
    ]


def _tensor(one: Assigned, measurer: Measurer, other: Roles | None) -> dict[str, Any]:
    part = whole(one)
    found = measurer.sizes(part)
    measurer.tick(_work(one.tensor), shown(one.tensor.name))
    entry: dict[str, Any] = {
        "name": shown(one.tensor.name),
        "role": one.role,
        "layer": one.layer,
        "shape": list(one.tensor.shape),
        "dtype": one.tensor.dtype,
        "spectral": json_number(found.spectral),
        "spectral_below": json_number(found.spectral_below),
        "frobenius": json_number(found.frobenius),
        "norm_21": json_number(found.norm_21),
        "norm_21_rows": json_number(found.norm_21_rows),
        "norm_11": json_number(found.norm_11),
        "stable_rank": json_number(found.stable_rank),
    }
    there = None if other is None else other.get(one.role, one.layer)
    if there is not None and there.tensor.shape == one.tensor.shape:
        moved = measurer.difference(part, whole(there))
        entry["moved_spectral"] = json_number(moved.spectral)
        entry["moved_frobenius"] = json_number(moved.frobenius)
    return entry


def _parameters(listed: Sequence[Assigned]) -> int:
    """Entries of all weights; tensors that share their storage count once."""
    distinct = {one.tensor.storage or (one.tensor.name,): one.tensor.size for one in listed}
    return sum(distinct.values())


def _work(tensor: Tensor) -> float:
    short = min(tensor.shape[0], tensor.size // max(1, tensor.shape[0])) if len(tensor.shape) > 1 else 1
    return float(tensor.size) * (short + 64)


def _order(one: Assigned) -> tuple[Any, ...]:
    pieces = re.split(r"(\d+)", one.tensor.name)
    natural = tuple((0, int(piece), "") if piece.isdigit() else (1, 0, piece) for piece in pieces)
    return (one.role == "not recognised", one.layer is not None, one.layer or 0, natural)

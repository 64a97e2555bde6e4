"""What theory says of checkpoints: terminal tables, CSV, the page and the figure per layer, all from the document."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape
from rich.console import Group, RenderableType
from rich.markup import escape as plain
from rich.table import Table
from rich.text import Text

from certiformer.report.numbers import short
from certiformer.report.page import environment
from certiformer.theory.core.csv_writer import csv_text
from certiformer.theory.core.rounding import decimals, outward, power_of_ten

if TYPE_CHECKING:
    from certiformer.checkpoints.inspection import Inspection

Document = Mapping[str, Any]
COLUMNS = (
    "name",
    "role",
    "layer",
    "shape",
    "dtype",
    "spectral",
    "spectral_below",
    "frobenius",
    "norm_21",
    "norm_21_rows",
    "norm_11",
    "stable_rank",
    "moved_spectral",
    "moved_frobenius",
)
IN_LAYERS = ("query", "key", "value", "qkv", "output", "gate", "up", "gate_up", "down")
DECADES = ("attention_log10", "feed_forward_log10", "lipschitz_log10")
PAPERS = {"trauger": "Trauger", "li": "Li", "mwigo": "Mwigo", "deora": "Deora", "arda": "Arda"}


def inspection_table(document: Inspection, *, tensors: bool = False) -> RenderableType:
    """The headline, a row per layer, totals, what dominates, and what no theorem covers."""
    parts: list[RenderableType] = [Text(document.report.headline, "bold"), Text(_facts(document), "dim")]
    if document["layers"]:
        parts.append(_layer_table(document))
        parts += [Text(line) for line in totals(document)]
    if tensors or not document["layers"]:
        parts.append(_tensor_table(document["tensors"]))
    if document.get("adapter"):
        parts.append(Text(adapter_price(document["adapter"])))
    if document["not_recognised"]:
        parts.append(Text(f"not recognised: {', '.join(document['not_recognised'])}", "yellow"))
    if document["violations"]:
        parts.append(Text(broken(document), "dim"))
    parts += [Text(f"note: {remark}", "dim") for remark in document["remarks"]]
    return Group(*parts)


def _facts(document: Document) -> str:
    settings = document.get("settings")
    about = f"{document['path']} ({document['format']})"
    if not settings:
        return about
    shared = f" sharing {settings['key_heads']} keys" if settings["key_heads"] != settings["heads"] else ""
    return (
        f"{about}; {settings['layers']} layers, {settings['heads']} heads{shared}, {settings['activation']}, "
        f"norms {settings['normalisation']} each half, eps {settings['eps']:.3g}, {settings['positions']} positions"
    )


def _layer_table(document: Document) -> Table:
    """Spectral norms by role, the largest W_QK of a head, log10 of sensitivity: one row per layer."""
    rows = _layers(document)
    roles = [role for role in IN_LAYERS if any(role in norms for _, norms, _ in rows)]
    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="bold",
        caption="spectral norms; W_QK: the largest of a head; log10 of the sensitivity: attention, feed-forward, layer",
        caption_justify="left",
    )
    for name in ("layer", *roles, "W_QK", "att", "ff", "layer"):
        table.add_column(name, justify="right", no_wrap=True)
    for layer, norms, told in rows:
        table.add_row(
            str(layer["index"]),
            *(_three(norms.get(role)) for role in roles),
            _three(told["W_QK"]),
            *(f"{decimals(told[name], 2):.2f}" for name in DECADES),
        )
    return table


def _layers(document: Document) -> list[tuple[Mapping[str, Any], dict[str, Any], dict[str, Any]]]:
    """Each layer with its spectral norms by role, with W_QK and sensitivity; layers that share weights repeat them."""
    by_layer: dict[int, dict[str, Any]] = {}
    for tensor in document["tensors"]:
        if tensor["layer"] is not None:
            by_layer.setdefault(tensor["layer"], {})[tensor["role"]] = tensor["spectral"]
    distinct, rows = len(by_layer), []
    for layer in document["layers"]:
        index = layer["index"]
        norms = by_layer[index if index < distinct else 0] if distinct else {}
        named = {role: norms[role] for role in IN_LAYERS if role in norms}
        told = {"W_QK": max(layer["score_norms"], default=0.0), **{name: layer[name] for name in DECADES}}
        rows.append((layer, named, told))
    return rows


def totals(document: Document) -> list[str]:
    """The network as a whole, in words."""
    shares = document["shares"][:4]
    paid = ", ".join(f"{share['role']} {100 * share['share']:.0f} %" for share in shares)
    grows = (
        f"from the embedding to the output an error grows at most {power_of_ten(document['sensitivity_log10'])} times"
    )
    return [
        f"{grows}; the class reaches 10^{_decades(document['log10_coefficient'])}",
        f"its cover at radius 1/4 has 10^{_decades(document['log10_ln_cover'])} nats, paid for {paid}",
    ]


def broken(document: Document) -> str:
    """The papers' theorems that do not apply, with the first hypothesis that fails."""
    first: dict[str, str] = {}
    for entry in document["violations"]:
        first.setdefault(entry["id"], entry["hypothesis"])
    papers: dict[str, int] = {}
    for id in first:
        papers[id.split(".")[0]] = papers.get(id.split(".")[0], 0) + 1
    counted = ", ".join(f"{PAPERS.get(name, name)} {count}" for name, count in papers.items())
    reasons = dict.fromkeys(entry["hypothesis"] for entry in document["violations"])
    return f"no paper's theorem applies ({counted}): " + "; ".join(reasons)


def _tensor_table(tensors: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    moved = any("moved_spectral" in tensor for tensor in tensors)
    table.add_column("tensor", overflow="fold")
    table.add_column("role")
    names = ("shape", "spectral", "Frobenius", "(2,1)", "rows (2,1)", "(1,1)", "stable rank")
    for name in (*names, *(("moved", "moved F") if moved else ())):
        table.add_column(name, justify="right", no_wrap=True)
    for tensor in tensors:
        cells = [
            "x".join(map(str, tensor["shape"])),
            *(
                _short(tensor[name])
                for name in ("spectral", "frobenius", "norm_21", "norm_21_rows", "norm_11", "stable_rank")
            ),
        ]
        if moved:
            cells += [_short(tensor.get("moved_spectral")), _short(tensor.get("moved_frobenius"))]
        table.add_row(plain(tensor["name"]), tensor["role"], *cells)
    return table


def adapter_price(adapter: Mapping[str, Any]) -> str:
    """What the class of such adapters costs, and what n would do; in words that call nothing certified."""
    updates = adapter["updates"]
    ranks = sorted({row["rank"] for row in updates})
    return (
        f"adapter: {len(updates)} weights of rank {' or '.join(map(str, ranks))}, {adapter['parameters']:,} parameters "
        f"around the base: {adapter['nats']:,.0f} nats at radius 1/4, {adapter['nats_per_parameter']:.1f} for each. "
        f"A covering certificate would need about n = {adapter['n_that_would_do']:,}; "
        "nothing is certified here"
    )


def comparison(documents: Sequence[Document]) -> list[dict[str, Any]]:
    """Roles side by side: the largest spectral norm of each, and what moved from the first checkpoint."""
    rows: dict[str, dict[str, Any]] = {}
    for at, document in enumerate(documents):
        for tensor in document["tensors"]:
            row = rows.setdefault(
                tensor["role"],
                {"role": tensor["role"], "spectral": [None] * len(documents), "moved": [None] * len(documents)},
            )
            row["spectral"][at] = _largest(row["spectral"][at], tensor["spectral"])
            if tensor.get("moved_spectral") is not None:
                row["moved"][at] = _largest(row["moved"][at], tensor["moved_spectral"])
    return list(rows.values())


def _largest(known: Any, value: Any) -> Any:
    if not isinstance(value, float) or known is None:
        return value
    return max(known, value) if isinstance(known, float) else known


def comparison_table(documents: Sequence[Document]) -> RenderableType:
    """A column per checkpoint: totals, then the largest norm per role and how far it moved from the first."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    names = [str(document["path"]).rstrip("/").split("/")[-1] for document in documents]
    for name in names:
        table.add_column(plain(name), justify="right", overflow="fold")
    table.add_row("family", *(str(document["family"]) for document in documents))
    table.add_row("parameters", *(f"{document['parameters']:,}" for document in documents))
    for title, key in (("log10 sensitivity", "sensitivity_log10"), ("log10 examples needed", "log10_n_needed")):
        table.add_row(title, *(_short(document.get(key)) for document in documents))
    for row in comparison(documents):
        cells = [
            _short(norm) + (f" (moved {_short(moved)})" if at and moved is not None else "")
            for at, (norm, moved) in enumerate(zip(row["spectral"], row["moved"], strict=True))
        ]
        table.add_row(f"largest {row['role']}", *cells)
    return Group(Text("side by side: largest spectral norm of each role", "bold"), table)


def tensor_rows(documents: Sequence[Document]) -> list[dict[str, Any]]:
    """One row per tensor, all checkpoints."""
    rows = []
    for document in documents:
        for tensor in document["tensors"]:
            cells = {**tensor, "shape": "x".join(map(str, tensor["shape"]))}
            rows.append({"path": document["path"], **{name: cells.get(name) for name in COLUMNS}})
    return rows


def layer_rows(documents: Sequence[Document]) -> list[dict[str, Any]]:
    """One row per layer, all checkpoints: spectral norms by role, the largest W_QK of a head, sensitivities."""
    return [
        {"path": document["path"], "layer": layer["index"], **norms, **told}
        for document in documents
        for layer, norms, told in _layers(document)
    ]


def tensors_csv(documents: Sequence[Document]) -> str:
    """`tensor_rows` as comma-separated values."""
    return csv_text(tensor_rows(documents), ("path", *COLUMNS))


def checkpoint_page(documents: Sequence[Inspection]) -> str:
    """The page of one or several checkpoints."""
    views = [
        {
            "document": document,
            "headline": document.report.headline,
            "facts": _facts(document),
            "totals": totals(document) if document["layers"] else [],
            "figure": layer_figure(document) if document["layers"] else "",
            "broken": broken(document) if document["violations"] else "",
            "adapter": adapter_price(document["adapter"]) if document.get("adapter") else "",
        }
        for document in documents
    ]
    compared = comparison(documents) if len(documents) > 1 else []
    return environment().get_template("checkpoint.html").render(views=views, compared=compared, short=_short)


ROW, LEFT, RIGHT, TOP, WIDTH = 18, 60, 130, 26, 720
ATTENTION, FEED_FORWARD = "#0072b2", "#d55e00"


def layer_figure(document: Document) -> Markup:
    """log10 of the sensitivity per layer: attention and feed-forward as the two parts of a bar."""
    layers = document["layers"]
    most = max(max(0.0, layer["lipschitz_log10"]) for layer in layers) or 1.0
    unit = (WIDTH - LEFT - RIGHT) / most
    height = TOP + ROW * len(layers) + 30
    title = escape("log10 of the sensitivity, per layer")
    box = f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}"'
    first, second = (
        f'<tspan fill="{colour}" font-weight="bold">{name}</tspan>'
        for colour, name in ((ATTENTION, "attention"), (FEED_FORWARD, "feed-forward"))
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" {box} font-family="sans-serif" font-size="12">',
        f'<text x="{LEFT}" y="14">log10 of the Lipschitz factor of each layer: {first}, then {second}</text>',
    ]
    step = max(1, math.ceil(most / 8))
    foot = TOP + ROW * len(layers)
    for tick in range(0, math.floor(most) + 1, step):
        x = LEFT + unit * tick
        parts.append(
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{foot}" stroke="#ccc"/>'
            f'<text class="tick" x="{x:.1f}" y="{foot + 15}" text-anchor="middle">{tick}</text>'
        )
    for at, layer in enumerate(layers):
        y = TOP + ROW * at + 3
        left, right = (unit * max(0.0, layer[name]) for name in ("attention_log10", "feed_forward_log10"))
        parts.append(
            f'<text x="{LEFT - 8}" y="{y + 10}" text-anchor="end">{layer["index"]}</text>'
            f'<rect x="{LEFT}" y="{y}" width="{left:.1f}" height="{ROW - 6}" fill="{ATTENTION}"/>'
            f'<rect x="{LEFT + left:.1f}" y="{y}" width="{right:.1f}" height="{ROW - 6}" fill="{FEED_FORWARD}"/>'
            f'<text x="{LEFT + left + right + 6:.1f}" y="{y + 10}">{decimals(layer["lipschitz_log10"], 2):.2f}</text>'
        )
    parts.append("</svg>")
    return Markup("".join(parts))


def _short(value: Any) -> str:
    if value is None:
        return "–"
    return short(outward(value, 5)) if isinstance(value, (int, float)) else str(value)


def _three(value: Any) -> str:
    """Three digits, rounded up as bounds are: a table of many columns fits a terminal."""
    if not isinstance(value, (int, float)) or value <= 0.0:
        return _short(value)
    return f"{outward(value, 3):.3g}"


def _decades(value: Any) -> str:
    return f"{decimals(value, 1):.1f}" if isinstance(value, float) else str(value)

"""Write the tables of docs/checkpoints.md: what theory says of real checkpoints, and a certified spam filter.

python tools/generate_checkpoints.py           fetches the material (examples/material.py) and measures
python tools/generate_checkpoints.py speed     one part: checkpoints, speed, spam, adapter
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from safetensors.numpy import save_file
from threadpoolctl import threadpool_limits

from certiformer import bound
from certiformer.checkpoints import Options, inspect, open_checkpoint
from certiformer.report.numbers import percent_up
from certiformer.theory.measure.spectral import spectral_norms

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "checkpoints.md"
ADAPTER = ROOT / "examples" / "spam_adapter.toml"
NAMES = {
    "minilm": "MiniLM-L6 (BERT, safetensors)",
    "albert": "rxnmapper (ALBERT, torch)",
    "smollm2": "SmolLM2 (GGUF Q4_1)",
}

UNUSED = {"minilm": ("pooler.*",), "albert": ("albert.pooler.*",)}
"""Heads that are in the files and not in the networks of the table."""


def material(name: str) -> Path:
    spec = importlib.util.spec_from_file_location("material", ROOT / "examples" / "material.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Path(module.fetch(name))


def checkpoints() -> list[str]:
    lines = [
        "| checkpoint | parameters | layers | largest W_QK | log10 per layer | sensitivity | examples needed |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, title in NAMES.items():
        document = inspect(material(name), Options(assume_unused=UNUSED.get(name, ())))
        layers = document["layers"]
        decades = [layer["lipschitz_log10"] for layer in layers]
        score = max(max(layer["score_norms"]) for layer in layers)
        lines.append(
            f"| {title} | {document['parameters']:,} | {len(layers)} | {score:.4g} | "
            f"{min(decades):.1f} to {max(decades):.1f} | 10^{document['sensitivity_log10']:.1f} | "
            f"10^{document['log10_n_needed']:.1f} |"
        )
    return lines


def bert_base(folder: Path) -> Path:
    """A file of the size and names of BERT-base, weights drawn at random."""
    rng = np.random.default_rng(0)
    width, inner = 768, 3072
    shapes = {
        "embeddings.word_embeddings.weight": (30522, width),
        "embeddings.position_embeddings.weight": (512, width),
        "embeddings.token_type_embeddings.weight": (2, width),
    }
    norms = ["embeddings.LayerNorm"]
    for n in range(12):
        at = f"encoder.layer.{n}."
        maps = {f"{at}attention.self.{part}": (width, width) for part in ("query", "key", "value")}
        maps |= {f"{at}attention.output.dense": (width, width), f"{at}intermediate.dense": (inner, width)}
        maps |= {f"{at}output.dense": (width, inner)}
        for name, shape in maps.items():
            shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
        norms += [f"{at}attention.output.LayerNorm", f"{at}output.LayerNorm"]
    tensors = {name: (0.04 * rng.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}
    for name in norms:
        tensors |= {f"{name}.weight": np.ones(width, np.float32), f"{name}.bias": np.zeros(width, np.float32)}
    config = {"model_type": "bert", "num_attention_heads": 12, "num_hidden_layers": 12, "hidden_act": "gelu"}
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def speed() -> list[str]:
    """Norms, and the whole of `inspect`, beside numpy's SVDs of the same matrices: one thread each.

    Threads that wait for each other on a busy machine use up processor time without doing anything.
    """
    with tempfile.TemporaryDirectory() as place, threadpool_limits(1, "blas"):
        folder = bert_base(Path(place))
        start = time.process_time()
        document = inspect(folder, Options(cache=False))
        ours = time.process_time() - start
        tensors = open_checkpoint(folder).tensors
        matrices = [tensors[one["name"]].array() for one in document["tensors"] if len(one["shape"]) == 2]
        norms = _seconds(lambda matrix: spectral_norms(matrix), matrices)
        values = _seconds(lambda matrix: np.linalg.svd(matrix.astype(np.float64), compute_uv=False), matrices)
        full = _seconds(lambda matrix: np.linalg.svd(matrix.astype(np.float64), full_matrices=False), matrices)
    what = f"A file of the size of BERT-base ({document['parameters']:,} parameters), processor time on one thread:"
    rows = {
        "numpy's SVDs of its matrices, values and vectors": full,
        "numpy's SVDs, values only": values,
        "our spectral norms of the same matrices, certified on both sides": norms,
        "the whole of `inspect`: all norms, per head too, W_QK, the network and its cover": ours,
    }
    lines = [what, "", "| | seconds | of the first |", "|---|---|---|"]
    return lines + [f"| {name} | {spent:.1f} | {100 * spent / full:.0f} % |" for name, spent in rows.items()]


def _seconds(compute: Callable[[Any], Any], matrices: list[Any]) -> float:
    start = time.process_time()
    for matrix in matrices:
        compute(matrix)
    return time.process_time() - start


def spam() -> list[str]:
    from certiformer.lab.probing.probe import probe

    # Embeddings anew, so that the time is that of a first run.
    with tempfile.TemporaryDirectory() as place, mock.patch.dict(os.environ, CERTIFORMER_CACHE=place):
        start, clock = time.process_time(), time.perf_counter()
        found = probe(material("minilm"), material("spam"), most=4000, models=2, delta=0.05, repeats="group")
        spent, waited = time.process_time() - start, time.perf_counter() - clock
    return filtered(found.report.document, spent, waited)


def filtered(document: Mapping[str, Any], spent: float, waited: float) -> list[str]:
    """The guarantees of a report.json of `probe`, and what a first run took: processor time, and time here."""
    sound = [row for row in document["statements"] if row["version"] == "sound" and row["value"] is not None]
    lines = ["| certificate | of what | error rate at most |", "|---|---|---|"]
    shown = [row for row in sound if "risk" in row["bounds"] and row["value"] < 1]
    lines += [f"| `{row['id']}` | {row['subject']} | {percent_up(row['value'])} |" for row in shown]
    repeated = document["provenance"]["repeated_texts"]
    said = f"4,000 distinct labelled mails ({repeated} rows of the file repeat one)"
    (held,) = (row["evidence"] for row in sound if row["id"] == "holdout")
    share = document["shares"]["holdout"]
    asked = bound("holdout.ladder", errors=held["errors"], n=held["n"], delta=share, queries=1, improvements=0)
    return [
        *lines,
        "",
        f"{said}; observed on the held-out half: {100 * document['observed']['heldout_error']:.2f} %.",
        "All rows hold together with probability 0.95 if the two ways that are paid for owe nothing to these mails.",
        "The second was begun because the first (the last state of the encoder alone) missed 5 % here; its four",
        "places were chosen on movie reviews. As the ledger prices one such answer, the hold-out row is",
        f"{percent_up(asked.sound['value'].value)}; the other rows have no such price.",
        f"A first run, nothing remembered: {spent:.0f} s of processor time, {waited / 60:.1f} minutes here.",
    ]


def adapter() -> list[str]:
    from certiformer.lab.probing.adapter import AdapterSettings, adapt

    return taken_apart(
        adapt(material("minilm"), material("spam"), AdapterSettings.of(ADAPTER), delta=0.05, repeats="group").card
    )


def taken_apart(card: dict[str, Any]) -> list[str]:
    """The bound of an adapter, from its adapter.json."""
    rows = {
        "margin errors": card["margin_errors"],
        "texts with a token below the floor, beside these": card["below_the_floor_only"],
        f"what {card['nats'] + card['paid']:.0f} nats add": card["added_by_nats"],
        "**error rate at most**": card["bound"],
    }
    lines = [f"| {card['coordinates']} coordinates, n = {card['n']:,} | |", "|---|---|"]
    lines += [f"| {name} | {percent_up(value)} |" for name, value in rows.items()]
    lines += ["", f"With probability 0.95; on the same mails it errs on {100 * card['training_error']:.2f} %."]
    return lines


def replaced(text: str, name: str, lines: list[str]) -> str:
    begin, end = f"<!-- {name} begins -->", f"<!-- {name} ends -->"
    before, rest = text.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{after}"


PARTS = {"checkpoints": checkpoints, "speed": speed, "spam": spam, "adapter": adapter}


def main(names: list[str]) -> None:
    for name in names or list(PARTS):
        lines = PARTS[name]()
        PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), name, lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

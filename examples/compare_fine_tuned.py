"""What fine-tuning moved: a pre-trained checkpoint and one beside it, then the class centred at the first.

python examples/compare_fine_tuned.py PRETRAINED FINE_TUNED
python examples/compare_fine_tuned.py            # MiniLM, and MiniLM with its last layer nudged
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from safetensors.numpy import load_file, save_file

from certiformer.checkpoints import Options, inspect
from certiformer.report.checkpoints import comparison_table

UNUSED = ("pooler.*",)
"""Sentence embeddings do not read the pooler that is in the file."""


def nudged(folder: Path) -> Path:
    """A stand-in for a fine-tuned model: a little noise on the last layer."""
    target = Path(tempfile.mkdtemp(prefix="nudged-"))
    shutil.copy(folder / "config.json", target)
    layers = json.loads((folder / "config.json").read_text())["num_hidden_layers"]
    tensors, random = load_file(folder / "model.safetensors"), np.random.default_rng(0)
    for name, values in tensors.items():
        if f"layer.{layers - 1}." in name and values.ndim == 2:
            tensors[name] = values + 1e-3 * random.standard_normal(values.shape).astype(np.float32)
    save_file(tensors, target / "model.safetensors")
    return target


def main(arguments: list[str]) -> None:
    if len(arguments) == 2:
        first, second = map(Path, arguments)
    else:
        from material import fetch

        first = fetch("minilm")
        second = nudged(first)
    chosen = Options(assume_unused=UNUSED)
    documents = [inspect(first, chosen), inspect(second, replace(chosen, against=first))]
    console = Console()
    console.print(comparison_table(documents))
    console.print("centred at the first:", inspect(second, replace(chosen, reference=first)).report.headline)


if __name__ == "__main__":
    main(sys.argv[1:])

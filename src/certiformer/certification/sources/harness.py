"""`lm-evaluation-harness --log_samples`: one JSON object per line and per filter.

A task with several filters holds every document once for each: `--filter` says which one is meant. Metrics are
higher-is-better numbers, so the loss is 1 - value in [0, 1]. A perplexity is a pair for each document, the sum of ln p
and the number of words (or bytes): -ln p per word is its log-loss. Other pairs are parts of a corpus figure, not losses
of documents, and are refused with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from certiformer.certification.sources.table import Choice
from certiformer.core.errors import InputError, UnknownNameError

PERPLEXITIES = ("perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte")
"""[sum of ln p, words or bytes] for each document; `perplexity` is ln p of its one continuation."""
NOT_HIGHER_IS_BETTER = (*PERPLEXITIES, "brier_score", "ter")


def recognised(first: Mapping[str, Any]) -> bool:
    """Whether a line looks like a sample of the harness."""
    return "doc_id" in first and ("filtered_resps" in first or "doc_hash" in first or "resps" in first)


def arrays_of(samples: list[Mapping[str, Any]], choice: Choice, where: str) -> dict[str, Any]:
    """Losses, ids, hashes of the inputs and groups."""
    kept = _filtered(samples, choice, where)
    names = choice.metric or (_metric(kept, where),)
    found: dict[str, Any] = {
        "heldout_ids": np.array([f"{sample['doc_id']} {sample.get('doc_hash', '')}".strip() for sample in kept]),
    }
    if all("doc_hash" in sample for sample in kept):
        found["heldout_inputs"] = np.array([str(sample["doc_hash"]) for sample in kept])
    if all("prompt_hash" in sample for sample in kept):
        found["prompt_hashes"] = np.array([str(sample["prompt_hash"]) for sample in kept])
    for name in names:
        if name in PERPLEXITIES and len(names) == 1:
            found |= _log_losses(kept, name, where)
            continue
        values, right_or_wrong = _values(kept, name, where)
        if len(names) > 1:
            found[f"heldout_losses_{name}"] = 1.0 - values
        elif right_or_wrong:
            found["heldout_correct"] = values == 1.0
        else:
            found["heldout_losses"] = 1.0 - values
    for wish, key in ((choice.group, "heldout_groups"), (choice.slices, "heldout_slices")):
        if wish is not None:
            found[key] = np.array([str(_inside(sample, wish, where)) for sample in kept])
    return found


RIGHT_OR_WRONG = ("acc", "acc_norm", "exact_match", "em", "mc1", "pass@1")
"""Metrics that are right or wrong for a document by construction."""


def _filtered(samples: list[Mapping[str, Any]], choice: Choice, where: str) -> list[Mapping[str, Any]]:
    filters = sorted({str(sample["filter"]) for sample in samples if "filter" in sample})
    if choice.filter is not None:
        if choice.filter not in filters:
            raise UnknownNameError("filter", choice.filter, filters, f"in {where} (it has {', '.join(filters)})")
        return [sample for sample in samples if sample.get("filter") == choice.filter]
    if len(filters) > 1:
        raise InputError("--filter", filters, "one of them", f"{where} holds every document once for each filter")
    return samples


def _metric(samples: list[Mapping[str, Any]], where: str) -> str:
    listed = samples[0].get("metrics")
    names = list(listed) if isinstance(listed, list) else [name for name in RIGHT_OR_WRONG if name in samples[0]]
    if len(names) != 1:
        raise InputError("--metric", names, "one metric", f"Say which of those in {where} is meant")
    return str(names[0])


def _values(samples: list[Mapping[str, Any]], name: str, where: str) -> tuple[Any, bool]:
    if name in NOT_HIGHER_IS_BETTER:
        raise InputError(
            "--metric",
            name,
            "a score in [0, 1] of which more is better",
            "A perplexity is certified alone; of anything else certify the loss of each document: a table with a "
            "column `loss` and --range",
        )
    values = np.empty(len(samples))
    for row, sample in enumerate(samples):
        if name not in sample:
            known = [key for key, value in sample.items() if isinstance(value, (int, float))]
            raise UnknownNameError("metric", name, known, f"in {where} (it has {', '.join(known)})")
        value = sample[name]
        if isinstance(value, (list, tuple, dict)):
            raise InputError(
                "--metric",
                f"{name}: {value!r}"[:80],
                "a number for each document",
                "Pairs are parts of a corpus figure (F1, perplexity), which is no mean of documents: no bound of a "
                "mean speaks about it",
            )
        if not isinstance(value, (bool, int, float)) or not 0.0 <= float(value) <= 1.0:
            raise InputError("--metric", f"{name}: {value!r}", "a number in [0, 1]", f"Document {sample['doc_id']}")
        values[row] = float(value)
    binary = name in RIGHT_OR_WRONG
    if binary and np.any((values != 0.0) & (values != 1.0)):
        binary = False
    return values, binary


def _log_losses(samples: list[Mapping[str, Any]], name: str, where: str) -> dict[str, Any]:
    """-ln p per word (byte) of every document, and how many it has."""
    sums, sizes = np.empty(len(samples)), np.ones(len(samples))
    for row, sample in enumerate(samples):
        value = sample.get(name)
        pair: Any = value if isinstance(value, (list, tuple)) else [value, 1] if name == "perplexity" else None
        if pair is None or len(pair) != 2 or not all(isinstance(part, (int, float)) for part in pair):
            expected = "[sum of ln p, number of words]" if name != "perplexity" else "ln p"
            raise InputError("--metric", f"{name}: {value!r}"[:80], expected, f"Document {sample['doc_id']} of {where}")
        if not (pair[0] <= 0.0 and pair[1] > 0):
            raise InputError("--metric", pair, "ln p <= 0, and words", f"Document {sample['doc_id']} of {where}")
        sums[row], sizes[row] = -float(pair[0]), float(pair[1])
    found: dict[str, Any] = {"heldout_log_losses": sums / sizes}
    return found if name == "perplexity" else {**found, "heldout_sizes": sizes}


def _inside(sample: Mapping[str, Any], path: str, where: str) -> Any:
    """A field of the sample by a path such as doc.subject."""
    value: Any = sample
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            known = list(value) if isinstance(value, Mapping) else []
            raise UnknownNameError("field", path, [f"{path.rpartition('.')[0]}.{k}".strip(".") for k in known], where)
        value = value[part]
    return value

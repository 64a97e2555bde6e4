"""One table of metrics for all formats: which way is better, in which range, right or wrong or a number.

A metric that is not in the table has no direction until the caller says one (`--higher-is-better`,
`--lower-is-better`). A score, of which more is better, is certified by its distance from the best: the mean of 1 - f1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["rate", "number", "log"]


@dataclass(frozen=True)
class Metric:
    """`kind`: right or wrong by construction, a number in [low, high] (None: unbounded), or a sum of ln p with a count.

    `corpus`: what is written for a document is no figure of the document, so no mean of documents is it.
    """

    better: Literal["higher", "lower"]
    kind: Kind
    low: float = 0.0
    high: float | None = 1.0
    corpus: bool = False


def _all(names: str, metric: Metric) -> dict[str, Metric]:
    return dict.fromkeys(names.split(), metric)


METRICS: dict[str, Metric] = {
    **_all(
        "correct is_correct right acc accuracy acc_norm acc_bytes acc_mutual_info exact_match em exact mc1 pass@1 "
        "bleu_acc rouge1_acc rouge2_acc rougeL_acc prompt_level_strict_acc prompt_level_loose_acc match includes "
        "pattern answer choice math model_graded_qa model_graded_fact",
        Metric("higher", "rate"),
    ),
    **_all("error wrong incorrect pct_stereotype", Metric("lower", "rate")),
    **_all(
        "score f1 best_f1 mc2 recall precision rouge1 rouge2 rougeL rougeLsum meteor bertscore ndcg iou anls "
        "pass@2 pass@5 pass@10 pass@100",
        Metric("higher", "number"),
    ),
    **_all("loss toxicity hallucination", Metric("lower", "number")),
    **_all("bleu_max rouge1_max rouge2_max rougeL_max", Metric("higher", "number", 0.0, 100.0)),
    **_all("bleu_diff rouge1_diff rouge2_diff rougeL_diff", Metric("higher", "number", -100.0, 100.0)),
    **_all("wer cer mae mse log_loss nll cross_entropy likelihood_diff", Metric("lower", "number", 0.0, None)),
    **_all("bleu chrf mcc acc_all", Metric("higher", "number", 0.0, None, corpus=True)),
    **_all("ter brier_score", Metric("lower", "number", 0.0, None, corpus=True)),
    **_all("perplexity word_perplexity byte_perplexity bits_per_byte", Metric("lower", "log", 0.0, None)),
}
"""The built-in metrics of lm-evaluation-harness, the scorers of inspect_ai, and the names people give their columns."""

COLUMNS = ("loss", "error", "score", "correct", "is_correct", "acc", "accuracy", "exact_match")
"""Columns of a plain table that are taken for outcomes without being named."""
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Correct, partially correct, incorrect, no answer: the grades of inspect_ai."""
LOG_UNITS = {
    "perplexity": "log-loss of the continuation",
    "word_perplexity": "log-loss per word",
    "byte_perplexity": "log-loss per byte",
    "bits_per_byte": "bits per byte",
}


def spelled(name: object) -> str:
    """A name of a column as it is written here: True Label is true_label."""
    return str(name).strip().lower().replace(" ", "_").replace("-", "_")


def known(name: str) -> Metric | None:
    """The metric of this name: the part behind the scorer's (grader.f1), whatever its case, blanks and hyphens."""
    for key in (name, name.rpartition(".")[2]):
        for candidate in (key, spelled(key)):
            if candidate in METRICS:
                return METRICS[candidate]
    return None

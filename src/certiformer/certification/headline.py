"""The best guarantee in one sentence, from the rows of a report as JSON: `certify` writes it, `verify` once more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from certiformer.certificates import THE_MODEL
from certiformer.report.card import is_rate
from certiformer.report.numbers import percent_down, percent_up, rounded_up

Row = Mapping[str, Any]


def headline(rows: Sequence[Row], delta: float) -> str:
    """The best guarantee in one sentence. All hold together with probability 1 - delta, so the best may be chosen."""
    confidence = f"with confidence {confidence_text(delta)}"
    place = decisive(rows)
    if place is None:
        return f"No certificate says anything about new examples at confidence {confidence_text(delta)}."
    row = rows[place]
    subject, value, of = _subject(row), float(row["value"]), row["evidence"].get("of", "examples")
    between = "" if row.get("lower") is None else f" and at least {_figure(row, float(row['lower']), down=True)}"
    if row["bounds"] == "mean_loss":
        record = row["evidence"]
        within = "" if is_rate(row) else f", for losses between {record['low']:g} and {record['high']:g}"
        perplexity = f" (a perplexity of at most {rounded_up(math.exp(value)):.4g})" if record.get("perplexity") else ""
        return (
            f"The mean {record['what']} of {subject} over new {of} is at most "
            f"{_figure(row, value)}{between}{perplexity}, {confidence}{within}."
        )
    if _informative(row):
        return (
            f"{subject[:1].upper()}{subject[1:]} errs on at most {percent_up(value)}{between} of new {of}, "
            f"{confidence}, by the {_inside_sentence(row['title'])}."
        )
    needed = (
        ""
        if row["n_needed"] is None
        else f" About {int(row['n_needed']):,} held-out examples at this error rate would show more."
    )
    return (
        f"Nothing here is guaranteed to be better than guessing: {confidence} the error rate is at most "
        f"{percent_up(value)}.{needed}"
    )


def decisive(rows: Sequence[Row]) -> int | None:
    """The row the headline is about: an informative error rate of the model, a mean loss, or the hold-out row."""
    counted = [place for place, row in enumerate(rows) if _sound(row) and row["evidence"] is not None]
    rates = [place for place in counted if rows[place]["bounds"] == "risk_01" and _informative(rows[place])]
    losses = [place for place in counted if rows[place]["bounds"] == "mean_loss"]
    own, whole = ([place for place in some if rows[place]["subject"] == THE_MODEL] for some in (rates, losses))
    if own:
        return min(own, key=lambda place: float(rows[place]["value"]))
    if whole:
        return whole[0]  # all metrics hold together, so any of them may lead
    if rates:
        return min(rates, key=lambda place: float(rows[place]["value"]))
    rest = [place for place in counted if rows[place]["id"] == "holdout"]
    rest += [place for place in losses if _informative(rows[place])]
    return rest[0] if rest else None


def basis(rows: Sequence[Row]) -> str:
    """What the headline rests on: 28 errors among 5,000 held-out examples."""
    place = decisive(rows)
    if place is None:
        return ""
    row = rows[place]
    record, examples = row["evidence"], int(row["terms"]["examples"])
    if "excess" in record:
        return f"{examples:,} labelled and {int(row['terms']['unlabelled examples']):,} unlabelled examples"
    if row["bounds"] == "mean_loss":
        units = f"{examples:,} {record['unit']}{'s' if examples != 1 else ''}"
        observed = float(row["terms"]["observed"])
        seen = f"{100 * observed:.2f} %" if is_rate(row) else f"{observed:.4g}"
        return f"a mean {record['what']} of {seen} over {units}"
    errors, n = record.get("errors"), record.get("n")
    if errors is None or n is None:
        return f"{examples:,} examples"
    return f"{errors:,} error{'s' if errors != 1 else ''} among {n:,} held-out examples"


def confidence_text(delta: float) -> str:
    """1 - delta in percent, rounded down; as 1 - delta itself where percents would need many nines."""
    if delta < 1e-6:
        exponent = math.floor(math.log10(delta))
        digits = math.ceil(delta / 10.0 ** (exponent - 2) * (1.0 - 1e-12))
        return f"1 - {digits * 10.0 ** (exponent - 2):.3g}"
    return f"{math.floor(1e6 * (1.0 - delta) + 1e-9) / 1e4:g} %"


def _sound(row: Row) -> bool:
    return row["version"] == "sound" and row["value"] is not None


def _informative(row: Row) -> bool:
    return bool(row["verdict"] == "informative")


def _subject(row: Row) -> str:
    """In the middle of a sentence: an apposition is closed by a comma."""
    subject = str(row["subject"])
    return f"{subject}," if ", " in subject and not subject.endswith(",") else subject


def _figure(row: Row, value: float, *, down: bool = False) -> str:
    """A limit as people read it: rates in percent, other losses to four digits, rounded outward."""
    if is_rate(row):
        return percent_down(value) if down else percent_up(value)
    return f"{-rounded_up(-value) if down else rounded_up(value):.4g}"


def _inside_sentence(title: str) -> str:
    """A title in the middle of a sentence: lower case, unless it begins with a name like PAC-Bayes."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]

"""Options that say which columns of a file are meant and what their numbers mean: the same for every verb."""

from __future__ import annotations

from typing import Annotated

import typer

COLUMNS = "Which columns or fields are meant"
MEANING = "What the numbers mean"

Metric = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A loss or score; several may be given.", rich_help_panel=COLUMNS),
]
Label = Annotated[str | None, typer.Option(metavar="COLUMN", help="True labels.", rich_help_panel=COLUMNS)]
Prediction = Annotated[str | None, typer.Option(metavar="COLUMN", help="Predicted labels.", rich_help_panel=COLUMNS)]
Id = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Ids of examples.", rich_help_panel=COLUMNS)]
Group = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="What was drawn independently, e.g. document.", rich_help_panel=COLUMNS),
]
Confidence = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="The model's confidence.", rich_help_panel=COLUMNS)
]
Slice = Annotated[
    str | None,
    typer.Option(
        "--slice", metavar="COLUMN", help="Certify each value too; `label`: each class.", rich_help_panel=COLUMNS
    ),
]
Filter = Annotated[
    str | None, typer.Option(help="Which filter of an lm-evaluation-harness file.", rich_help_panel=COLUMNS)
]
Score = Annotated[
    str | None, typer.Option(metavar="NAME[.KEY]", help="Which scorer of an inspect_ai log.", rich_help_panel=COLUMNS)
]
Unscored = Annotated[
    str, typer.Option(help="Samples without a score: refuse, or count as wrong.", rich_help_panel=COLUMNS)
]
Range = Annotated[
    tuple[float, float] | None,
    typer.Option("--range", metavar="LOW HIGH", help="The range a loss cannot leave.", rich_help_panel=MEANING),
]
Clip = Annotated[
    float | None, typer.Option(help="Cut a loss off here; the rate beyond is certified too.", rich_help_panel=MEANING)
]
TwoSided = Annotated[bool, typer.Option("--two-sided", help="Lower limits as well.", rich_help_panel=MEANING)]
Order = Annotated[str, typer.Option(help="Of betting: average (16 orders) or hash (one).", rich_help_panel=MEANING)]
Estimand = Annotated[str, typer.Option(help="The mean over groups, or over rows.", rich_help_panel=MEANING)]
MaxSize = Annotated[
    int | None, typer.Option(help="Most rows a group can have, for the mean over rows.", rich_help_panel=MEANING)
]
Repeats = Annotated[
    str, typer.Option(help="Equal examples: refuse, group, or natural (independent draws).", rich_help_panel=MEANING)
]
Outputs = Annotated[
    str | None, typer.Option(help="What a model's outputs are: logits, probabilities, labels.", rich_help_panel=MEANING)
]
Classes = Annotated[
    str | None, typer.Option(help="Number of classes, or names in column order: ham,spam.", rich_help_panel=MEANING)
]
Abstain = Annotated[
    str | None, typer.Option(help="The prediction that is no answer (an error).", rich_help_panel=MEANING)
]


def classes_of(text: str | None) -> int | list[str] | None:
    """3, or ham,spam."""
    if text is None:
        return None
    return int(text) if text.strip().isdigit() else [name.strip() for name in text.split(",")]


def abstain_of(text: str | None) -> int | str | None:
    """-1, or a name."""
    return int(text) if text is not None and text.lstrip("-").isdigit() else text

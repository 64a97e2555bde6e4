"""The options that a declaration has, made from its fields: the same for every verb."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import Field
from typing import Annotated, Any

import typer

from certiformer.certification.declaration import MEANING, UNUSED, Declaration
from certiformer.cli._output import console
from certiformer.theory.core.errors import InputError

Delta = Annotated[float | None, typer.Option(help="Probability that any claim is wrong; 0.05 if nothing is said.")]
Confidence = Annotated[float | None, typer.Option(help="1 - delta, e.g. 0.99.")]

TEXTS = {"classes": "N|NAMES", "abstain": "LABEL"}
"""Fields of several kinds are typed as text."""


def declared(verb: str = "", *, only: tuple[str, ...] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a declaration that its verb has a use for, or `only` these."""
    chosen = [one for one in Declaration.options() if (one.name not in UNUSED[verb] if verb else one.name in only)]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)

        @functools.wraps(command)
        def run(**given: Any) -> None:
            said = {one.name: given.pop(_parameter(one), one.default) for one in chosen if one.name != "better"}
            if any(one.name == "better" for one in chosen):
                said["better"] = _better(given.pop("higher_is_better", False), given.pop("lower_is_better", False))
            command(**given, declaration=_declaration(said))

        parameters = [one for one in own.parameters.values() if one.name != "declaration"]
        parameters += [parameter for one in chosen for parameter in _parameters(one)]
        parameters.sort(key=lambda one: one.name in ("json", "csv", "markdown"))
        kept = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
        run.__signature__ = own.replace(parameters=kept)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in kept}
        return run

    return decorate


def _parameter(one: Field[Any]) -> str:
    return f"declared_{one.name}"


def _parameters(one: Field[Any]) -> list[inspect.Parameter]:
    """A field as parameters of a command; a direction has two flags."""
    if one.name == "better":
        texts = {
            "higher": "The metric is better when it is higher (1 means right).",
            "lower": "The metric is better when it is lower (1 means wrong).",
        }
        return [
            _option(f"{way}_is_better", bool, False, f"--{way}-is-better", text, "", MEANING)
            for way, text in texts.items()
        ]
    kind: Any
    if one.name == "metric":
        kind = list[str] | None
    elif one.name == "range":
        kind = tuple[float, float] | None
    elif one.name in ("clip", "expect", "correlation"):
        kind = float | None
    elif one.name in ("max_size", "seed"):
        kind = int | None
    elif isinstance(one.default, (bool, int)):
        kind = type(one.default)
    else:
        kind = str if isinstance(one.default, str) else str | None
    default = None if one.name == "metric" else one.default
    metavar = one.metadata["metavar"] or TEXTS.get(one.name, "")
    option = Declaration.flag(one)
    return [_option(_parameter(one), kind, default, option, one.metadata["says"], metavar, one.metadata["group"])]


def _option(name: str, kind: Any, default: Any, option: str, says: str, metavar: str, group: str) -> inspect.Parameter:
    info = typer.Option(option, help=says, metavar=metavar or None, rich_help_panel=group)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info])


def conditions(holds_if: Iterable[str], not_checked: Iterable[str], warnings: Iterable[str]) -> None:
    """What a verdict rests on, in the same words for every verb."""
    for text in holds_if:
        console.print(f"Condition: {plain(text)}.", style="dim")
    for text in not_checked:
        console.print(f"[yellow]NOT CHECKED:[/yellow] {plain(text)}.")
    for text in dict.fromkeys(warnings):
        console.print(f"[yellow]Warning:[/yellow] {plain(text)}.")


def plain(text: str) -> str:
    """Square brackets are rich's markup; names from files must not be."""
    return text.replace("[", r"\[")


def _better(higher: bool, lower: bool) -> str | None:
    if higher and lower:
        raise InputError("--higher-is-better", "--lower-is-better too", "one of the two")
    return "higher" if higher else "lower" if lower else None


def _declaration(said: dict[str, Any]) -> Declaration:
    found = dict(said)
    if "metric" in found:
        found["metric"] = tuple(found["metric"] or ())
    if found.get("classes") is not None:
        text = found["classes"]
        found["classes"] = int(text) if text.strip().isdigit() else tuple(name.strip() for name in text.split(","))
    if found.get("abstain") is not None:
        text = found["abstain"]
        found["abstain"] = int(text) if text.lstrip("-").isdigit() else text
    return Declaration.of_options(found)

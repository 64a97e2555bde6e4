"""The programming interface from the typed signatures; a public name without a word about it ends the build."""

from __future__ import annotations

import ast
import dataclasses
import enum
import html
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from website.markup import page, paragraphs, table, words

PACKAGES = (
    ("certiformer", "the verbs"),
    ("certiformer.theory.core", "results, bounds, hypotheses"),
    ("certiformer.theory.calculus", "what proofs are made of"),
    ("certiformer.theory.networks", "a Transformer as a value"),
    ("certiformer.certificates", "records of what was counted"),
    ("certiformer.evaluation", "losses, pairs, streams, abstention, plans"),
    ("certiformer.checkpoints", "files to tensors and networks"),
    ("certiformer.lab.probing", "texts, a frozen encoder, a head"),
    ("certiformer.lab.measure", "numbers read off models and data"),
    ("certiformer.lab.models", "the papers' networks"),
    ("certiformer.lab.tasks", "the papers' data"),
    ("certiformer.lab.training", "training loops"),
    ("certiformer.auditing", "attacks"),
    ("certiformer.reproduction", "the papers' experiments"),
    ("certiformer.reproduction.sweep", "many runs, remembered"),
)
"""What a user may import, and what it is for; everything below an underscore, and the other rooms, are inner works."""


@dataclass(frozen=True, slots=True)
class Name:
    """A public name: where one imports it from, the object, and what is written about it."""

    module: str
    name: str
    value: Any
    about: str


def names_of(package: str) -> list[Name]:
    """What the package exports, or, where it exports nothing, what its public modules define."""
    module = importlib.import_module(package)
    if listed := [each for each in getattr(module, "__all__", ()) if not each.startswith("_")]:
        return [_name(package, each, getattr(module, each)) for each in listed]
    found = []
    for info in pkgutil.iter_modules(module.__path__, package + "."):
        if info.name.rpartition(".")[2].startswith("_") or info.ispkg:
            continue
        inner = importlib.import_module(info.name)
        found += [_name(info.name, each, getattr(inner, each)) for each in _defined(inner)]
    return found


def _defined(module: ModuleType) -> Iterator[str]:
    for name, value in vars(module).items():
        own = not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
        if own and (inspect.isclass(value) or inspect.isroutine(inspect.unwrap(value))):
            yield name


def _name(module: str, name: str, value: Any) -> Name:
    return Name(module, name, value, about(module, name, value))


def about(module: str, name: str, value: Any) -> str:
    """The docstring of a function or class, or the string under an assignment; empty where there is none."""
    if inspect.isclass(value) or inspect.isroutine(inspect.unwrap(value)):
        own = value.__dict__.get("__doc__") if inspect.isclass(value) else value.__doc__
        generated = inspect.isclass(value) and dataclasses.is_dataclass(value) and (own or "").startswith(f"{name}(")
        return "" if own is None or generated else inspect.cleandoc(own)
    return _constant_comment(module, name)


def _constant_comment(module: str, name: str) -> str:
    """The string literal that follows `NAME = ...` where the constant is defined."""
    text = inspect.getsource(importlib.import_module(module))
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and any(alias.name == name for alias in node.names):
            return _constant_comment(node.module, name)
    for first, second in zip(tree.body, tree.body[1:], strict=False):
        targets = first.targets if isinstance(first, ast.Assign) else [getattr(first, "target", None)]
        named = any(isinstance(target, ast.Name) and target.id == name for target in targets)
        if named and isinstance(second, ast.Expr) and isinstance(second.value, ast.Constant):
            return inspect.cleandoc(str(second.value.value))
    return ""


def undocumented() -> list[str]:
    """Public names with nothing written about them: functions, classes, their public methods, and constants."""
    missing = []
    for package, _ in PACKAGES:
        for each in names_of(package):
            if not each.about:
                missing.append(f"{each.module}.{each.name}")
            missing += [f"{each.module}.{each.name}.{method}" for method, text in methods(each.value) if not text]
    return sorted(set(missing))


def methods(value: Any) -> list[tuple[str, str]]:
    """The public methods that a class defines itself, with their docstrings (their own, or that of a base)."""
    if not inspect.isclass(value) or issubclass(value, enum.Enum):
        return []
    found = []
    for name, member in vars(value).items():
        inner = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isroutine(inner):
            found.append((name, inspect.getdoc(getattr(value, name, None)) or inspect.getdoc(inner) or ""))
    return found


def signature(value: Any) -> str:
    """`(x: float, *, delta: float = 0.05) -> Bound`, as written in the source."""
    try:
        return re.sub(r"'([^']*)'", r"\1", str(inspect.signature(value))) if callable(value) else ""
    except (ValueError, TypeError):
        return ""


def reference_page(package: str, purpose: str) -> str:
    """All public names of a package."""
    module = importlib.import_module(package)
    parts = [f"# `{package}`", f"<p><em>{words(purpose)}</em></p>", paragraphs(inspect.getdoc(module) or "")]
    for each in sorted(names_of(package), key=lambda name: (name.module, name.name.lower())):
        parts += [f"## `{each.name}` {{ #{each.module}.{each.name} }}", *_entry(each)]
    return page(*parts)


def _entry(each: Name) -> Iterator[str]:
    value = each.value
    kind = "class" if inspect.isclass(value) else "def" if callable(value) else ""
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        shown = f"class {each.name}: " + ", ".join(f"{one.name} = {one.value!r}" for one in value)
    elif inspect.isclass(value) and not dataclasses.is_dataclass(value) and "__init__" not in vars(value):
        shown = f"class {each.name}"
    elif kind:
        shown = f"{kind} {each.name}{signature(value)}"
    else:
        shown = f"{each.name} = {_short(value)}"
    yield f'<pre class="signature"><code>{html.escape(_wrapped(shown))}</code></pre>'
    yield f'<p class="facts">from <code>{each.module}</code></p>'
    yield paragraphs(each.about)
    described = [(name, text) for name, text in methods(value)]
    if described:
        yield table(
            ("method or property", ""),
            [
                (f"<code>{name}</code>{_call(value, name)}", words(text.partition("\n\n")[0].replace("\n", " ")))
                for name, text in described
            ],
            "methods",
        )


def _call(value: Any, name: str) -> str:
    member = vars(value)[name]
    inner = getattr(member, "__func__", member)
    if isinstance(member, property) or not callable(inner):
        return ""
    return f'<span class="call">{html.escape(signature(inner))}</span>'


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "…"


def _wrapped(text: str, width: int = 92) -> str:
    """A long signature with one argument per line."""
    if len(text) <= width or "(" not in text:
        return text
    head, _, rest = text.partition("(")
    inner, _, tail = rest.rpartition(")")
    arguments, depth, current = [], 0, ""
    for sign in inner:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            arguments.append(current.strip())
            current = ""
        else:
            current += sign
    arguments.append(current.strip())
    lines = "".join(f"    {argument},\n" for argument in arguments if argument)
    return f"{head}(\n{lines}){tail}"

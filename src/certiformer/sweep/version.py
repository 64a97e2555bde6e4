"""The code version of a run: a hash of the source that its numbers come from, and of nothing else.

From the run's function the hash follows names through the top level of its module, so that a change to the function,
to a helper or to a constant it uses is a new version, while a change to the figure drawn next to it is not. Modules
and packages that matter as a whole are named as `sources`.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterable
from pathlib import Path

from certiformer.core.errors import InputError


def code_version(functions: tuple[str, ...], sources: tuple[str, ...] = ()) -> str:
    """The first 16 hex digits of SHA-256 over the code reached by `functions` and over the whole of `sources`.

    `functions` are references "module:function"; `sources` are names of modules or packages.
    """
    digest = hashlib.sha256()
    for reference in sorted(set(functions)):
        module, name = split_reference(reference)
        for piece in _reached(module, name):
            _feed(digest, f"{module}:{piece}")
    for source in sorted(set(sources)):
        for label, path in _files(source):
            _feed(digest, f"{source}:{label}:{_read(path)}")
    return digest.hexdigest()[:16]


def split_reference(reference: str) -> tuple[str, str]:
    """ "module:function" as a pair."""
    module, colon, name = reference.partition(":")
    if not (colon and module and name.isidentifier() and all(part.isidentifier() for part in module.split("."))):
        raise InputError("run", reference, 'a function at the top level of a module, written "module:function"')
    if module == "__main__":
        raise InputError("run", reference, "a module that other processes can import", "Move the function to a file.")
    return module, name


def _feed(digest: hashlib._Hash, text: str) -> None:
    data = text.encode()
    digest.update(len(data).to_bytes(8, "big"))
    digest.update(data)


def _reached(module: str, name: str) -> list[str]:
    """The source of every top-level statement that `name` needs, in the order of the file."""
    source = _read(_file(module))
    statements = ast.parse(source).body
    binders: dict[str, list[int]] = {}
    for index, statement in enumerate(statements):
        for bound in _bound(statement):
            binders.setdefault(bound, []).append(index)
    if name not in binders:
        raise InputError("run", f"{module}:{name}", f"a name defined at the top level of {module}")
    needed: set[int] = set()
    queue = [name]
    while queue:
        for index in binders.get(queue.pop(), []):
            if index not in needed:
                needed.add(index)
                queue.extend(node.id for node in ast.walk(statements[index]) if isinstance(node, ast.Name))
    lines = source.splitlines()
    return ["\n".join(lines[_first_line(statements[i]) - 1 : statements[i].end_lineno]) for i in sorted(needed)]


def _bound(statement: ast.stmt) -> Iterable[str]:
    """The names that a top-level statement binds."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    names: list[str] = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.alias):
            names.append((node.asname or node.name).split(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.append(node.name)
    return names


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _file(module: str) -> Path:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        raise InputError("module", module, "a Python module with source that can be found on the import path")
    return Path(spec.origin)


def _files(source: str) -> list[tuple[str, Path]]:
    """The files of a module, or of a package and everything below it."""
    path = _file(source)
    if path.name != "__init__.py":
        return [(path.name, path)]
    return [(p.relative_to(path.parent).as_posix(), p) for p in sorted(path.parent.rglob("*.py"))]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")

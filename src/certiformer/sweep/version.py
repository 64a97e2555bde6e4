"""The code version of a run: a hash of the code that its numbers come from, and of nothing else.

From the run's function the hash follows names: through the top level of its module, and through its imports into every
module of the same package, where only what is named counts. So a change to the function, to a helper or a constant it
uses, in whichever file, is a new version; a change to the figure drawn next to it is not. Comments, docstrings, layout
and the types in signatures are not code. What other packages (NumPy, JAX) do is recorded as their versions, not here.

What is followed, besides names: attributes of imported modules (`optimisers.momentum`), imports inside functions,
re-exports, `register`ed cases of a function, statements of a reached module that are there for their effect, packages
imported by a literal name, and files beside a module that it names. What is not: this engine, and modules that say
`__makes_numbers__ = False` because they only carry numbers about (files of checkpoints, the wording of errors).
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import hashlib
import importlib.util
import symtable
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from certiformer.core.errors import InputError

HOME = __name__.split(".")[0]
ENGINE = __name__.rpartition(".")[0]
EVERYTHING = "*"


def code_version(functions: tuple[str, ...]) -> str:
    """The first 16 hex digits of SHA-256 over the code reached by `functions`, references "module:function"."""
    digest = hashlib.sha256()
    for label, text in sorted(_reached(functions).items()):
        for part in (*label, text):
            data = part.encode()
            digest.update(len(data).to_bytes(8, "big"))
            digest.update(data)
    return digest.hexdigest()[:16]


def reached_modules(functions: tuple[str, ...]) -> tuple[str, ...]:
    """The modules of which `functions` use something."""
    return tuple(sorted({module for module, _ in _reached(functions)}))


def split_reference(reference: str) -> tuple[str, str]:
    """ "module:function" as a pair."""
    module, colon, name = reference.partition(":")
    if not (colon and module and name.isidentifier() and all(part.isidentifier() for part in module.split("."))):
        raise InputError("run", reference, 'a function at the top level of a module, written "module:function"')
    if module == "__main__":
        raise InputError("run", reference, "a module that other processes can import", "Move the function to a file.")
    return module, name


def found_reference(reference: str) -> tuple[str, str]:
    """The pair, if there is such a module and it has such a name."""
    module, name = split_reference(reference)
    path = _path(module)
    if path is None:
        raise InputError("module", module, "a Python module with source that can be found on the import path")
    if not _binds(module, name):
        raise InputError("run", reference, f"a name defined at the top level of {module}")
    return module, name


def _reached(functions: tuple[str, ...]) -> dict[tuple[str, str], str]:
    """The text of every statement and file that counts, by module and by place or name."""
    starts = [found_reference(reference) for reference in functions]
    roots = {HOME, *(module.split(".")[0] for module, _ in starts)}
    found: dict[tuple[str, str], str] = {}
    visited: set[tuple[str, str]] = set()
    queue = list(starts)
    while queue:
        module, name = queue.pop()
        if (module, name) in visited or module.split(".")[0] not in roots or f"{module}.".startswith(f"{ENGINE}."):
            continue
        visited.add((module, name))
        path = _path(module)
        if path is None:
            continue
        parsed = _parsed(module, path)
        if parsed.carries:
            continue
        for index in parsed.statements_for(name):
            piece = parsed.pieces[index]
            if (module, piece.label) not in found:
                found[module, piece.label] = piece.text
                queue.extend(piece.names)
                queue.extend(piece.imports)
                for file in piece.files(path.parent):
                    found[module, f"file {file.name}"] = hashlib.sha256(file.read_bytes()).hexdigest()
        if name not in parsed.binders and name != EVERYTHING and _path(f"{module}.{name}") is not None:
            queue.append((f"{module}.{name}", EVERYTHING))
    return found


@dataclass(frozen=True)
class _Piece:
    """A top-level statement: its text, what it names in its own module and what it takes from others."""

    label: str
    text: str
    binds: tuple[str, ...]
    effect: bool
    names: tuple[tuple[str, str], ...]
    imports: tuple[tuple[str, str], ...]
    strings: tuple[str, ...]

    def files(self, folder: Path) -> Iterator[Path]:
        for text in self.strings:
            path = folder / text
            if path.suffix != ".py" and path.is_file():
                yield path


@dataclass(frozen=True)
class _Parsed:
    pieces: tuple[_Piece, ...]
    binders: dict[str, list[int]]

    @property
    def carries(self) -> bool:
        return any(
            "__makes_numbers__ = False" in self.pieces[i].text for i in self.binders.get("__makes_numbers__", ())
        )

    def statements_for(self, name: str) -> list[int]:
        """What binds the name, and what the module does for its effect; all of it, if asked, or if the name is made
        on demand."""
        if name == EVERYTHING or (name not in self.binders and "__getattr__" in self.binders):
            return list(range(len(self.pieces)))
        effects = [index for index, piece in enumerate(self.pieces) if piece.effect]
        return sorted({*self.binders.get(name, ()), *effects})


def _parsed(module: str, path: Path) -> _Parsed:
    stat = path.stat()
    return _parse(module, path, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=4096)
def _parse(module: str, path: Path, changed: int, size: int) -> _Parsed:
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    body = [one for statement in ast.parse(path.read_text(encoding="utf-8")).body for one in _split(statement)]
    modules = {
        bound: source
        for statement in body
        for bound, source in _imported(statement, package)
        if source[1] == EVERYTHING
    }
    pieces: list[_Piece] = []
    counts: dict[str, int] = {}
    for statement in body:
        piece = _piece(module, package, statement, modules)
        counts[piece.label] = counts.get(piece.label, 0) + 1
        pieces.append(dataclasses.replace(piece, label=f"{piece.label} {counts[piece.label]}"))
    binders: dict[str, list[int]] = {}
    for index, piece in enumerate(pieces):
        for bound in piece.binds:
            binders.setdefault(bound, []).append(index)
    return _Parsed(tuple(pieces), binders)


def _piece(module: str, package: str, statement: ast.stmt, aliases: dict[str, tuple[str, str]]) -> _Piece:
    binds = tuple(_bound(statement))
    nodes = list(ast.walk(statement))
    inner = {bound: source for node in nodes for bound, source in _imported(node, package)}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        # whose attributes are used is known where they are used; a name taken from a module is followed here
        taken = [source for bound, source in inner.items() if bound not in aliases]
        return _Piece(f"import {','.join(binds)}", ast.unparse(statement), binds, False, (), tuple(taken), ())
    text = ast.unparse(ast.fix_missing_locations(_Bare().visit(statement)))
    known = {**aliases, **inner}
    imports = {source for source in inner.values() if source[1] != EVERYTHING}
    imports |= {_used(known[name], name, attribute) for name, attribute in _uses(statement) if name in known}
    imports |= {(name, EVERYTHING) for package in _imported_by_name(statement) for name in _package(package)}
    names = tuple((module, name) for name in sorted(_global_names(text)))
    effect = isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant)
    strings = [n.value for n in ast.walk(statement) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    files = tuple(s for s in strings if len(s) < 100 and "." in s and "\n" not in s and not s.startswith(("/", ".")))
    return _Piece(",".join(binds) or f"effect {text}", text, binds, effect, names, tuple(sorted(imports)), files)


def _uses(statement: ast.stmt) -> set[tuple[str, str | None]]:
    """Names with the attributes taken of them, or None where the name stands alone."""
    taken = [n for n in ast.walk(statement) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)]
    uses: set[tuple[str, str | None]] = {(n.value.id, n.attr) for n in taken if isinstance(n.value, ast.Name)}
    inside = {id(n.value) for n in taken}
    return uses | {(n.id, None) for n in ast.walk(statement) if isinstance(n, ast.Name) and id(n) not in inside}


def _used(source: tuple[str, str], name: str, attribute: str | None) -> tuple[str, str]:
    """What is used of an import: of a module its attribute, if one is named; `import a.b` is a.b as a whole."""
    module, taken = source
    if taken != EVERYTHING or attribute is None or (name == module.split(".")[0] and "." in module):
        return source
    return module, attribute


def _split(statement: ast.stmt) -> list[ast.stmt]:
    """An import of several names as several imports: each is followed only if it is used."""
    if isinstance(statement, ast.ImportFrom):
        return [ast.ImportFrom(statement.module, [alias], statement.level) for alias in statement.names]
    return [statement]


def _bound(statement: ast.stmt) -> list[str]:
    """The names that a top-level statement binds, or adds something to."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name, *_registered(statement)]
    names: list[str] = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            names += _root(node)
        elif isinstance(node, ast.alias):
            names.append((node.asname or node.name).split(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names += [node.name, *_registered(node)]
    return list(dict.fromkeys(names))


def _registered(statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[str]:
    """`@area.register` adds a case to `area`."""
    calls = [d.func if isinstance(d, ast.Call) else d for d in statement.decorator_list]
    return [
        name for call in calls if isinstance(call, ast.Attribute) and "register" in call.attr for name in _root(call)
    ]


def _root(node: ast.expr) -> list[str]:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return [node.id] if isinstance(node, ast.Name) else []


def _imported(node: ast.AST, package: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """What an import binds: a name, and (module, name there), or (module, "*") for a module."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name.split(".")[0], (alias.name, EVERYTHING)
    elif isinstance(node, ast.ImportFrom):
        source = _absolute(node, package)
        for alias in node.names:
            inside = _path(f"{source}.{alias.name}") is not None and not _binds(source, alias.name)
            target = (f"{source}.{alias.name}", EVERYTHING) if inside else (source, alias.name)
            yield alias.asname or alias.name, target


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    base = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


def _binds(module: str, name: str) -> bool:
    """Whether a package's own file binds the name, which then hides a module of that name."""
    path = _path(module)
    return path is not None and name in _names(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=4096)
def _names(path: Path, changed: int) -> frozenset[str]:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return frozenset(name for statement in body for name in _bound(statement))


def _imported_by_name(tree: ast.AST) -> Iterable[str]:
    """`import_module("package.module")`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str))


def _package(name: str) -> list[str]:
    """A module, or a package and all that is below it."""
    path = _path(name)
    if path is None or path.name != "__init__.py":
        return [name]
    below = [p.relative_to(path.parent).with_suffix("").parts for p in sorted(path.parent.rglob("*.py"))]
    return [".".join([name, *parts]).removesuffix(".__init__") for parts in below]


def _global_names(text: str) -> set[str]:
    """The names that a statement takes from its module: a local variable of the same name is another thing."""
    found: set[str] = set()
    tables = [symtable.symtable(text, "statement", "exec")]
    top = tables[0]
    while tables:
        table = tables.pop()
        found |= {s.get_name() for s in table.get_symbols() if s.is_referenced() and (table is top or s.is_global())}
        tables += table.get_children()
    return found


class _Bare(ast.NodeTransformer):
    """Code without docstrings and without types in signatures."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._without_docstring(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self._without_docstring(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._without_docstring(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        # the fields of a class are made of these: the text of the type stays, its names are not followed
        node.annotation = ast.Constant(ast.unparse(node.annotation))
        self.generic_visit(node)
        return node

    def _without_docstring(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            node.body = node.body[1:] or [ast.Pass()]
        return node


def _path(module: str) -> Path | None:
    """The file of a module, found without importing anything."""
    root, *rest = module.split(".")
    places = _root_places(root, tuple(sys.path))
    for place in places:
        path = place.joinpath(*rest) if rest else place
        if (path / "__init__.py").is_file():
            return path / "__init__.py"
        if path.with_suffix(".py").is_file():
            return path.with_suffix(".py")
    return None


@functools.lru_cache(maxsize=1024)
def _root_places(root: str, path: tuple[str, ...]) -> list[Path]:
    try:
        spec = importlib.util.find_spec(root)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations:
        return [Path(place) for place in spec.submodule_search_locations]
    return [Path(spec.origin).with_suffix("")] if spec.origin and spec.origin.endswith(".py") else []

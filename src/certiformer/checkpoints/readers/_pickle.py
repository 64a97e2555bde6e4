"""A pickle machine that calls nothing: it builds dictionaries, lists, numbers and *descriptions* of tensors.

Opcodes are decoded by `pickletools` and carried out here one by one from a closed list. A global name is never
imported: the few names that describe tensors are understood, classes that training programs leave in their files become
inert `StandIn`s, and any other name (os.system, builtins.eval, ...) ends the reading with that name.
"""

from __future__ import annotations

import pickletools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

MOST_OPERATIONS = 5_000_000
LONGEST_NAME = 1_000
BROKEN = (
    ValueError,
    IndexError,
    KeyError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
    MemoryError,
)
HARMLESS = (
    "torch",
    "numpy",
    "collections",
    "argparse",
    "transformers",
    "pytorch_lightning",
    "lightning",
    "lightning_fabric",
    "omegaconf",
    "sentence_transformers",
    "peft",
    "accelerate",
)
SETS = ("set", "frozenset", "int", "float", "bool", "str", "list", "dict", "tuple", "complex", "slice", "bytearray")


class UnsafePickle(Exception):
    """Something in a pickle that will not be read; the message says what."""


@dataclass(frozen=True, slots=True)
class Name:
    """A global name, as text."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(slots=True, eq=False)
class StandIn:
    """What some class would have made of `arguments`; nobody asks it."""

    name: Name
    arguments: Any = None
    state: Any = None


@dataclass(frozen=True, slots=True)
class Storage:
    """A persistent id: bytes that lie elsewhere in the file."""

    dtype: str
    key: str
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class StoredTensor:
    """A view of a storage: offset, shape and strides in entries."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


STORAGES = {
    "DoubleStorage": "F64",
    "FloatStorage": "F32",
    "HalfStorage": "F16",
    "BFloat16Storage": "BF16",
    "LongStorage": "I64",
    "IntStorage": "I32",
    "ShortStorage": "I16",
    "CharStorage": "I8",
    "ByteStorage": "U8",
    "BoolStorage": "BOOL",
}
_MARK = object()


def load(file: BinaryIO, size: int) -> Any:
    """The value of the pickle that begins here; the file is left behind its end.

    An operation takes a byte at least: a pickle with more of them than `size`, the bytes of the file, was inflated.
    """
    machine, most = _Machine(), min(MOST_OPERATIONS, size)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # escape sequences that are none, in texts
            for count, (opcode, argument, _) in enumerate(pickletools.genops(file)):
                if count > most:
                    raise UnsafePickle(f"more than {most} operations")
                if opcode.name == "STOP":
                    return machine.pop()
                machine.step(opcode.name, argument)
    except UnsafePickle:
        raise
    except BROKEN as error:
        raise UnsafePickle(f"a broken pickle ({type(error).__name__}: {error})") from None
    raise UnsafePickle("a pickle without end")


class _Machine:
    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def pop(self) -> Any:
        if not self.stack or self.stack[-1] is _MARK:
            raise UnsafePickle("a broken pickle (nothing to take)")
        return self.stack.pop()

    def to_mark(self) -> list[Any]:
        found: list[Any] = []
        while True:
            if not self.stack:
                raise UnsafePickle("a broken pickle (no mark)")
            value = self.stack.pop()
            if value is _MARK:
                return found[::-1]
            found.append(value)

    def step(self, name: str, argument: Any) -> None:
        """Carry out one operation."""
        stack = self.stack
        if name in _CONSTANTS:
            stack.append(_CONSTANTS[name]())
        elif name in _LITERALS:
            stack.append(argument)
        elif name in _PUTS:
            self.memo[len(self.memo) if argument is None else argument] = stack[-1]
        elif name in _GETS:
            stack.append(self.memo[argument])
        elif name in ("LIST", "TUPLE"):
            found = self.to_mark()
            stack.append(found if name == "LIST" else tuple(found))
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            parts = [self.pop() for _ in range(int(name[-1]))]
            stack.append(tuple(parts[::-1]))
        elif name == "DICT":
            stack.append(_update({}, self.to_mark()))
        elif name in ("APPENDS", "ADDITEMS", "APPEND"):
            values = [self.pop()] if name == "APPEND" else self.to_mark()
            _extend(stack[-1], values)
        elif name in ("SETITEMS", "SETITEM"):
            values = [self.pop(), self.pop()][::-1] if name == "SETITEM" else self.to_mark()
            _update(stack[-1], values)
        elif name == "GLOBAL":
            module, _, rest = str(argument).partition(" ")
            stack.append(_named(module, rest))
        elif name == "STACK_GLOBAL":
            rest, module = self.pop(), self.pop()
            stack.append(_named(module, rest))
        elif name in ("REDUCE", "NEWOBJ"):
            arguments, function = self.pop(), self.pop()
            stack.append(_made(function, arguments))
        elif name == "BUILD":
            state = self.pop()
            if isinstance(stack[-1], StandIn):
                stack[-1].state = state
        elif name == "BINPERSID":
            stack.append(_storage(self.pop()))
        elif name == "POP":
            self.pop()
        elif name == "POP_MARK":
            self.to_mark()
        elif name not in ("PROTO", "FRAME"):
            raise UnsafePickle(f"the operation {name}, which no tensor file needs")


def _extend(target: Any, values: list[Any]) -> None:
    if isinstance(target, list):
        target.extend(values)
    elif not isinstance(target, StandIn):
        raise UnsafePickle("a broken pickle (items for something that is no list)")


def _update(target: Any, flat: list[Any]) -> Any:
    """The target with these keys and values, one after the other."""
    if len(flat) % 2:
        raise UnsafePickle("a broken pickle (a key without value)")
    if not isinstance(target, (dict, StandIn)):
        raise UnsafePickle("a broken pickle (entries for something that is no dictionary)")
    if isinstance(target, dict):
        for key, value in zip(flat[::2], flat[1::2], strict=True):
            # Nested tuples as keys could take forever to hash; tensors have names.
            if isinstance(key, (str, int, float, bytes)) or key is None:
                if (isinstance(key, int) and key.bit_length() > 64) or (
                    isinstance(key, (str, bytes)) and len(key) > LONGEST_NAME
                ):
                    raise UnsafePickle(f"a name of more than {LONGEST_NAME} characters")
                if key in target and isinstance(target[key], StoredTensor):
                    raise UnsafePickle(f"the name {key!r} twice")
                target[key] = value
    return target


def _named(module: Any, name: Any) -> Name:
    if not (isinstance(name, str) and isinstance(module, str)):
        raise UnsafePickle("a global name that is no text")
    found = Name(module, name)
    if module in ("builtins", "__builtin__"):
        if name in SETS:
            return found
    elif module.split(".")[0] in HARMLESS and "." not in name:
        return found
    raise UnsafePickle(f"the name {found}; it was not looked up, nothing was run")


def _made(function: Any, arguments: Any) -> Any:
    if not isinstance(function, Name) or not isinstance(arguments, tuple):
        return StandIn(Name("?", "?"))
    text = str(function)
    if text == "collections.OrderedDict":
        found: dict[Any, Any] = {}
        for pair in arguments[0] if arguments and isinstance(arguments[0], list) else ():
            _update(found, list(pair) if isinstance(pair, (list, tuple)) and len(pair) == 2 else [None, None])
        return found
    if text in ("torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor"):
        return _tensor(arguments)
    if text in ("torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state") and arguments:
        return arguments[0]
    if text == "torch.Size" and arguments:
        return arguments[0]
    return StandIn(function, arguments)


def _tensor(arguments: tuple[Any, ...]) -> Any:
    if len(arguments) < 4:
        raise UnsafePickle("a tensor without shape")
    storage, offset, shape, strides = arguments[:4]
    if not isinstance(storage, Storage):
        raise UnsafePickle("a tensor without storage")
    whole = (
        offset,
        *(shape if isinstance(shape, tuple) else (None,)),
        *(strides if isinstance(strides, tuple) else ()),
    )
    if not all(isinstance(part, int) and not isinstance(part, bool) for part in whole) or len(shape) != len(strides):
        raise UnsafePickle("a tensor whose shape is no list of counts")
    return StoredTensor(storage, offset, shape, strides)


def _storage(found: Any) -> Storage:
    """What a persistent id describes."""
    if not (isinstance(found, tuple) and len(found) >= 5 and found[0] == "storage" and isinstance(found[1], Name)):
        raise UnsafePickle("a persistent id that is no storage")
    if found[1].name not in STORAGES:
        raise UnsafePickle(f"a storage of type {found[1]}")
    if len(found) > 5 and found[5] is not None:
        raise UnsafePickle("a storage that is a view of another")
    if not isinstance(found[2], str) or not isinstance(found[4], int) or isinstance(found[4], bool) or found[4] < 0:
        raise UnsafePickle("a storage without key or size")
    return Storage(STORAGES[found[1].name], found[2], found[4])


_CONSTANTS: dict[str, Callable[[], Any]] = {
    "MARK": lambda: _MARK,
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_SET": list,
}
_LITERALS = frozenset(
    [
        "INT",
        "BININT",
        "BININT1",
        "BININT2",
        "LONG",
        "LONG1",
        "LONG4",
        "FLOAT",
        "BINFLOAT",
        "STRING",
        "BINSTRING",
        "SHORT_BINSTRING",
        "UNICODE",
        "BINUNICODE",
        "SHORT_BINUNICODE",
        "BINUNICODE8",
        "BINBYTES",
        "SHORT_BINBYTES",
        "BINBYTES8",
    ]
)
_PUTS = frozenset(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"))
_GETS = frozenset(("GET", "BINGET", "LONG_BINGET"))

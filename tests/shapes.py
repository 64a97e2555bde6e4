"""A type checker for jaxtyping's import hook that knows shapes and nothing else: no dependency, no surprises.

`pytest --jaxtyping-packages=certiformer.lab.models,shapes.checked` checks every `Float[Array, "n d"]` of the package,
the letters of one call together.
"""

import functools
import inspect
import types
import typing

from jaxtyping import AbstractArray


def checked(function):
    """The same function; an argument or a result that is no instance of its array annotation is a TypeError."""
    if inspect.isclass(function):
        return function
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args, **kwargs):
        hints = _hints(function)
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            _check(function, name, value, hints.get(name))
        result = function(*args, **kwargs)
        _check(function, "return", result, hints.get("return"))
        return result

    return call


@functools.cache
def _hints(function):
    try:
        return typing.get_type_hints(function)
    except Exception:  # names that exist for a type checker only
        return {}


def _check(function, name, value, hint):
    if not hasattr(value, "shape"):
        return
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    arrays = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, AbstractArray)]
    if arrays and not any(isinstance(value, kind) for kind in arrays):
        expected = " or ".join(kind.__name__ for kind in arrays)
        raise TypeError(f"{function.__qualname__}: {name} has shape {value.shape}, expected {expected}")

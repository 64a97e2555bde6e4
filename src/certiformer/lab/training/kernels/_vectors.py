"""Vector registers as values of a kernel: without them each kernel that uses them takes 1.4 to 3.1 times as long.

(CPU time of a step, the loops over arrays that stood here before against these, AVX-512: AR(L) Transformer 2.6, IndRNN
1.9, Arda's figure 1 with 16 heads 2.2, with 256 1.5, leave-one-out 1.4, Trauger's epoch at T = 20 3.1, at T = 200 1.7.)
A register holds sixteen numbers in single precision, or eight in double.

A loop over the rows of arrays loads and stores what it adds up at every turn, because two arrays might share memory,
and whether it becomes vector instructions is up to the compiler. What is kept in lanes stays in registers, and every
operation is one instruction on all of them (two where the processor's registers are half as wide).

    acc = zeros(array)                    # 0 in every lane, of the array's precision
    acc += load(array, place) * 0.5       # from a place of the array in memory order, whatever its shape
    store(array, place, acc)

Operators take lanes and numbers. Products and sums may be fused, but are not reordered, so that results do not hang on
the compiler; neither nan nor inf is assumed away. exp and tanh are arithmetic:

    e^x = 2^k e^r,  k the integer nearest to x / ln 2, |r| <= ln(2)/2,
    tanh(x/2) = m / (m + 2),  m = e^x - 1 = 2^k (e^r - 1) + (2^k - 1)

with e^r - 1 = r + r^2 p(r), p of degree 4 (error 3e-9) or 9 (4e-18). k is taken from the bits of x / ln 2 + 1.5 * 2^23
(or 2^52), which has no room for digits after the point.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model
from numba.np.arrayobj import make_array

from certiformer.lab.training.kernels._compile import inline

BYTES = 64
"""The width of a register."""
WHOLE = 16
"""Heads or units come in multiples of this, which is lanes of either precision."""
_FLAGS = ("contract", "nsz")


class Lanes(types.Type):
    """The type of a vector register of numbers of this kind."""

    def __init__(self, number: Any) -> None:
        super().__init__(name=f"lanes of {number}")
        self.number = number
        self.count = BYTES * 8 // number.bitwidth
        self.llvm = ir.VectorType(ir.FloatType() if number.bitwidth == 32 else ir.DoubleType(), self.count)


SINGLE, DOUBLE = Lanes(types.float32), Lanes(types.float64)


def _lanes_of(number: Any) -> Lanes:
    return SINGLE if number == types.float32 else DOUBLE


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, kind.llvm)  # type: ignore[no-untyped-call]


def _spread(context: Any, builder: Any, kind: Lanes, given: Any, value: Any) -> Any:
    """Lanes as they are; a number in every lane."""
    if isinstance(given, Lanes):
        return value
    number = context.cast(builder, value, given, kind.number)
    one = builder.insert_element(ir.Constant(kind.llvm, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    return builder.shuffle_vector(one, ir.Constant(kind.llvm, ir.Undefined), zeros)


def _pointwise(emit: Callable[[Any, list[Any]], Any]) -> Any:
    """A function of lanes and numbers, at least one of them lanes, that emits one operation."""

    def apply(typing: Any, a: Any, b: Any) -> Any:
        kind = a if isinstance(a, Lanes) else b

        def make(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            pairs = zip(signature.args, values, strict=True)
            return emit(builder, [_spread(context, builder, kind, given, value) for given, value in pairs])

        return kind(a, b), make

    return intrinsic(apply)


def _operator(name: str, *symbols: Any) -> None:
    """Teach the compiler what an operator means for lanes."""
    apply = _pointwise(lambda builder, pair: getattr(builder, name)(*pair, flags=_FLAGS))

    def operate(a: Any, b: Any) -> Any:
        return (lambda a, b: apply(a, b)) if isinstance(a, Lanes) or isinstance(b, Lanes) else None

    for symbol in symbols:
        overload(symbol, strict=False)(operate)


_operator("fadd", operator.add, operator.iadd)
_operator("fsub", operator.sub, operator.isub)
_operator("fmul", operator.mul, operator.imul)
_operator("fdiv", operator.truediv, operator.itruediv)

# of two numbers the first if it is not a number: so that what is not a number is not cut off
larger = _pointwise(lambda builder, pair: builder.select(builder.fcmp_ordered("<", *pair), pair[1], pair[0]))
smaller = _pointwise(lambda builder, pair: builder.select(builder.fcmp_ordered(">", *pair), pair[1], pair[0]))


def _flushed(builder: Any, pair: list[Any]) -> Any:
    value, least = pair
    small = builder.and_(builder.fcmp_ordered("<", value, least), builder.fcmp_ordered(">", value, builder.fneg(least)))
    return builder.select(small, ir.Constant(value.type, [0.0] * value.type.count), value)


flushed = _pointwise(_flushed)
"""0 where the size is below the second number: denormal numbers cost a hundred times more."""


def _address(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    data = make_array(kind)(context, builder, array).data  # type: ignore[no-untyped-call]
    first = builder.gep(data, [place])
    return builder.bitcast(first, _lanes_of(kind.dtype).llvm.as_pointer())


def _align(kind: Any) -> int:
    return int(kind.dtype.bitwidth // 8)


def _emit_load(typing: Any, array: Any, place: Any) -> Any:
    """The lanes from this place on, in memory order; the array must be contiguous, and nobody checks its end."""
    kind = _lanes_of(array.dtype)

    def make(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = context.cast(builder, values[1], signature.args[1], types.intp)
        return builder.load(_address(context, builder, signature.args[0], values[0], place), align=_align(array))

    return kind(array, types.intp), make


def _emit_each(typing: Any, array: Any, place: Any) -> Any:
    """The number at this place of the array, in memory order, in every lane."""
    kind = _lanes_of(array.dtype)

    def make(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = make_array(array)(context, builder, values[0]).data  # type: ignore[no-untyped-call]
        return _spread(context, builder, kind, array.dtype, builder.load(builder.gep(data, [values[1]])))

    return kind(array, types.intp), make


def _emit_store(typing: Any, array: Any, place: Any, lanes: Any) -> Any:
    """The lanes back to this place."""

    def make(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        builder.store(
            values[2], _address(context, builder, signature.args[0], values[0], values[1]), align=_align(array)
        )
        return context.get_dummy_value()

    return types.none(array, types.intp, lanes), make


def _emit_if_positive(typing: Any, sign: Any, lanes: Any, number: Any) -> Any:
    """The lanes where the first ones are positive, the number elsewhere."""

    def make(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        zero = ir.Constant(sign.llvm, [0.0] * sign.count)
        other = _spread(context, builder, lanes, number, values[2])
        return builder.select(builder.fcmp_ordered(">", values[0], zero), values[1], other)

    return lanes(sign, lanes, number), make


def _emit_zeros(typing: Any, array: Any) -> Any:
    """0 in every lane, of the array's precision."""
    kind = _lanes_of(array.dtype)
    return kind(array), lambda context, builder, signature, values: ir.Constant(kind.llvm, [0.0] * kind.count)


def _emit_total(typing: Any, lanes: Any) -> Any:
    """The sum over the lanes, halves added to halves."""

    def make(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        value, count = values[0], lanes.count
        while count > 1:
            count //= 2
            index = ir.VectorType(ir.IntType(32), count)
            low = builder.shuffle_vector(value, value, ir.Constant(index, list(range(count))))
            high = builder.shuffle_vector(value, value, ir.Constant(index, list(range(count, 2 * count))))
            value = builder.fadd(low, high)
        return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

    return lanes.number(lanes), make


def _emit_power(typing: Any, shifted: Any) -> Any:
    """2^k from x / ln 2 + 1.5 * 2^23 (or 2^52), whose last bits are k."""
    single = shifted.number == types.float32
    bits, mantissa, bias = (32, 23, 127) if single else (64, 52, 1023)

    def make(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        whole = ir.VectorType(ir.IntType(bits), shifted.count)
        raised = builder.shl(builder.bitcast(values[0], whole), ir.Constant(whole, [mantissa] * shifted.count))
        raised = builder.add(raised, ir.Constant(whole, [bias << mantissa] * shifted.count))
        return builder.bitcast(raised, shifted.llvm)

    return shifted(shifted), make


# typed as anything: what stands in a kernel is compiled, never called
load: Any = intrinsic(_emit_load)
each: Any = intrinsic(_emit_each)
store: Any = intrinsic(_emit_store)
zeros: Any = intrinsic(_emit_zeros)
if_positive: Any = intrinsic(_emit_if_positive)
total: Any = intrinsic(_emit_total)
_power: Any = intrinsic(_emit_power)


def _by_precision(name: str, single: Callable[..., Any], double: Callable[..., Any]) -> Callable[..., Any]:
    """A function of lanes that differs between the precisions."""

    def choose(x: Any) -> Any:  # pragma: no cover - never called, only compiled
        raise NotImplementedError(name)

    def chosen(x: Any) -> Any:
        return single if x.number == types.float32 else double

    overload(choose, strict=False)(chosen)
    return choose


def _parts_single(x: Any) -> Any:
    shifted = x * 1.4426950408889634 + 12582912.0
    k = shifted - 12582912.0
    r = (x - k * 0.693359375) + k * 2.12194440e-4
    square = r * r
    p = (
        0.499999934469
        + r * 0.166665206228
        + square * ((0.0416683882282 + r * 0.00836871771175) + square * 0.00138145898991)
    )
    return square * p + r, _power(shifted)


def _parts_double(x: Any) -> Any:
    shifted = x * 1.4426950408889634 + 6755399441055744.0
    k = shifted - 6755399441055744.0
    r = (x - k * 6.93145751953125e-1) - k * 1.42860682030941723212e-6
    square = r * r
    fourth = square * square
    low = (0.500000000000001063 + r * 0.1666666666666641249) + square * (
        0.04166666666653013254 + r * 0.008333333333494462017
    )
    high = (0.001388888894363650964 + r * 0.000198412695066041826) + square * (
        0.00002480149309271355405 + r * 2.755758633513282031e-6
    )
    p = low + fourth * (high + fourth * (2.763025045150039888e-7 + r * 2.500007747532340309e-8))
    return square * p + r, _power(shifted)


_parts = _by_precision("parts", _parts_single, _parts_double)
"""e^r - 1 and 2^k."""
_ends = _by_precision("ends", lambda x: (-87.0, 88.0, 20.0), lambda x: (-700.0, 700.0, 40.0))
"""Where exp is cut off, and where tanh of half of it is 1."""


@inline
def exp(x: Any) -> Any:
    """e^x in every lane, cut off where numbers end."""
    low, high, _ = _ends(x)
    less_one, power = _parts(smaller(larger(x, low), high))
    return power * less_one + power


@inline
def exp_down(x: Any, least: Any) -> Any:
    """e^x in every lane, for x at most 0; below `least` as much as there."""
    less_one, power = _parts(larger(x, least))
    return power * less_one + power


@inline
def tanh_of_half(x: Any) -> Any:
    """tanh(x / 2) in every lane."""
    end = _ends(x)[2]
    less_one, power = _parts(smaller(larger(x, -end), end))
    m = power * less_one + (power - 1.0)
    return m / (m + 2.0)


@inline
def log_of_one_plus(x: Any) -> Any:
    """log(1 + x) in every lane, for x from 0 to 1 in single precision: 2 artanh(s) with s = x / (2 + x) <= 1/3."""
    s = x / (x + 2.0)
    square = s * s
    p = 2.0 / 13.0 + square * (2.0 / 15.0)
    p = 2.0 / 11.0 + square * p
    p = 2.0 / 9.0 + square * p
    p = 2.0 / 7.0 + square * p
    p = 2.0 / 5.0 + square * p
    p = 2.0 / 3.0 + square * p
    return s * (2.0 + square * p)


def filled(rows: npt.NDArray[Any], whole: int, axis: int = -1) -> npt.NDArray[Any]:
    """Rows with as many zeros behind them as make their length a multiple of `whole`; contiguous."""
    missing = -rows.shape[axis] % whole
    if not missing:
        return np.ascontiguousarray(rows)
    shape = list(rows.shape)
    shape[axis] = missing
    return np.ascontiguousarray(np.concatenate([rows, np.zeros(shape, rows.dtype)], axis=axis))

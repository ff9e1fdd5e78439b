"""Eights: eight numbers as one value, which kernels keep in a register.

A compiler that must keep the order of a sum makes vector instructions of a loop over many sums.
But it cannot tell that the sums do not overlap what is read, and so takes them to memory and back
for every product, which costs more than the products. Here is what it lacks. Each sum keeps its
order, and no product is fused with what it is added to: results are those of plain loops.

To Python, eights are arrays, and `+` and `*` are those of arrays. Kernels have no other arithmetic
of them than that and what is here.

Vectors that are multiplied with many others lie in panels, eight abreast:

    panel 0   coordinate 0  v0 v1 v2 ... v7     coordinate 1  v0 v1 v2 ... v7     ...
    panel 1   coordinate 0  v8 v9 v10 ... v15   ...
"""

import operator
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import lower_builtin, models, register_model, type_callable

from sgtb.kernels import inner
from sgtb.learn.dtypes import Doubles, Floats

EIGHT = 8
_ROWS = 4
"""So many vectors meet two panels at once: eight sums, for each waits for its last addition."""


def zeros() -> Floats:
    """Return eight zeros."""
    return np.zeros(EIGHT, np.float32)


def load(values: Any, at: int) -> Any:
    """Return eight numbers of an array, from a place on."""
    return values[at : at + EIGHT].copy()


def column(values: Floats, row: int, at: int) -> Floats:
    """Return the numbers that eight rows have in one place, from a row on."""
    return values[row : row + EIGHT, at].copy()


def store(eight: Any, values: Any, at: int) -> None:
    """Write eight numbers to an array, from a place on; small counts to one of bytes, too."""
    values[at : at + EIGHT] = eight


def doubles(eight: Floats) -> Doubles:
    """Return the same numbers in double precision."""
    return eight.astype(np.float64)


def larger(eight: Floats, other: Floats) -> Floats:
    """Return the larger number of two, eight times; none of them is NaN."""
    found: Floats = np.maximum(eight, other)
    return found


def above(eight: Floats, other: Floats) -> Floats:
    """Return 1 where a number is above the other, 0 elsewhere."""
    return (eight > other).astype(np.float32)


def panel_room(n: int, width: int) -> int:
    """Return how long an array must be that holds the panels of n vectors."""
    return -(-n // EIGHT) * EIGHT * width


@inner
def fill_panels(rows: Floats, n: int, panels: Floats) -> None:
    """Write n vectors to panels. Up to seven rows more are read."""
    at = 0
    for r in range(0, n, EIGHT):
        for k in range(rows.shape[1]):
            store(column(rows, r, k), panels, at)
            at += EIGHT


@inner
def multiply_panels(
    rows: Floats, n: int, panels: Floats, first: int, last: int, out: Floats
) -> None:
    """Write the products of n vectors with those in panels `first` to `last` - 1, row by row.

    Up to three rows more are read, and their products written.
    """
    size = rows.shape[1] * EIGHT
    for p in range(first, last, 2):
        left, right = panels[p * size : (p + 1) * size], panels[(p + 1) * size : (p + 2) * size]
        at = (p - first) * EIGHT
        for r in range(0, n, _ROWS):
            a, b, c, d = rows[r], rows[r + 1], rows[r + 2], rows[r + 3]
            a0 = b0 = c0 = d0 = zeros()
            if p + 1 < last:
                a1 = b1 = c1 = d1 = zeros()
                for k in range(rows.shape[1]):
                    x, y = load(left, EIGHT * k), load(right, EIGHT * k)
                    a0, a1 = a0 + a[k] * x, a1 + a[k] * y
                    b0, b1 = b0 + b[k] * x, b1 + b[k] * y
                    c0, c1 = c0 + c[k] * x, c1 + c[k] * y
                    d0, d1 = d0 + d[k] * x, d1 + d[k] * y
                _store_four(a1, b1, c1, d1, out, r, at + EIGHT)
            else:
                for k in range(rows.shape[1]):
                    x = load(left, EIGHT * k)
                    a0, b0 = a0 + a[k] * x, b0 + b[k] * x
                    c0, d0 = c0 + c[k] * x, d0 + d[k] * x
            _store_four(a0, b0, c0, d0, out, r, at)


@inner
def _store_four(
    a: Floats, b: Floats, c: Floats, d: Floats, values: Floats, row: int, at: int
) -> None:
    store(a, values[row], at)
    store(b, values[row + 1], at)
    store(c, values[row + 2], at)
    store(d, values[row + 3], at)


# What the compiler makes of the functions above: their types, then their instructions.


class _Eight(types.Type):
    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(f"eight({dtype})")


@register_model(_Eight)
class _EightModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        number = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}[kind.dtype]
        lanes = ir.VectorType(number, EIGHT)
        super().__init__(manager, kind, lanes)  # type: ignore[no-untyped-call]


_typed: Any = type_callable  # numba's functions carry no types
_lowered: Any = lower_builtin
_address_of: Any = cgutils.get_item_pointer
_FLOATS, _DOUBLES = _Eight(types.float32), _Eight(types.float64)
_INDEX = ir.IntType(32)
_ALIGN = 1  # eights may begin at any number

_typed(zeros)(lambda _: lambda: _FLOATS)
# Eight numbers are read and written one after the other: arrays with a stride have no such type.
_typed(load)(lambda _: lambda values, at: _Eight(values.dtype) if values.layout == "C" else None)
_typed(column)(lambda _: lambda values, row, at: _Eight(values.dtype))
_typed(store)(lambda _: lambda eight, values, at: types.none if values.layout == "C" else None)
_typed(doubles)(lambda _: lambda eight: _DOUBLES)
_typed(larger)(lambda _: lambda eight, other: eight)
_typed(above)(lambda _: lambda eight, other: eight)
_typed(operator.add)(lambda _: lambda a, b: a if isinstance(a, _Eight) and a == b else None)
_typed(operator.mul)(lambda _: lambda a, b: b if isinstance(b, _Eight) and a == b.dtype else None)


@_lowered(zeros)
def _zeros(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return ir.Constant(context.get_value_type(_FLOATS), None)


@_lowered(load, types.Array, types.Integer)
def _load(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    values, at = args
    place = _address(context, builder, signature.args[0], values, [at])
    lanes = context.get_value_type(signature.return_type)
    return builder.load(builder.bitcast(place, lanes.as_pointer()), align=_ALIGN)


@_lowered(column, types.Array, types.Integer, types.Integer)
def _column(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    values, row, at = args
    eight = ir.Constant(context.get_value_type(signature.return_type), ir.Undefined)
    for i in range(EIGHT):
        indices = [builder.add(row, ir.Constant(row.type, i)), at]
        number = builder.load(_address(context, builder, signature.args[0], values, indices))
        eight = builder.insert_element(eight, number, ir.Constant(_INDEX, i))
    return eight


@_lowered(store, _Eight, types.Array, types.Integer)
def _store(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    eight, values, at = args
    if signature.args[1].dtype == types.uint8:
        eight = builder.fptoui(eight, ir.VectorType(ir.IntType(8), EIGHT))
    place = _address(context, builder, signature.args[1], values, [at])
    builder.store(eight, builder.bitcast(place, eight.type.as_pointer()), align=_ALIGN)
    return context.get_dummy_value()


@_lowered(doubles, _Eight)
def _doubles(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.fpext(args[0], context.get_value_type(_DOUBLES))


@_lowered(larger, _Eight, _Eight)
def _larger(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", *args), *args)


@_lowered(above, _Eight, _Eight)
def _above(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.uitofp(builder.fcmp_ordered(">", *args), args[0].type)


@_lowered(operator.add, _Eight, _Eight)
def _add(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.fadd(*args)


@_lowered(operator.mul, types.Float, _Eight)
def _multiply(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    factor, eight = args
    undefined = ir.Constant(eight.type, ir.Undefined)
    one = builder.insert_element(undefined, factor, ir.Constant(_INDEX, 0))
    from_first = ir.Constant(ir.VectorType(_INDEX, EIGHT), None)
    return builder.fmul(builder.shuffle_vector(one, undefined, from_first), eight)


def _address(context: Any, builder: Any, kind: Any, values: Any, indices: Any) -> Any:
    array = context.make_array(kind)(context, builder, values)
    return _address_of(context, builder, kind, array, indices, wraparound=False)

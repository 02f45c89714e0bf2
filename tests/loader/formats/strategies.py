"""What may be in a shard, as Hypothesis strategies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

INTEGERS = (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.int8(), pa.int16(), pa.int32(), pa.int64())


def ids(type_: pa.DataType) -> st.SearchStrategy[int]:
    """Ids that `type_` can hold, its extremes among them."""
    bits = type_.bit_width
    signed = pa.types.is_signed_integer(type_)
    return st.integers(-(1 << (bits - 1)) if signed else 0, (1 << (bits - signed)) - 1)


@dataclass(frozen=True)
class Column:
    """A token column: its rows and its type."""

    documents: list[list[int] | None]
    type_: pa.DataType
    element_name: str

    def array(self) -> pa.Array[Any]:
        """The rows as an Arrow array."""
        return pa.array(self.documents, self.type_)


@st.composite
def columns(draw: st.DrawFn, min_list_size: int = 0) -> Column:
    """List columns of every kind and integer type, with null and empty rows; fixed sizes from `min_list_size`."""
    element = draw(st.sampled_from(INTEGERS))
    size = draw(st.none() | st.integers(min_list_size, 4))
    document = st.lists(ids(element), min_size=size or 0, max_size=6 if size is None else size)
    documents = draw(st.lists(st.none() | document, max_size=40))
    if size is not None:
        return Column(documents, pa.list_(element, size), str(element))
    return Column(documents, draw(st.sampled_from((pa.list_(element), pa.large_list(element)))), str(element))


def _text(rows: range) -> pa.Array[Any]:
    return pa.array([f"row {row}" if row % 3 else None for row in rows], pa.string())


def _runs(rows: range) -> pa.Array[Any]:
    ends = [len(rows)] if rows else []
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), pa.array(["x"] * len(ends), pa.string()))


def _sparse(rows: range) -> pa.Array[Any]:
    return pa.UnionArray.from_sparse(pa.array([0] * len(rows), pa.int8()), [_text(rows), pa.array(rows, pa.int64())])


def _dense(rows: range) -> pa.Array[Any]:
    places = pa.array(rows, pa.int32())
    return pa.UnionArray.from_dense(pa.array([0] * len(rows), pa.int8()), places, [_text(rows), places])


_NEIGHBOURS: dict[str, Callable[[range], pa.Array[Any]]] = {
    "text": _text,
    "large_text": lambda rows: _text(rows).cast(pa.large_string()),
    "text_view": lambda rows: pa.array(
        [None if row % 5 == 0 else "a text of more than twelve" for row in rows], pa.string_view()
    ),
    "binary_view": lambda rows: pa.array([b"short" for _ in rows], pa.binary_view()),
    "dictionary": lambda rows: _text(rows).dictionary_encode(),
    "nothing": lambda rows: pa.nulls(len(rows)),
    "flag": lambda rows: pa.array([row % 2 == 0 for row in rows], pa.bool_()),
    "struct": lambda rows: pa.array(
        [{"a": row, "b": "x"} for row in rows], pa.struct([("a", pa.int8()), ("b", pa.string())])
    ),
    "map": lambda rows: pa.array([[("k", row)] for row in rows], pa.map_(pa.string(), pa.int64())),
    "nested": lambda rows: pa.array([[["x"], []] for _ in rows], pa.list_(pa.list_(pa.string_view()))),
    "list_view": lambda rows: pa.array([[row] for row in rows], pa.list_view(pa.int64())),
    "fixed": lambda rows: pa.array([[row, row] for row in rows], pa.list_(pa.int64(), 2)),
    "decimal": lambda rows: pa.array([None for _ in rows], pa.decimal128(10, 2)),
    "runs": _runs,
    "sparse": _sparse,
    "dense": _dense,
}


@st.composite
def neighbours(draw: st.DrawFn, num_rows: int) -> dict[str, pa.Array[Any]]:
    """Other columns, of types with every number of nodes and buffers, that stand before the token column."""
    names = draw(st.lists(st.sampled_from(sorted(_NEIGHBOURS)), max_size=4, unique=True))
    return {name: _NEIGHBOURS[name](range(num_rows)) for name in names}


@st.composite
def batch_sizes(draw: st.DrawFn, num_rows: int) -> list[int]:
    """Sizes of record batches that sum to `num_rows`, empty ones among them."""
    sizes: list[int] = []
    while sum(sizes) < num_rows:
        sizes.append(min(draw(st.integers(0, 8)), num_rows - sum(sizes)))
    return sizes or [0]


def ipc_options() -> st.SearchStrategy[dict[str, Any]]:
    """Ways to write the same record batches."""
    return st.fixed_dictionaries(
        {
            "stream": st.booleans(),
            "compression": st.sampled_from((None, "lz4", "zstd")),
            "allow_64bit": st.just(True),
            "use_legacy_format": st.booleans(),
        }
    )

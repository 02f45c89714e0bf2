"""Where a token column is in every record batch of an Arrow schema, or why it can't be one.

A record batch lists one node for each field and a fixed number of buffers for each type, depth first, so the place of
a column's nodes and buffers follows from the fields before it.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import asdict, dataclass
from enum import Enum

import numpy as np

from headrace.formats.faults import ColumnError, CorruptError
from headrace.formats.ipc.flatbuffer import BOOL, INT8, INT16, INT32, Table

_NULL, _INT, _LIST, _UNION, _FIXED_SIZE_LIST, _LARGE_LIST = 1, 2, 12, 14, 16, 21
_VIEWS = (23, 24)
_MAX_DEPTH = 64
# Type number in Schema.fbs: name and buffers (`_extent` adds those of unions).
_TYPES = {
    1: ("null", 0), 2: ("int", 2), 3: ("float", 2), 4: ("binary", 3), 5: ("string", 3), 6: ("bool", 2),
    7: ("decimal", 2), 8: ("date", 2), 9: ("time", 2), 10: ("timestamp", 2), 11: ("interval", 2), 12: ("list", 2),
    13: ("struct", 1), 14: ("union", 1), 15: ("fixed_size_binary", 2), 16: ("fixed_size_list", 1), 17: ("map", 2),
    18: ("duration", 2), 19: ("large_binary", 3), 20: ("large_string", 3), 21: ("large_list", 2),
    22: ("run_end_encoded", 0), 23: ("binary_view", 2), 24: ("string_view", 2), 25: ("list_view", 3),
    26: ("large_list_view", 3),
}  # fmt: skip


class Layout(Enum):
    """How the column holds documents."""

    FLAT = "one document a record batch"
    LIST = "list"
    LARGE_LIST = "large_list"
    FIXED_SIZE_LIST = "fixed_size_list"
    NULL = "null"


@dataclass(frozen=True, slots=True)
class TokenColumn:
    """A token column: its layout, the type of its tokens, and its place among the nodes and buffers of a record batch.

    `list_size` is the length of every list of a FIXED_SIZE_LIST; `has_elements` is false where the elements are of type
    null. `views` is how many view-typed fields come before it, each of which adds a variable number of buffers.
    """

    layout: Layout
    dtype: np.dtype[np.integer]
    node: int
    buffer: int
    views: int
    list_size: int = 0
    has_elements: bool = True

    @property
    def is_nested(self) -> bool:
        """Whether a document is a row (and not a record batch)."""
        return self.layout in (Layout.LIST, Layout.LARGE_LIST, Layout.FIXED_SIZE_LIST)

    def to_json(self) -> str:
        """The column as text, for `from_json`."""
        return json.dumps({**asdict(self), "layout": self.layout.value, "dtype": self.dtype.str})

    @classmethod
    def from_json(cls, text: str) -> TokenColumn:
        """The column that `to_json` wrote."""
        facts = json.loads(text)
        return cls(**{**facts, "layout": Layout(facts["layout"]), "dtype": np.dtype(facts["dtype"])})


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a schema; `type_id` is the number of its type in Schema.fbs."""

    name: str
    type_id: int
    type_table: Table | None
    is_dictionary: bool
    extension: str | None
    children: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """The fields and key–value metadata of an Arrow schema; `version` is that of the encoding (3 is V4, 4 is V5)."""

    fields: tuple[Field, ...]
    metadata: dict[str, str]
    version: int

    @classmethod
    def parse(cls, table: Table, version: int) -> Schema:
        """Reads a Schema table; raises CorruptError for damaged metadata, ColumnError for big-endian data."""
        if table.number(0, INT16) != 0:
            raise ColumnError(
                "holds big-endian data; write it on, or convert it with pyarrow to, a little-endian machine"
            )
        fields = tuple(_parse_field(field, 0) for field in table.tables(1))
        return cls(fields, _key_values(table, 2), version)


def _key_values(table: Table, field: int) -> dict[str, str]:
    return {pair.text(0) or "": pair.text(1) or "" for pair in table.tables(field)}


def _parse_field(table: Table, depth: int) -> Field:
    if depth > _MAX_DEPTH:
        raise CorruptError(f"the schema nests fields deeper than {_MAX_DEPTH}")
    type_id = table.number(2, INT8)
    if type_id not in _TYPES:
        raise CorruptError(f"the schema has a field of unknown type {type_id}")
    children = tuple(_parse_field(child, depth + 1) for child in table.tables(5))
    extension = _key_values(table, 6).get("ARROW:extension:name")
    return Field(table.text(0) or "", type_id, table.table(3), table.table(4) is not None, extension, children)


def describe(field: Field) -> str:
    """The type of `field` as a user would write it."""
    if field.extension is not None:
        return f"extension '{field.extension}'"
    name = _TYPES[field.type_id][0]
    if field.type_id == _INT:
        name = _integer_dtype(field).name
    if field.children:
        name += f"<{', '.join(describe(child) for child in field.children)}>"
    return f"dictionary<{name}>" if field.is_dictionary else name


def _integer_dtype(field: Field) -> np.dtype[np.integer]:
    bits = field.type_table.number(0, INT32) if field.type_table else 0
    if bits not in (8, 16, 32, 64):
        raise CorruptError(f"the schema has an integer of {bits} bits")
    signed = field.type_table is not None and field.type_table.number(1, BOOL)
    return np.dtype(f"<{'i' if signed else 'u'}{bits // 8}")


def _extent(field: Field, version: int) -> tuple[int, int, int]:
    """Nodes, fixed buffers and view-typed fields of `field` and everything below it."""
    if field.is_dictionary:
        return 1, 2, 0
    nodes, buffers, views = 1, _TYPES[field.type_id][1], int(field.type_id in _VIEWS)
    if field.type_id == _UNION:
        is_dense = field.type_table is not None and field.type_table.number(0, INT16) == 1
        buffers += int(is_dense) + int(version < 4)
    for child in field.children:
        below = _extent(child, version)
        nodes, buffers, views = nodes + below[0], buffers + below[1], views + below[2]
    return nodes, buffers, views


def find_column(schema: Schema, column: str) -> TokenColumn:
    """The token column named `column`; raises ColumnError where it is missing, repeated or of a type without tokens."""
    names = [field.name for field in schema.fields]
    if names.count(column) != 1:
        raise ColumnError(missing_column(column, names))
    before = schema.fields[: names.index(column)]
    node, buffer, views = (
        sum(part) for part in zip((0, 0, 0), *(_extent(f, schema.version) for f in before), strict=True)
    )
    field = schema.fields[names.index(column)]
    shape = _token_shape(field)
    if shape is None:
        raise ColumnError(wrong_type(column, describe(field)))
    layout, dtype, has_elements = shape
    list_size = field.type_table.number(0, INT32) if layout is Layout.FIXED_SIZE_LIST and field.type_table else 0
    return TokenColumn(layout, dtype, node, buffer, views, list_size, has_elements)


_LISTS = {_LIST: Layout.LIST, _LARGE_LIST: Layout.LARGE_LIST, _FIXED_SIZE_LIST: Layout.FIXED_SIZE_LIST}


def _is_plain(field: Field, type_id: int) -> bool:
    return field.type_id == type_id and not field.is_dictionary and field.extension is None


def _token_shape(field: Field) -> tuple[Layout, np.dtype[np.integer], bool] | None:
    """Layout, token type and whether there are elements; None when the type can't hold tokens."""
    nothing = np.dtype(np.uint8)
    if _is_plain(field, _INT):
        return Layout.FLAT, _integer_dtype(field), True
    if _is_plain(field, _NULL):
        return Layout.NULL, nothing, False
    layout = _LISTS.get(field.type_id)
    if layout is None or not _is_plain(field, field.type_id) or len(field.children) != 1:
        return None
    element = field.children[0]
    if _is_plain(element, _INT):
        return layout, _integer_dtype(element), True
    return (layout, nothing, False) if _is_plain(element, _NULL) else None


def missing_column(column: str, names: list[str]) -> str:
    """The complaint about a column that is not there once, with what is there and the closest name."""
    count = names.count(column)
    if count > 1:
        return f"has {count} columns named '{column}'; there must be exactly one"
    close = difflib.get_close_matches(column, names, 1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    shown = ", ".join(repr(name) for name in names[:20]) + (", …" if len(names) > 20 else "")
    return f"has no column '{column}'; its columns are {shown or 'none'}{hint}"


def wrong_type(column: str, type_name: str) -> str:
    """The complaint about a column whose type holds no tokens."""
    return (
        f"has column '{column}' of type {type_name}; tokens must be a list, large_list or fixed_size_list of integers "
        "(8 to 64 bits), or in Arrow IPC an integer column with one document a record batch"
    )

"""The text column of Parquet and Arrow files, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.places import File
from headrace.tokenize.reading.rows import BadFileError, Row, Wanted, decoded
from headrace.tokenize.reading.stream import FileStream
from headrace.tokenize.units import Part

_BATCH_BYTES: Final = 4 << 20
_MAX_ROWS: Final = 1024
_WHERE: Final = "name it by --text-column, or leave the file out"


def read_parquet(part: Part, wanted: Wanted, file: File, skip: int) -> Iterator[tuple[int, Row]]:
    """The rows of the part's row groups; see `read_part`."""
    stream = FileStream(file)
    row = part.first_row
    try:
        opened = pq.ParquetFile(pa.PythonFile(stream, mode="r"), buffer_size=1 << 20, pre_buffer=False)
        _check_column(opened.schema_arrow, wanted.column, row)
        last = opened.num_row_groups if part.end is None else part.end
        for number in range(part.start, last):
            group = opened.metadata.row_group(number)
            if row + group.num_rows - part.first_row <= skip:
                row += group.num_rows
                continue
            sizes = opened.iter_batches(
                batch_size=_batch_rows(group), row_groups=[number], columns=[wanted.column], use_threads=False
            )
            for batch in sizes:
                yield from _rows(batch.column(0), wanted, row, part.first_row + skip)
                row += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        raise _fault(error, stream, row) from error


def read_arrow(part: Part, wanted: Wanted, file: File, skip: int) -> Iterator[tuple[int, Row]]:
    """The rows of an Arrow file or stream; see `read_part`. Of a cut file, the whole batches."""
    stream = FileStream(file)
    row = 0
    try:
        batches, cut = _batches(stream)
        schema = batches.schema
        _check_column(schema, wanted.column, row)
        place = schema.get_field_index(wanted.column)
        for batch in batches:
            yield from _rows(batch.column(place), wanted, row, skip)
            row += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        raise _fault(error, stream, row) from error
    if cut is not None:
        raise BadFileError(f"is cut: {row} rows were recovered, and its footer is not there ({cut})", row)


class _FileBatches:
    """The record batches of an Arrow file, one after the other."""

    def __init__(self, opened: pa.RecordBatchFileReader) -> None:
        self.schema = opened.schema
        self._opened = opened

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return (self._opened.get_batch(number) for number in range(self._opened.num_record_batches))


def _batches(stream: FileStream) -> tuple[_FileBatches | pa.RecordBatchStreamReader, str | None]:
    """The batches, and what is wrong with a file that has to be read as a stream because its end is gone."""
    cut = None
    if stream.read(6) == b"ARROW1":
        try:
            return _FileBatches(pa.ipc.open_file(pa.PythonFile(stream, mode="r"))), None
        except pa.ArrowException as error:
            cut = str(error)
            stream.seek(8)
    else:
        stream.seek(0)
    return pa.ipc.open_stream(pa.PythonFile(stream, mode="r")), cut


def _check_column(schema: pa.Schema, column: str, row: int) -> None:
    if schema.names.count(column) != 1:
        there = ", ".join(schema.names[:12]) or "none"
        many = "several columns" if column in schema.names else "no column"
        raise BadFileError(f"has {many} {column!r}; its columns are {there}: {_WHERE}", row)
    kind = schema.field(column).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not (_is_binary(kind) or pa.types.is_null(kind)):
        raise BadFileError(f"has {kind} in column {column!r}, which is no text: {_WHERE}", row)


def _is_binary(kind: pa.DataType) -> bool:
    tests = (
        pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary,
        pa.types.is_string_view, pa.types.is_binary_view,
    )  # fmt: skip
    return any(test(kind) for test in tests)


def _batch_rows(group: pq.RowGroupMetaData) -> int:
    """So many rows that they are a few MiB of text."""
    mean = group.total_byte_size / max(1, group.num_rows)
    return max(1, min(_MAX_ROWS, int(_BATCH_BYTES / max(1.0, mean))))


def _rows(column: pa.Array, wanted: Wanted, first_row: int, from_row: int) -> Iterator[tuple[int, Row]]:  # type: ignore[type-arg]
    skipped = min(len(column), max(0, from_row - first_row))
    if skipped == len(column):
        return
    column = column.slice(skipped)
    for number, content in enumerate(_contents(column), first_row + skipped):
        yield number, None if content is None else decoded(content, wanted.max_bytes)


def _contents(column: pa.Array) -> Iterator[bytes | None]:  # type: ignore[type-arg]
    """UTF-8 of each row, unchecked."""
    for start in range(0, len(column), _MAX_ROWS):
        some = column.slice(start, _MAX_ROWS)
        if isinstance(some, pa.DictionaryArray):
            some = some.dictionary_decode()
        if pa.types.is_null(some.type):
            yield from [None] * len(some)
            continue
        view = pa.types.is_string_view(some.type) or pa.types.is_binary_view(some.type)
        yield from some.cast(pa.binary_view() if view else pa.large_binary()).to_pylist()


def _fault(error: Exception, stream: FileStream, row: int) -> Exception:
    if stream.failure is not None:
        return stream.failure
    return BadFileError(f"can't be read from row {row} on ({error})", row)

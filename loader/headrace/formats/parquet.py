"""Parquet shards with a list column: a block is a row group, and its counts come from the footer.

In a list column's leaf, `num_values` counts one value for each null or empty list, and the `null_count` of its
statistics counts just those (so do Arrow C++, Polars and DuckDB). A row group therefore has `num_values - null_count`
tokens in `num_rows - null_count` documents, unless an element is null: that, and every count, is checked again when
the row group is read. Which of the skipped rows are null and which empty the footer does not say; they are all
counted as empty.

A row group is one block, and so is decoded as a whole; one of more than 2^23 tokens is decoded some pages at a time
into its final place, which takes little more memory than its tokens.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.formats.faults import BadRowError, ColumnError, CorruptError, check_counts, naming
from headrace.formats.index import ShardIndex, index_key, load_index, store_index
from headrace.formats.ipc.schema import missing_column, wrong_type
from headrace.formats.magic import PARQUET_MAGIC
from headrace.formats.ranged import RangedReader
from headrace.formats.shard import Block, BlockTable, Int64Array
from headrace.places import File, LocalFile

LARGE_TOKENS: Final = 1 << 23
"""Elements of a row group from which on it is decoded in parts."""

_PART_TOKENS: Final = 1 << 21
_PART_BYTES: Final = 1 << 23


@dataclass(frozen=True, slots=True)
class _Leaf:
    """The token column's one leaf: its index and dotted path in the Parquet schema, and the type of its tokens."""

    index: int
    path: str
    dtype: np.dtype[np.integer]
    has_tokens: bool


class ParquetShard:
    """A Parquet shard, open for reading; see `ShardFile`."""

    def __init__(self, metadata: pq.FileMetaData, column: str, file: File) -> None:
        self._metadata = metadata
        self._file = file
        self._path = file.name
        self._column_name = column
        with naming(self._path):
            self._leaf = _find_leaf(metadata, column)
            self._table = _footer_table(metadata, self._leaf)
        self._lock = threading.Lock()

    def table(self) -> BlockTable:
        """See `ShardFile.table`."""
        with self._lock:
            if self._table is None:
                self._table = self._counted()
            return self._table

    def open_block(self, index: int) -> Block:
        """See `ShardFile.open_block`."""
        table = self.table()
        first_row = int(table.first_row[index])
        with naming(self._path, index, first_row):
            documents = self._read(index)
            kept = np.flatnonzero(documents.lengths > 0)
            lengths = documents.lengths[kept]
            check_counts(len(kept), int(lengths.sum()), int(table.num_documents[index]), int(table.num_tokens[index]))
        nbytes = documents.tokens.nbytes + 3 * lengths.nbytes
        return Block(documents.tokens, documents.starts[kept], lengths, first_row + kept, nbytes, documents.tokens)

    def close(self) -> None:
        """See `ShardFile.close`; nothing is held open between reads."""

    def _read(self, index: int) -> _Documents:
        self._file.check()
        column = self._metadata.row_group(index).column(self._leaf.index)
        is_large = column.num_values > LARGE_TOKENS
        with self._opened(column, is_large=is_large) as file:
            if not is_large:
                group = file.read_row_group(index, columns=[self._leaf.path], use_threads=False)
                return _join(_all_documents(group.column(0).chunks, self._leaf.dtype), self._leaf.dtype)
            rows = max(1, self._metadata.row_group(index).num_rows * _PART_TOKENS // column.num_values)
            parts = file.iter_batches(rows, row_groups=[index], columns=[self._leaf.path], use_threads=False)
            documents = _all_documents((part.column(0) for part in parts), self._leaf.dtype)
            return _join_large(documents, self._leaf.dtype, column.num_values)

    @contextmanager
    def _opened(self, column: pq.ColumnChunkMetaData, *, is_large: bool) -> Iterator[pq.ParquetFile]:
        """The file, of which `column` will be read; on object storage at once, or in pieces where it is large."""
        source: str | Path | pa.PythonFile
        if isinstance(self._file, LocalFile):
            source = self._file.path
        else:
            first = column.data_page_offset
            if column.dictionary_page_offset:
                first = min(first, column.dictionary_page_offset)
            ahead = None if is_large else (first, column.total_compressed_size)
            source = pa.PythonFile(RangedReader(self._file, ahead), mode="r")
        with _decoding():
            # A ParquetFile must not be shared by threads; the parsed footer may.
            file = pq.ParquetFile(
                source,
                metadata=self._metadata,
                buffer_size=_PART_BYTES if is_large else 0,
                page_checksum_verification=True,
            )
            try:
                yield file
            finally:
                file.close()

    def _counted(self) -> BlockTable:
        """The counts from the cache, or from decoding every row group once."""
        key = index_key(self._file, self._column_name)
        known = load_index(key)
        if known is None:
            known = self._count()
            store_index(key, known)
        return known.table

    def _count(self) -> ShardIndex:
        num_rows = _rows_of_groups(self._metadata)
        first_row = np.cumsum(num_rows) - num_rows
        num_documents, num_tokens = np.zeros_like(num_rows), np.zeros_like(num_rows)
        num_null = 0
        for group in range(len(num_rows)):
            with naming(self._path, group, int(first_row[group])):
                documents = self._read(group)
            num_documents[group] = (documents.lengths > 0).sum()
            num_tokens[group] = documents.lengths.sum()
            num_null += documents.num_null
        num_empty = int((num_rows - num_documents).sum()) - num_null
        table = BlockTable(first_row, num_rows, num_documents, num_tokens, num_empty, num_null, self._leaf.dtype)
        return ShardIndex.of(table)


@dataclass(frozen=True, slots=True)
class _Documents:
    """Rows of a row group: row `i` is `tokens[starts[i] : starts[i] + lengths[i]]`, empty where it is null."""

    tokens: npt.NDArray[np.integer]
    starts: Int64Array
    lengths: Int64Array
    num_null: int


def open_parquet(tail: bytes, column: str, file: File) -> ParquetShard:
    """Opens a Parquet file that ends in `tail` from its footer alone; raises ShardError or SourceError naming it."""
    with naming(file.name), _decoding():
        size = int.from_bytes(tail[-8:-4], "little") + 2 * len(PARQUET_MAGIC)
        if size > file.size_bytes:
            raise CorruptError(f"says that its footer has {size - 8} bytes")
        footer = tail if size <= len(tail) else file.read(file.size_bytes - size, size).tobytes()
        metadata = pq.read_metadata(pa.BufferReader(footer))
    return ParquetShard(metadata, column, file)


@contextmanager
def _decoding() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, ValueError, LookupError, ArithmeticError, MemoryError) as error:
        raise CorruptError(f"can't be decoded ({error})") from error


def _find_leaf(metadata: pq.FileMetaData, column: str) -> _Leaf:
    with _decoding():
        schema = metadata.schema.to_arrow_schema()
    if schema.names.count(column) != 1:
        raise ColumnError(missing_column(column, schema.names))
    place = schema.names.index(column)
    kind = schema.field(place).type
    is_list = isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType)
    element = kind.value_type if is_list else kind
    is_token = is_list and pa.types.is_integer(element)
    if not is_token and not pa.types.is_null(element):
        raise ColumnError(wrong_type(column, str(kind)))
    leaf = sum(_num_leaves(schema.field(before).type) for before in range(place))
    dtype = np.dtype(element.to_pandas_dtype()) if is_token else np.dtype(np.uint8)
    return _Leaf(leaf, metadata.schema.column(leaf).path, dtype, is_token)


def _num_leaves(kind: pa.DataType) -> int:
    """How many Parquet columns hold an Arrow column of this type."""
    if isinstance(kind, pa.BaseExtensionType):
        return _num_leaves(kind.storage_type)
    return sum(_num_leaves(kind.field(child).type) for child in range(kind.num_fields)) or 1


def _rows_of_groups(metadata: pq.FileMetaData) -> Int64Array:
    return np.array([metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)], np.int64)


def _footer_table(metadata: pq.FileMetaData, leaf: _Leaf) -> BlockTable | None:
    """The counts as the footer proves them, or None when its statistics are missing or contradict themselves."""
    num_rows = _rows_of_groups(metadata)
    num_values, num_nulls = np.zeros_like(num_rows), np.zeros_like(num_rows)
    smallest: list[int] = []
    largest: list[int] = []
    bounded = True
    for group in np.flatnonzero(num_rows):
        chunk = metadata.row_group(int(group)).column(leaf.index)
        statistics = chunk.statistics
        if statistics is None or statistics.null_count is None or not leaf.has_tokens:
            return None
        num_values[group], num_nulls[group] = chunk.num_values, statistics.null_count
        if statistics.min is not None and statistics.max is not None:
            smallest.append(int(statistics.min))
            largest.append(int(statistics.max))
        elif num_values[group] > num_nulls[group]:
            bounded = False
    num_tokens, num_documents = num_values - num_nulls, num_rows - num_nulls
    if ((num_documents < 0) | (num_tokens < num_documents) | ((num_documents == 0) != (num_tokens == 0))).any():
        return None
    return BlockTable(
        first_row=np.cumsum(num_rows) - num_rows,
        num_rows=num_rows,
        num_documents=num_documents,
        num_tokens=num_tokens,
        num_empty=int(num_nulls.sum()),
        num_null=0,
        token_dtype=leaf.dtype,
        max_token=max(largest, default=None) if bounded else None,
        min_token=min(smallest, default=None) if bounded else None,
    )


def _documents(chunk: pa.Array[Any], dtype: np.dtype[np.integer]) -> _Documents:
    """The rows of one chunk of the token column; raises BadRowError for a null element."""
    num_rows = len(chunk)
    if isinstance(chunk, pa.FixedSizeListArray):
        offsets = (chunk.offset + np.arange(num_rows + 1, dtype=np.int64)) * chunk.type.list_size
    elif isinstance(chunk, pa.ListArray | pa.LargeListArray):
        offsets = chunk.offsets.to_numpy().astype(np.int64)
    else:
        zeros = np.zeros(num_rows, np.int64)
        return _Documents(np.empty(0, dtype), zeros, zeros, num_rows)
    is_null = chunk.is_null().to_numpy(zero_copy_only=False)
    starts, lengths = offsets[:-1], np.where(is_null, 0, np.diff(offsets))
    values = chunk.values
    if values.null_count:
        nulls = np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))
        has_null = np.searchsorted(nulls, starts + lengths) > np.searchsorted(nulls, starts)
        if has_null.any():
            raise BadRowError(int(np.argmax(has_null)), "has a null among its tokens; tokens must not be null")
    data = values.buffers()[-1] if len(values) else None
    tokens = np.empty(0, dtype)
    if data is not None:
        memory = memoryview(data)
        tokens = np.frombuffer(memory, dtype, len(values), values.offset * dtype.itemsize)
    return _Documents(tokens, starts, lengths, int(is_null.sum()))


def _all_documents(chunks: Iterable[pa.Array[Any]], dtype: np.dtype[np.integer]) -> Iterator[_Documents]:
    """The rows of chunk after chunk; raises BadRowError, rows counted from the first chunk's first."""
    rows_before = 0
    for chunk in chunks:
        try:
            yield _documents(chunk, dtype)
        except BadRowError as error:
            raise BadRowError(rows_before + error.row, str(error)) from error
        rows_before += len(chunk)


def _join(chunks: Iterable[_Documents], dtype: np.dtype[np.integer]) -> _Documents:
    parts = list(chunks)
    if len(parts) == 1:
        return parts[0]
    return _join_large(parts, dtype, sum(len(part.tokens) for part in parts))


def _join_large(parts: Iterable[_Documents], dtype: np.dtype[np.integer], num_tokens: int) -> _Documents:
    """The rows of all parts, of at most `num_tokens` tokens together, copied one part after another."""
    tokens = np.empty(num_tokens, dtype)
    starts, lengths = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    used = num_null = 0
    for part in parts:
        first = int(part.starts.min(initial=len(part.tokens)))
        last = int((part.starts + part.lengths).max(initial=first))
        if used + last - first > num_tokens:
            raise CorruptError(f"holds more than the {num_tokens} values that its footer says")
        tokens[used : used + last - first] = part.tokens[first:last]
        starts.append(part.starts + (used - first))
        lengths.append(part.lengths)
        used, num_null = used + last - first, num_null + part.num_null
    return _Documents(tokens[:used], np.concatenate(starts), np.concatenate(lengths), num_null)

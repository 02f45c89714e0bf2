"""Writing shards in every layout, and reading them back the slow way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from headrace.formats import ShardFile, open_shard

Documents = Sequence[Sequence[int] | None]


def read_back(shard: ShardFile) -> list[tuple[int, list[int]]]:
    """Every document of the shard as (row, ids), block by block, with each block's counts checked against the table."""
    table = shard.table()
    documents: list[tuple[int, list[int]]] = []
    for index in range(table.num_blocks):
        block = shard.open_block(index)
        assert block.tokens.dtype == table.token_dtype
        assert block.starts.dtype == block.lengths.dtype == block.rows.dtype == np.int64
        assert len(block.starts) == len(block.lengths) == len(block.rows) == table.num_documents[index]
        assert block.lengths.sum() == table.num_tokens[index]
        last_row = table.first_row[index] + table.num_rows[index]
        assert all(table.first_row[index] <= row < last_row for row in block.rows)
        for row, start, length in zip(block.rows, block.starts, block.lengths, strict=True):
            documents.append((int(row), block.tokens[start : start + length].tolist()))
    return documents


def expected(documents: Documents) -> list[tuple[int, list[int]]]:
    """What `read_back` must give: the rows that are neither null nor empty."""
    return [(row, list(document)) for row, document in enumerate(documents) if document]


def check(path: Path, documents: Documents, column: str = "tokens") -> ShardFile:
    """Asserts that the shard at `path` holds exactly `documents` and counts the others."""
    shard = open_shard(path, column=column)
    table = shard.table()
    assert read_back(shard) == expected(documents)
    assert table.num_rows.sum() == len(documents)
    assert table.num_empty + table.num_null == sum(not document for document in documents)
    assert table.first_row.tolist() == (np.cumsum(table.num_rows) - table.num_rows).tolist()
    return shard


def write_arrow(path: Path, batches: Sequence[pa.RecordBatch], *, stream: bool = False, **options: Any) -> Path:
    """Writes record batches as an IPC file or stream; `options` are those of pyarrow's IpcWriteOptions."""
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(str(path), batches[0].schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return path


def write_lists(
    path: Path, documents: Documents, type_: pa.DataType, batch_rows: int = 1 << 20, **options: Any
) -> Path:
    """Writes `documents` as a list column named `tokens`, `batch_rows` rows a record batch."""
    table = pa.table({"tokens": pa.array(documents, type_)})
    return write_arrow(path, table.to_batches(max_chunksize=batch_rows), **options)


def write_flat(path: Path, documents: Sequence[Sequence[int]], type_: pa.DataType, **options: Any) -> Path:
    """Writes one document a record batch, in a flat integer column named `tokens`."""
    schema = pa.schema([("tokens", type_)])
    batches = [pa.record_batch([pa.array(document, type_)], schema=schema) for document in documents]
    return write_arrow(path, batches, **options)

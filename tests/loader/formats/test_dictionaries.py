"""Token columns whose values are kept in a dictionary: the same documents as plain ones, and never the indices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace.errors import DataError
from headrace.formats import open_shard

VALUES = [70_000 + 3 * n for n in range(4_000)]
"ids that no index into a dictionary of 4,000 can be"


def documents() -> list[list[int] | None]:
    """Few values first, so that a dictionary pays, then all of them, so that it overflows; null and empty rows."""
    few: list[list[int] | None] = [[VALUES[n % 5]] * (n % 7) for n in range(400)]
    many: list[list[int] | None] = [VALUES[n : n + 40] for n in range(0, 4_000, 40)]
    return [*few, None, [], *many, None, *few[:50]]


def read(path: Path) -> dict[int, list[int]]:
    """Every document by its row."""
    shard = open_shard(path, column="tokens")
    found: dict[int, list[int]] = {}
    for index in range(shard.table().num_blocks):
        block = shard.open_block(index)
        for row, start, length in zip(block.rows.tolist(), block.starts.tolist(), block.lengths.tolist(), strict=True):
            found[row] = block.tokens[start : start + length].tolist()
    shard.close()
    return found


def encodings(path: Path) -> set[str]:
    return set(pq.read_metadata(path).row_group(0).column(0).encodings)


EXPECTED = {row: document for row, document in enumerate(documents()) if document}


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "zstd"])
@pytest.mark.parametrize(
    "options",
    [
        {"use_dictionary": False},
        {"use_dictionary": True, "dictionary_pagesize_limit": 1 << 20},
        {"use_dictionary": True, "dictionary_pagesize_limit": 256, "data_page_size": 512, "write_batch_size": 64},
    ],
)
def test_parquet_that_is_plain_in_a_dictionary_or_both(
    tmp_path: Path, options: dict[str, Any], compression: str, version: str
) -> None:
    """F08: a chunk that falls back from its dictionary in the middle too."""
    path = tmp_path / "a.parquet"
    table = pa.table({"tokens": pa.array(documents(), pa.list_(pa.int32()))})
    pq.write_table(table, path, compression=compression, data_page_version=version, row_group_size=10_000, **options)
    has_dictionary = "RLE_DICTIONARY" in encodings(path) or "PLAIN_DICTIONARY" in encodings(path)
    assert has_dictionary == options["use_dictionary"]
    assert read(path) == EXPECTED


def dictionary_lists() -> pa.Array:
    """The documents with values that are indices into a dictionary."""
    plain = pa.array(documents(), pa.list_(pa.int32()))
    values = plain.flatten().dictionary_encode()
    offsets = [0]
    for document in documents():
        offsets.append(offsets[-1] + len(document or []))
    mask = pa.array([document is None for document in documents()])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, mask=mask)


def test_parquet_that_an_arrow_dictionary_was_written_to(tmp_path: Path) -> None:
    """F08: the file remembers that its values came from a dictionary; what it holds are still the values."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"tokens": dictionary_lists()}), path)
    assert read(path) == EXPECTED


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("whole_rows", [False, True])
def test_arrow_dictionaries_are_refused_by_name(tmp_path: Path, is_stream: bool, whole_rows: bool) -> None:
    """F08: indices are integers too, so a column of them must not pass for one of tokens; replaced ones neither."""
    path = tmp_path / "a.arrow"
    column = pa.array(VALUES).dictionary_encode() if whole_rows else dictionary_lists()
    schema = pa.schema([("tokens", column.type)])
    other = pa.DictionaryArray.from_arrays(np.zeros(4, np.int32), pa.array([1, 2], pa.int64()))
    with (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(str(path), schema) as writer:
        writer.write_batch(pa.record_batch([column], schema=schema))
        if is_stream and whole_rows:
            writer.write_batch(pa.record_batch([other.cast(column.type)], schema=schema))
    with pytest.raises(DataError, match=r"a\.arrow.*dictionary"):
        read(path)

"""A file's footer and a walk over its messages tell the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from headrace.formats.faults import ColumnError, CorruptError
from headrace.formats.ipc.flatbuffer import Table
from headrace.formats.ipc.messages import footer_bytes, is_stream, parse_footer, viewing, walk
from headrace.formats.ipc.schema import Schema
from headrace.places.mapped import map_file

from tests.loader.formats.shards import write_lists

DOCUMENTS = [[row] for row in range(40)]


@pytest.mark.parametrize(
    "options",
    [{}, {"use_legacy_format": True}, {"metadata_version": pa.ipc.MetadataVersion.V4}, {"compression": "lz4"}],
)
def test_the_footer_lists_what_a_walk_finds(tmp_path: Path, options: dict[str, Any]) -> None:
    memory = map_file(write_lists(tmp_path / "a.arrow", DOCUMENTS, pa.list_(pa.int32()), 7, **options))
    footer = parse_footer(memory[-footer_bytes(bytes(memory[-10:]), memory.size) :].data)
    walked = walk(viewing(memory), memory.size, 8)
    assert len(footer.messages) == 6
    assert footer.messages.offsets.tolist() == walked.messages.offsets.tolist()
    assert footer.messages.bodies.tolist() == walked.messages.bodies.tolist()
    assert (
        [field.name for field in footer.schema.fields] == [field.name for field in walked.schema.fields] == ["tokens"]
    )
    assert footer.messages.run(2, 4).offsets.tolist() == walked.messages.offsets[2:4].tolist()
    assert walked.cut is None


def test_metadata_of_the_schema_is_read(tmp_path: Path) -> None:
    schema = pa.schema([("a", pa.int8())], metadata={"key": "välue", "other": ""})
    with pa.ipc.new_stream(str(tmp_path / "a"), schema):
        pass
    memory = map_file(tmp_path / "a")
    assert walk(viewing(memory), memory.size).schema.metadata == {"key": "välue", "other": ""}


@pytest.mark.parametrize("size", [-5, 0, 1000])
def test_an_impossible_footer_is_refused(size: int) -> None:
    with pytest.raises(CorruptError, match=f"says that its footer has {size} bytes"):
        footer_bytes(size.to_bytes(4, "little", signed=True) + b"ARROW1", 1000)


@pytest.mark.parametrize("head", [b"", b"{}", b"PAR1....", b"\xff\xff\xff\xff\0\0\0\0", b"\0\0\0\0\0\0\0\0"])
def test_what_can_be_no_stream(head: bytes) -> None:
    assert not is_stream(head)


def test_bytes_without_a_schema_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff\xff\xff\xff\0\0\0\0")
    memory = map_file(tmp_path / "a")
    with pytest.raises(CorruptError, match="holds no schema message"):
        walk(viewing(memory), memory.size)


def test_big_endian_data_is_refused() -> None:
    """A Schema table whose only field, endianness, is 1."""
    buffer = bytes.fromhex("0c000000 0600 0800 0400 0000 08000000 01000000")
    with pytest.raises(ColumnError, match="holds big-endian data"):
        Schema.parse(Table.root(buffer), 4)

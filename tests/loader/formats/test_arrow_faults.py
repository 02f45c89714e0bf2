"""Damaged, cut and foreign files: an error that names the file, or every row; never something in between."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow as pa
import pytest
from headrace.errors import DataError, ShardError
from headrace.formats import open_shard
from headrace.places import Listed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.loader.formats.shards import check, read_back, write_flat, write_lists

DOCUMENTS = [[row, row + 1, row + 2] for row in range(40)]
relaxed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_lists(tmp_path / "file.arrow", DOCUMENTS, pa.list_(pa.int32()), batch_rows=10)


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    return write_lists(tmp_path / "stream.arrow", DOCUMENTS, pa.list_(pa.int32()), batch_rows=10, stream=True)


def cut(path: Path, num_bytes: int) -> Path:
    path.write_bytes(path.read_bytes()[:-num_bytes])
    return path


def test_file_and_stream_hold_the_same_under_the_same_extension(file: Path, stream: Path) -> None:
    """F07: the layout is found by content."""
    check(file, DOCUMENTS)
    check(stream, DOCUMENTS)


def test_a_stream_without_its_end_marker_is_whole(stream: Path) -> None:
    """F07: some producers omit the end marker."""
    check(cut(stream, 8), DOCUMENTS)


def test_a_file_cut_by_20_bytes_is_refused_with_the_rows_recovered(file: Path) -> None:
    """F07: the footer is lost; the message says how much is whole."""
    with pytest.raises(
        ShardError, match=r"file\.arrow is cut: .* no footer; 4 record batches with 40 rows before the cut"
    ):
        open_shard(cut(file, 20), column="tokens")


def test_a_stream_cut_inside_a_batch_is_refused_with_the_rows_recovered(stream: Path) -> None:
    """F07: never silently short."""
    with pytest.raises(ShardError, match=r"stream\.arrow is cut inside the message .*; 3 record batches with 30 rows"):
        open_shard(cut(stream, 20), column="tokens")


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    """F07: 0 bytes."""
    (tmp_path / "a.arrow").touch()
    with pytest.raises(ShardError, match=r"a\.arrow is empty \(0 bytes\)"):
        open_shard(tmp_path / "a.arrow", column="tokens")


def test_every_cut_of_a_file_or_stream_is_refused_or_at_a_message_boundary(file: Path, stream: Path) -> None:
    """F07: whatever the cut, no row is lost in silence."""
    for path in (file, stream):
        whole = path.read_bytes()
        for size in range(0, len(whole), 7):
            path.write_bytes(whole[:size])
            try:
                shard = open_shard(path, column="tokens")
            except DataError as error:
                assert str(path) in str(error)
                continue
            assert path.name == "stream.arrow"
            assert len(read_back(shard)) % 10 == 0


def test_streams_joined_with_cat_are_refused(stream: Path) -> None:
    stream.write_bytes(stream.read_bytes() * 2)
    with pytest.raises(ShardError, match=r"bytes after its end marker .*; streams that were joined with cat"):
        open_shard(stream, column="tokens")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"PAR1 something else", "is cut: it starts as a Parquet file"),
        (b"PARE1234PARE", "encrypted footer"),
        (
            b"\x1f\x8b\x08 gzip",
            r"starts with b'\\x1f\\x8b\\x08 gzip?'; shards are Arrow IPC files or streams, or Parquet",
        ),
        (b"{}", r"starts with b'\{\}'"),
    ],
)
def test_other_content_is_refused_by_what_it_starts_with(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "a.arrow").write_bytes(content)
    with pytest.raises(ShardError, match=complaint):
        open_shard(tmp_path / "a.arrow", column="tokens")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ShardError, match=r"gone\.arrow can't be read: No such file"):
        open_shard(tmp_path / "gone.arrow", column="tokens")


def test_a_file_of_another_size_than_listed_is_refused(file: Path) -> None:
    """F17: a file that was still being written when the source was listed."""
    size = file.stat().st_size
    with pytest.raises(ShardError, match=f"has {size} bytes and had {size - 1} when the source was listed"):
        open_shard(file, column="tokens", listed=Listed("a", size - 1))


@relaxed
@given(st.data(), st.sampled_from(("file", "stream", "lz4", "flat")))
def test_damage_is_an_error_or_harmless(tmp_path: Path, data: st.DataObject, kind: str) -> None:
    """Any bytes may be overwritten: reading ends with a DataError that names the file, or without one."""
    path = tmp_path / "damaged.arrow"
    if kind == "flat":
        write_flat(path, DOCUMENTS[:9], pa.uint16())
    else:
        compression = kind if kind == "lz4" else None
        write_lists(path, DOCUMENTS, pa.list_(pa.int32()), 10, stream=kind == "stream", compression=compression)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(8, len(content) - 8))
        patch = data.draw(st.binary(min_size=1, max_size=8))
        content[at : at + len(patch)] = patch
    path.write_bytes(content)
    try:
        read_back(open_shard(path, column="tokens"))
    except DataError as error:
        assert str(path) in str(error)


def test_counting_never_touches_tokens(tmp_path: Path) -> None:
    """P4: with every whole page of tokens made unreadable, counting still works, for lists and for flat batches.

    Nor does it need pyarrow, whose import is a noticeable part of a start.
    """
    write_lists(
        tmp_path / "lists.arrow", [list(range(100_000)), None, list(range(50_000))] * 3, pa.list_(pa.int32()), 2
    )
    write_flat(tmp_path / "flat.arrow", [list(range(100_000)), [], list(range(50_000))], pa.int64())
    script = """
        import ctypes, mmap, sys
        from pathlib import Path
        import numpy as np
        from headrace.formats.counting import count_shard
        from headrace.formats.ipc.batches import VALUES, locate
        from headrace.formats.ipc.messages import footer_bytes, parse_footer
        from headrace.formats.ipc.schema import find_column
        from headrace.places.mapped import map_file

        def num_tokens(path):
            memory = map_file(path)
            contents = parse_footer(memory[-footer_bytes(bytes(memory[-10:]), memory.size):].data)
            column = find_column(contents.schema, "tokens")
            batches = locate(memory, column, contents.messages)
            address, hidden = memory.ctypes.data, 0
            for position, size in zip(batches.positions[:, VALUES], batches.sizes[:, VALUES]):
                first, last = -(-int(position) // 4096) * 4096, int(position + size) // 4096 * 4096
                if last > first:
                    protect = ctypes.CDLL(None).mprotect
                    assert protect(ctypes.c_void_p(address + first), ctypes.c_size_t(last - first), 0) == 0
                    hidden += last - first
            assert hidden > 0.9 * memory.size
            index = count_shard(column, contents.messages, lambda run: locate(memory, column, run))
            return index.table.num_tokens.sum()

        print(*(num_tokens(Path(path)) for path in sys.argv[1:]), "pyarrow" in sys.modules)
    """
    paths = [str(tmp_path / "lists.arrow"), str(tmp_path / "flat.arrow")]
    command = [sys.executable, "-c", textwrap.dedent(script), *paths]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "450000 150000 False\n"

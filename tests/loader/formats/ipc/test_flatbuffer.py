"""Reading in Python and in compiled code gives the same, and nothing outside the buffer is ever read."""

from __future__ import annotations

import numpy as np
import pytest
from headrace.formats.faults import CorruptError
from headrace.formats.ipc.flatbuffer import INT32, INT64, Table, gather, read
from headrace.formats.ipc.headers import field_at, signed_at, unsigned_at
from hypothesis import given, settings
from hypothesis import strategies as st

# A table with fields 0 (int32 7), 2 (text "hi") and 3 (int64 -5); field 1 is absent, field 4 beyond the vtable.
BUFFER = bytes.fromhex(
    "10000000"  # root at 16
    "0c00 1400 0400 0000 0800 0c00"  # vtable at 4: its size 12, the table's 20, offsets of fields 0 to 3
    "0c000000"  # table at 16: 12 bytes back to the vtable
    "07000000"  # field 0 at 20
    "0c000000"  # field 2 at 24: text 12 bytes on, at 36
    "fbffffffffffffff"  # field 3 at 28
    "02000000 6869 0000"  # text at 36
)


def test_fields_are_read_and_absent_ones_get_their_default() -> None:
    table = Table.root(BUFFER)
    assert table.number(0, INT32) == 7
    assert table.number(1, INT32, default=9) == 9
    assert table.text(2) == "hi"
    assert table.number(3, INT64) == -5
    assert table.number(4, INT32) == 0
    assert table.text(1) is None
    assert table.table(1) is None
    assert table.tables(1) == []
    assert table.vector(2) == (40, 2)


@settings(deadline=None)
@given(st.binary(max_size=64), st.integers(0, 8))
def test_any_bytes_are_read_or_refused(buffer: bytes, field: int) -> None:
    def one() -> tuple[int, str | None, int]:
        table = Table.root(buffer)
        return table.number(field, INT64), table.text(field), len(table.tables(field))

    def compiled() -> int:
        memory = np.frombuffer(buffer, np.uint8)
        place = field_at(memory, unsigned_at(memory, 0, 4), field)
        return int(signed_at(memory, place, 8)) if place else 0

    try:
        expected = one()[0]
    except CorruptError:
        return
    assert compiled() == expected


@given(st.lists(st.integers(0, 92), max_size=20), st.sampled_from(("<u2", "<i4", "<i8")))
def test_gathering_equals_reading_at_any_alignment(positions: list[int], dtype: str) -> None:
    content = np.random.default_rng(1).bytes(100)
    expected = [int(np.frombuffer(content, dtype, 1, position)[0]) for position in positions]
    assert gather(np.frombuffer(content, np.uint8), np.array(positions, np.int64), dtype).tolist() == expected


@pytest.mark.parametrize("position", [-1, 98, 1 << 40])
def test_nothing_outside_the_buffer_is_read(position: int) -> None:
    with pytest.raises(CorruptError, match="points to byte"):
        read(bytes(100), position, INT32)
    with pytest.raises(CorruptError, match="points to byte"):
        gather(np.zeros(100, np.uint8), np.array([position]), "<i4")
    with pytest.raises(CorruptError, match="points to a byte outside"):
        unsigned_at(np.zeros(100, np.uint8), position, 4)
    with pytest.raises(CorruptError, match="points to a byte outside"):
        signed_at(np.zeros(100, np.uint8), position, 8)


@settings(deadline=None)
@given(st.binary(min_size=8, max_size=40), st.data())
def test_numbers_are_read_at_any_alignment(buffer: bytes, data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 8))
    position = data.draw(st.integers(0, len(buffer) - size))
    memory, there = np.frombuffer(buffer, np.uint8), buffer[position : position + size]
    assert signed_at(memory, position, size) == int.from_bytes(there, "little", signed=True)
    if size < 8:
        assert unsigned_at(memory, position, size) == int.from_bytes(there, "little")

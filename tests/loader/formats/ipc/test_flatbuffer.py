"""Reading one table and many at once gives the same, and nothing outside the buffer is ever read."""

from __future__ import annotations

import numpy as np
import pytest
from headrace.formats.faults import CorruptError
from headrace.formats.ipc.flatbuffer import INT32, INT64, Table, Tables, gather, read
from hypothesis import given
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


def test_many_tables_are_read_like_one() -> None:
    memory = np.frombuffer(BUFFER * 3, np.uint8)
    tables = Tables.roots(memory, np.arange(3) * len(BUFFER), 5)
    assert tables.numbers(0, "<i4").tolist() == [7, 7, 7]
    assert tables.numbers(1, "<i4", default=9).tolist() == [9, 9, 9]
    assert tables.numbers(3, "<i8").tolist() == [-5, -5, -5]
    assert tables.numbers(4, "<i4").tolist() == [0, 0, 0]
    assert tables.present(2).tolist() == [True, True, True]
    starts, lengths = tables.vectors(2)
    assert starts[:, 0].tolist() == [40 + len(BUFFER) * place for place in range(3)]
    assert lengths[:, 0].tolist() == [2, 2, 2]
    assert tables.where(np.array([True, False, True])).numbers(0, "<i4").tolist() == [7, 7]
    with pytest.raises(CorruptError, match="without one of the fields"):
        tables.tables(1, 2)


@given(st.binary(max_size=64), st.integers(0, 8))
def test_any_bytes_are_read_or_refused(buffer: bytes, field: int) -> None:
    def one() -> tuple[int, str | None, int]:
        table = Table.root(buffer)
        return table.number(field, INT64), table.text(field), len(table.tables(field))

    def many() -> int:
        tables = Tables.roots(np.frombuffer(buffer, np.uint8), np.zeros(2, np.int64), field + 1)
        return int(tables.numbers(field, "<i8")[1])

    try:
        expected = one()[0]
    except CorruptError:
        return
    assert many() == expected


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

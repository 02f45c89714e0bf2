"""Blocks equal a row-by-row cut, however the rows arrive."""

from __future__ import annotations

import numpy as np
from headrace.formats.cut import BlockCutter, Units
from hypothesis import given
from hypothesis import strategies as st


def cut_slowly(tokens: list[int], rows: list[int], max_tokens: int, max_rows: int) -> list[list[int]]:
    """The units of every block, taken one at a time."""
    blocks: list[list[int]] = []
    for unit in range(len(tokens)):
        fits = blocks and (
            sum(tokens[other] for other in blocks[-1]) + tokens[unit] <= max_tokens
            and sum(rows[other] for other in blocks[-1]) + rows[unit] <= max_rows
        )
        if fits:
            blocks[-1].append(unit)
        else:
            blocks.append([unit])
    return blocks


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=60),
    st.integers(1, 12),
    st.integers(1, 8),
    st.lists(st.integers(0, 60), max_size=4),
)
def test_blocks_equal_the_slow_cut(
    units: list[tuple[int, int]], max_tokens: int, max_rows: int, calls: list[int]
) -> None:
    tokens, rows = [unit[0] for unit in units], [unit[1] for unit in units]
    cutter = BlockCutter(max_tokens=max_tokens, max_rows=max_rows)
    ends = sorted(min(call, len(units)) for call in calls)
    for first, last in zip([0, *ends], [*ends, len(units)], strict=True):
        part = np.arange(first, last)
        cutter.add(
            Units(
                tokens=np.array(tokens, np.int64)[part],
                documents=(np.array(tokens, np.int64)[part] > 0).astype(np.int64),
                rows=np.array(rows, np.int64)[part],
                batch=part,
                batch_row=10 * part,
            )
        )
    blocks = cut_slowly(tokens, rows, max_tokens, max_rows)
    assert cutter.first_batch == [block[0] for block in blocks]
    assert cutter.first_batch_row == [10 * block[0] for block in blocks]
    assert cutter.num_tokens == [sum(tokens[unit] for unit in block) for block in blocks]
    assert cutter.num_documents == [sum(tokens[unit] > 0 for unit in block) for block in blocks]
    assert cutter.num_rows == [sum(rows[unit] for unit in block) for block in blocks]

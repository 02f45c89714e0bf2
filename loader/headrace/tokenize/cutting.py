"""Dividing a large file: JSON lines at line breaks, each part with the number of its first line; Parquet by groups."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from headrace.places import File, Listed
from headrace.tokenize.inputs import Input
from headrace.tokenize.reading.stream import FileStream, head_of, is_plain
from headrace.tokenize.units import Part, is_lines, text_bytes, whole_part

_CHUNK: Final = 8 << 20
_THREADS: Final = 8


def cut_input(item: Input, target_bytes: int) -> Sequence[Part]:
    """Parts of about `target_bytes` each, in order; the whole where it can't be divided or read (see `units.Cutter`).

    Lines are counted by reading the file once, which is quick next to tokenising it.
    """
    whole = [whole_part(item)]
    try:
        file = item.place.open(Listed(item.path, item.size_bytes, item.mtime_ns))
        if item.path.lower().endswith(".parquet"):
            return _row_groups(item, file, target_bytes) or whole
        if is_lines(item.path) and is_plain(head_of(file)):
            return _lines(item, file, target_bytes) or whole
    except OSError:  # whoever tokenises it will say what is wrong
        pass
    return whole


def _lines(item: Input, file: File, target_bytes: int) -> list[Part]:
    num = -(-file.size_bytes // target_bytes)
    edges = [file.size_bytes * n // num for n in range(num + 1)]
    with ThreadPoolExecutor(_THREADS) as pool:
        counts = list(pool.map(lambda n: _line_starts(file, edges[n], edges[n + 1]), range(num)))
    firsts = np.cumsum([0, *counts])
    part = whole_part(item)
    return [replace(part, start=edges[n], end=edges[n + 1], first_row=int(firsts[n])) for n in range(num) if counts[n]]


def _line_starts(file: File, start: int, end: int) -> int:
    """Lines that begin in bytes [start, end): one at 0, and one behind every line feed that another byte follows."""
    first, last = max(start - 1, 0), end - 1
    total = int(start == 0)
    for place in range(first, last, _CHUNK):
        total += int(np.count_nonzero(file.read(place, min(_CHUNK, last - place)) == 10))
    return total


def _row_groups(item: Input, file: File, target_bytes: int) -> list[Part]:
    import pyarrow as pa  # noqa: PLC0415  # only for Parquet
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        footer = pq.ParquetFile(pa.PythonFile(FileStream(file), mode="r")).metadata
    except pa.ArrowException:
        return []
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    if len(groups) < 2:
        return []
    share = -(-text_bytes(item) // target_bytes)
    ends = np.cumsum([group.total_byte_size for group in groups]).tolist()
    edges = sorted({0, len(groups), *(bisect_left(ends, ends[-1] * n / share) + 1 for n in range(1, share))})
    rows = np.cumsum([0, *(group.num_rows for group in groups)])
    part = whole_part(item)
    return [
        replace(part, start=first, end=last, first_row=int(rows[first]))
        for first, last in pairwise(edges)
        if last <= len(groups)
    ]

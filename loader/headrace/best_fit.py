"""Best-fit packing: whole documents into sequences, with as little padding as the window allows.

The documents of a *window*, a run of whole blocks, are packed together. How many sequences a window makes follows from
its token count alone, so that sequences can be addressed without reading a document; what the documents' lengths decide
is only which of those sequences each goes to. Best-fit decreasing (Johnson 1974): longest first, each into the fullest
sequence that still has room. Documents longer than a sequence are cut into full ones and a rest. Where the last few fit
nowhere whole, they are split over the gaps that are left, which always suffice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.kernels import compiled

Ints = npt.NDArray[np.int64]

WINDOW_DOCUMENTS = 2048
"documents that a window holds at least, where the source has them"

WINDOW_SEQUENCES = 256
"sequences that a window makes at least, where the source has the tokens: padding is below 1 in so many, and a reserve"

RESERVE = 0.002
"sequences added for each that the tokens would fill, so that few documents need splitting"


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of a source: runs of consecutive blocks."""

    first_block: Ints
    "int64 (W + 1,): window `w` is blocks `[first_block[w], first_block[w + 1])`"
    num_sequences: Ints
    "int64 (W,): sequences that each makes"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each stretch of a window's documents goes; columns of equal length (n,), by sequence, then by column."""

    edges: Ints
    "int64 (num_sequences + 1,): stretches `[edges[s], edges[s + 1])` are those of sequence `s`"
    document: Ints
    "int64 (n,): which document of the window"
    first: Ints
    "int64 (n,): its first token there, separators counted"
    count: Ints
    "int64 (n,): tokens"
    num_cut: int
    "documents no longer than a sequence that had to be split"


def find_windows(block_documents: Ints, block_tokens: Ints, seq_len: int) -> Windows:
    """Join blocks into windows, in order, each as soon as it has the documents and the tokens that it should.

    Args:
        block_documents: int64 (B,), documents of each block.
        block_tokens: int64 (B,), tokens of each, separators included.
        seq_len: tokens in a sequence.
    """
    firsts = [0]
    documents = tokens = 0
    budget = WINDOW_SEQUENCES * seq_len
    for block, (more, longer) in enumerate(zip(block_documents.tolist(), block_tokens.tolist(), strict=True)):
        documents += more
        tokens += longer
        if documents >= WINDOW_DOCUMENTS and tokens >= budget:
            firsts.append(block + 1)
            documents = tokens = 0
    if firsts[-1] < len(block_tokens):
        # A short rest joins the window before it, where there is one: alone it would pad more.
        firsts[len(firsts) - (len(firsts) > 1) :] = [len(block_tokens)]
    return _counted(np.array(firsts, np.int64), block_tokens, seq_len)


def resized(windows: Windows, block_tokens: Ints, seq_len: int) -> Windows:
    """The same windows at another `seq_len`; `block_tokens` as for `find_windows`."""
    return _counted(windows.first_block, block_tokens, seq_len)


def _counted(edges: Ints, block_tokens: Ints, seq_len: int) -> Windows:
    total = np.concatenate(([0], np.cumsum(block_tokens)))
    sums = total[edges[1:]] - total[edges[:-1]]
    return Windows(edges, -(-sums // seq_len) + (sums * RESERVE / seq_len).astype(np.int64))


@compiled
def _sift(tree: Ints, size: int, place: int, value: int) -> None:
    """Set a leaf of a tree whose inner nodes count the leaves below that are not empty."""
    node = place + size
    change = value - tree[node]
    while node > 0:
        tree[node] += change
        node >>= 1


@compiled
def _at_least(tree: Ints, size: int, place: int) -> int:
    """The first leaf from `place` on that is not empty, or −1."""
    node = place + size
    if tree[node] > 0:
        return place
    while node > 1:
        if node & 1 == 0 and tree[node + 1] > 0:
            node += 1
            while node < size:
                node = 2 * node if tree[2 * node] > 0 else 2 * node + 1
            return node - size
        node >>= 1
    return -1


@compiled
def _take(rooms: Ints, top: Ints, below: Ints, size: int, room: int, count: int) -> Any:
    """Use `count` tokens of the newest sequence that has exactly `room`; returns the sequence.

    Sequences of equal room are a stack, so that the choice between them is always the same.
    """
    sequence = top[room]
    top[room] = below[sequence]
    _sift(rooms, size, room, rooms[size + room] - 1)
    below[sequence] = top[room - count]
    top[room - count] = sequence
    _sift(rooms, size, room - count, rooms[size + room - count] + 1)
    return sequence


@compiled
def _pack(sizes: Ints, longest_first: Ints, seq_len: int, num_sequences: int, out: Ints) -> tuple[int, int]:
    """Place every document; rows (sequence, document, first, count) of `out`. Returns (rows, whole documents split)."""
    size = 1
    while size < seq_len + 1:
        size *= 2
    rooms = np.zeros(2 * size, np.int64)
    top = np.full(seq_len + 1, -1, np.int64)
    below = np.arange(1, num_sequences + 1)
    below[num_sequences - 1] = -1
    top[seq_len] = 0
    _sift(rooms, size, seq_len, num_sequences)
    row = 0
    for document in longest_first:
        for part in range(sizes[document] // seq_len):
            sequence = _take(rooms, top, below, size, seq_len, seq_len)
            out[row] = (sequence, document, part * seq_len, seq_len)
            row += 1
    unplaced = np.zeros(sizes.shape[0], np.bool_)
    for document in longest_first:
        length = sizes[document] % seq_len
        room = _at_least(rooms, size, length) if length > 0 else -1
        unplaced[document] = length > 0 and room < 0
        if room >= 0:
            sequence = _take(rooms, top, below, size, room, length)
            out[row] = (sequence, document, sizes[document] - length, length)
            row += 1
    num_cut = 0
    largest = seq_len
    for document in longest_first:
        first = sizes[document] // seq_len * seq_len
        num_cut += unplaced[document] and first == 0
        while unplaced[document] and first < sizes[document]:
            while top[largest] < 0:
                largest -= 1
            count = min(largest, sizes[document] - first)
            sequence = _take(rooms, top, below, size, largest, count)
            out[row] = (sequence, document, first, count)
            row += 1
            first += count
    return row, num_cut


def pack_window(order: Ints, sizes: Ints, seq_len: int, num_sequences: int) -> Layout:
    """Pack the documents of a window into its sequences.

    Args:
        order: int64 (n,), a permutation: of documents equally long, and inside a sequence, which comes first.
        sizes: int64 (n,), tokens of each document, separators included.
        seq_len: tokens in a sequence.
        num_sequences: sequences to fill; `num_sequences · seq_len` is at least the sum of `sizes`.
    """
    longest_first = order[np.argsort(-(sizes[order] % seq_len), kind="stable")]
    out = np.empty((int((sizes // seq_len).sum()) + len(sizes) + num_sequences, 4), np.int64)
    num_rows, num_cut = _pack(sizes, longest_first, seq_len, num_sequences, out)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    rows = out[:num_rows]
    rows = rows[np.lexsort((rows[:, 2], place[rows[:, 1]], rows[:, 0]))]
    edges = np.searchsorted(rows[:, 0], np.arange(num_sequences + 1)).astype(np.int64)
    return Layout(edges, rows[:, 1], rows[:, 2], rows[:, 3], num_cut)

"""Best-fit packing: whole documents into sequences, with as little padding as the window allows.

The documents of a *window*, a run of whole blocks, are packed together. How many sequences a window makes follows from
its token count alone, so that sequences can be addressed without reading a document; what the documents' lengths decide
is only which of those sequences each goes to. Best-fit decreasing (Johnson 1974): longest first, each into the fullest
sequence that still has room. Documents longer than a sequence are cut into full ones and a rest. Where the last few fit
nowhere whole, they are split over the gaps that are left, which always suffice.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    edges = np.array(firsts, np.int64)
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
def _pack(sizes: Ints, longest_first: Ints, seq_len: int, num_sequences: int, out: Ints) -> tuple[int, int]:
    """Place every document; rows (sequence, document, first, count) of `out`. Returns (rows, documents split).

    Sequences of equal room are kept as a stack, so that the choice between them is always the same.
    """
    size = 1
    while size < seq_len + 1:
        size *= 2
    rooms = np.zeros(2 * size, np.int64)
    top = np.full(seq_len + 1, -1, np.int64)
    below = np.full(num_sequences, -1, np.int64)
    for sequence in range(num_sequences - 1, -1, -1):
        below[sequence] = top[seq_len]
        top[seq_len] = sequence
    _sift(rooms, size, seq_len, num_sequences)
    unplaced = np.empty(sizes.shape[0], np.int64)
    num_unplaced = 0
    row = 0
    for full in (True, False):
        for i in range(longest_first.shape[0]):
            document = longest_first[i]
            whole = sizes[document] // seq_len
            length = seq_len if full else sizes[document] - whole * seq_len
            for part in range(whole if full else np.int64(length > 0)):
                room = _at_least(rooms, size, length)
                if room < 0:
                    unplaced[num_unplaced] = document
                    num_unplaced += 1
                    continue
                sequence = top[room]
                top[room] = below[sequence]
                _sift(rooms, size, room, rooms[size + room] - 1)
                left = room - length
                below[sequence] = top[left]
                top[left] = sequence
                _sift(rooms, size, left, rooms[size + left] + 1)
                out[row, 0] = sequence
                out[row, 1] = document
                out[row, 2] = part * seq_len if full else whole * seq_len
                out[row, 3] = length
                row += 1
    room = seq_len
    for i in range(num_unplaced):
        document = unplaced[i]
        first = sizes[document] // seq_len * seq_len
        while first < sizes[document]:
            while top[room] < 0:
                room -= 1
            sequence = top[room]
            take = min(room, sizes[document] - first)
            top[room] = below[sequence]
            below[sequence] = top[room - take]
            top[room - take] = sequence
            out[row, 0] = sequence
            out[row, 1] = document
            out[row, 2] = first
            out[row, 3] = take
            row += 1
            first += take
    return row, num_unplaced


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

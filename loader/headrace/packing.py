"""Concat packing: a block's documents in permuted order, joined by their separators, written into sequences.

One compiled loop writes ids, labels and positions straight from the mapped shard into the batch, in one pass. It knows
nothing of files: a block reaches it as addresses of arrays that the caller keeps alive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba.core import types
from numba.extending import intrinsic

from headrace.kernels import compiled
from headrace.permute import permutation
from headrace.search import last_at_most

Ints = npt.NDArray[np.int64]

IGNORED = -100
"the label that no loss counts (PyTorch's `ignore_index`)"


@dataclass(frozen=True, slots=True)
class DocumentOrder:
    """The documents of one block in the order of one epoch."""

    documents: Ints
    "int64 (n,): which document of the block comes at each place"
    begins: Ints
    "int64 (n,): where its tokens begin in the block's token array; -1 for a hole, which has a place and no tokens"
    edges: Ints
    "int64 (n + 1,): where it begins in the block's own stream, separators counted"


def order_documents(key: int | None, starts: Ints, lengths: Ints, num_separators: int) -> DocumentOrder:
    """Permute a block's documents under `key`.

    Args:
        key: the permutation's key, one for each (source, epoch, block); None keeps the order of the file.
        starts: int64 (n,), where each document begins in the block's token array; -1 makes a hole of it.
        lengths: int64 (n,), tokens in each, without separators; those of a hole are its places.
        num_separators: tokens that are added to each.
    """
    documents = permutation(key, len(starts))
    edges = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths[documents] + num_separators, out=edges[1:])
    return DocumentOrder(documents, starts[documents], edges)


@intrinsic
def _array_at(typing_context: Any, address: Any, size: Any, like: Any) -> Any:
    """The array (size,) at an integer address, of the type of `like`'s elements."""
    array_type = types.Array(like.dtype, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from numba.np import arrayobj  # noqa: PLC0415  # loads much, and only compiling needs it

        arrays: Any = arrayobj
        array = arrays.make_array(array_type)(context, builder)
        item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(like.dtype)))
        data = builder.inttoptr(args[0], array.data.type)
        arrays.populate_array(array, data=data, shape=[args[1]], strides=[item], itemsize=item, meminfo=None)
        return array._getvalue()

    return array_type(address, size, like), generate


array_at: Any = _array_at


@compiled
def _copy(stored: Any, target: Any) -> np.uint64:
    """Widen `stored` into `target`; returns the largest id as an unsigned number. Written so that it vectorises."""
    if stored.shape[0] == 0:
        return np.uint64(0)
    largest = stored[0]
    smallest = stored[0]
    for i in range(stored.shape[0]):
        target[i] = stored[i]
        largest = max(largest, stored[i])
        smallest = min(smallest, stored[i])
    return max(np.uint64(largest), np.uint64(smallest))


@compiled
def _write_ids(tokens: Any, begin: int, first: int, last: int, text: Any, separators: Any, ids: Any) -> np.uint64:
    """Write places `[first, last)` of a document to `ids[: last − first]`; returns the largest stored id, unsigned.

    `text` is the half-open range of places that hold stored tokens; `separators` is (bos_id, eos_id).
    """
    if first < text[0]:
        ids[0] = separators[0]
    if last > text[1]:
        ids[text[1] - first] = separators[1]
    low = max(first, text[0])
    high = max(low, min(last, text[1]))
    return _copy(tokens[begin + low : begin + high], ids[low - first : high - first])


@compiled
def _write_labels(tokens: Any, begin: int, first: int, last: int, text: Any, separators: Any, labels: Any) -> np.uint64:
    """The same for labels: each place's next id, `IGNORED` at the document's last place."""
    if first < text[1] <= last:
        labels[text[1] - 1 - first] = separators[1] if separators[1] >= 0 else IGNORED
    if last > text[1]:
        labels[text[1] - first] = IGNORED
    low = max(first, text[0] - 1)
    high = max(low, min(last, text[1] - 1))
    return _copy(tokens[begin + low + 1 : begin + high + 1], labels[low - first : high - first])


@compiled
def write_spans(
    spans: Ints,
    first_sequence: int,
    stored: Any,
    marks: tuple[int, int, int],
    vocab_size: int,
    ids: Any,
    labels: Any,
    positions: Any,
    filled: Ints,
) -> tuple[int, int]:
    """Write the tokens of `spans` into a micro-batch.

    A hole, a document that `begins` at -1, is padding with `IGNORED` labels and a document's positions; nothing of it
    is read.

    Args:
        spans: int64 (n, 8 or more), a row for each piece of a block: sequence, column, offset in the block's stream,
            tokens, number of documents, and the addresses of the token array, `begins` and `edges`.
        first_sequence: the number, in `spans`, of the micro-batch's first sequence.
        stored: an empty array of the type that the tokens are stored in.
        marks: (bos_id, eos_id, pad_id): before and after each document, −1 for none, and what fills holes.
        vocab_size: ids from this on, and negative ones, are refused.
        ids: (micro_batch, seq_len), written; any integer type.
        labels: the same shape, or (0, 0) to leave them out: the next token, −100 for a document's last.
        positions: the same shape, or (0, 0): 0 at the sequence's start and at each document's.
        filled: int64 (micro_batch,), to which the tokens written to each sequence are added.

    Returns:
        (−1, or the row of the first span that holds an id out of range; places that count as trained: all but a
        document's last, and those of a hole).
    """
    num_trained = 0
    has_bos = np.int64(marks[0] >= 0)
    has_eos = np.int64(marks[1] >= 0)
    separators = (marks[0], marks[1])
    for span in range(spans.shape[0]):
        row, column, offset, left, num_documents = spans[span, 0:5]
        row -= first_sequence
        tokens = array_at(spans[span, 5], np.int64(1) << 48, stored)
        begins = array_at(spans[span, 6], num_documents, spans)
        edges = array_at(spans[span, 7], num_documents + 1, spans)
        document = last_at_most(edges, offset)
        worst = np.uint64(0)
        filled[row] += left
        while left > 0:
            size = edges[document + 1] - edges[document]
            first = offset - edges[document]
            last = min(size, first + left)
            end = column + last - first
            if begins[document] < 0:
                ids[row, column:end] = marks[2]
                if labels.shape[0]:
                    labels[row, column:end] = IGNORED
            else:
                num_trained += last - first - (last == size)
                text = (has_bos, size - has_eos)
                begin = begins[document] - has_bos
                worst = max(worst, _write_ids(tokens, begin, first, last, text, separators, ids[row, column:end]))
                if labels.shape[0]:
                    written = labels[row, column:end]
                    worst = max(worst, _write_labels(tokens, begin, first, last, text, separators, written))
            if positions.shape[0]:
                written = positions[row, column:end]
                for i in range(written.shape[0]):
                    written[i] = i
            column = end
            left -= last - first
            offset += last - first
            document += 1
        if worst >= np.uint64(vocab_size):
            return span, num_trained
    return -1, num_trained


def sequence_bounds(
    positions: npt.NDArray[np.int64], filled: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int32], int]:
    """(cu_seqlens, max_seqlen) of a flattened micro-batch: int32 (segments + 1,) and the longest segment.

    A segment is a stretch of one document in one sequence, or a sequence's padding, as variable-length attention
    kernels take it.

    Args:
        positions: int64 (micro_batch, seq_len), 0 where a document begins and in all padding.
        filled: int64 (micro_batch,), where each sequence's padding begins; `seq_len` without any.
    """
    begins = np.flatnonzero(positions.reshape(-1) == 0)
    seq_len = positions.shape[1]
    begins = begins[begins % seq_len <= filled[begins // seq_len]]
    bounds = np.append(begins, positions.size).astype(np.int32)
    return bounds, int(np.diff(bounds).max())

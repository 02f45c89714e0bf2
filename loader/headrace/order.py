"""The order of one source: ordinal → (epoch, lane, sequence) → spans of blocks, in closed form.

The epochs of a source are one endless token stream: epoch `e` is tokens `[e·T, (e+1)·T)`, where its blocks are
permuted anew and read one after another. Sequence `m` is tokens `[m·L, (m+1)·L)` of that stream, and belongs to the
epoch that it starts in; the last of an epoch may straddle the seam.

Inside an epoch the sequences are dealt over lanes, which are contiguous ranges of the stream, visited in bit-reversed
order; inside a lane they are permuted within windows. Neighbours in a batch are thus far apart in the stream, yet each
lane reads its blocks nearly one after another. A source of at most 4,096 sequences an epoch is one full permutation.

No I/O here, and nothing longer than the number of blocks or the sequences of one window in each lane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.kernels import compiled
from headrace.permute import TABLE_LIMIT, feistel, fill_table, key_of, permutation, subkey
from headrace.search import last_at_most

Ints = npt.NDArray[np.int64]

SMALL_SOURCE = 4096
"sequences an epoch up to which a source is one full permutation"

WINDOW_BLOCKS = 4
"mean blocks a window spans at least; one block is measurably not shuffled enough, four are"


@dataclass(frozen=True, slots=True)
class Spans:
    """Where the tokens of some sequences lie: columns of equal length (n,), in the order they are to be written."""

    slot: Ints
    "which of the sequences asked for"
    column: Ints
    "first position in that sequence"
    epoch: Ints
    block: Ints
    "block of the source, as numbered in its manifest"
    offset: Ints
    "first token in the block's own permuted stream, separators counted"
    count: Ints
    "tokens"


@compiled
def _first_of(epoch: Any, total: int, seq_len: int) -> Any:
    """The ordinal of the first sequence that starts in `epoch`: one epoch, or an array of them."""
    return (epoch * total + seq_len - 1) // seq_len


@compiled
def bit_reversed(value: Any, bits: int) -> np.int64:
    """The lowest `bits` bits of `value` in reverse."""
    out = np.int64(0)
    for _ in range(bits):
        out = (out << 1) | (value & 1)
        value >>= 1
    return out


@compiled
def _begin_small(
    key: np.uint64, total: int, seq_len: int, ordinals: Ints, begins: Ints, table: Ints, held_epoch: Ints
) -> None:
    """Full permutation of each epoch; quick where `ordinals` ascend."""
    for i in range(ordinals.shape[0]):
        epoch = ordinals[i] * seq_len // total
        first = _first_of(epoch, total, seq_len)
        if epoch != held_epoch[0]:
            fill_table(subkey(key, epoch, 0), _first_of(epoch + 1, total, seq_len) - first, table)
            held_epoch[0] = epoch
        begins[i] = (first + table[ordinals[i] - first]) * seq_len


@compiled
def _lane_of_small(total: int, seq_len: int, lanes: int, begins: Ints, out: Ints) -> None:
    """The lane that each sequence would lie in if the epoch were cut evenly into `lanes`."""
    for i in range(begins.shape[0]):
        epoch = begins[i] // total
        first = _first_of(epoch, total, seq_len)
        size = _first_of(epoch + 1, total, seq_len) - first
        out[i] = (begins[i] // seq_len - first) * lanes // size


@compiled
def _lane_of(total: int, seq_len: int, lane_bits: int, scale: int, ordinals: Ints, lanes: Ints) -> None:
    """The lane that each ordinal is dealt to, times `scale`: bit-reversed within its round."""
    mask = (np.int64(1) << lane_bits) - 1
    for i in range(ordinals.shape[0]):
        epoch = ordinals[i] * seq_len // total
        dealt = ordinals[i] - _first_of(epoch, total, seq_len)
        lanes[i] = bit_reversed(dealt & mask, lane_bits) * scale


@compiled
def _begin(
    key: np.uint64,
    total: int,
    seq_len: int,
    lane_bits: int,
    window: int,
    ordinals: Ints,
    begins: Ints,
    extra_before: Ints,
    tables: npt.NDArray[np.uint16],
    held_epoch: Ints,
    held_window: Ints,
) -> None:
    """Deal each ordinal to a lane and permute it inside its window.

    Lane `l` holds `n // lanes` sequences and one more where its bit-reversed number is below `n % lanes`, so that the
    last, partial round visits exactly the lanes that have one left. `extra_before[r, l]` counts those before lane `l`
    when `n % lanes` is `extra_before[r, -1]`.
    """
    num_lanes = np.int64(1) << lane_bits
    for i in range(ordinals.shape[0]):
        epoch = ordinals[i] * seq_len // total
        first = _first_of(epoch, total, seq_len)
        size = _first_of(epoch + 1, total, seq_len) - first
        dealt = ordinals[i] - first
        lane = bit_reversed(dealt & (num_lanes - 1), lane_bits)
        row = dealt >> lane_bits
        rest = size & (num_lanes - 1)
        lane_size = (size >> lane_bits) + (bit_reversed(lane, lane_bits) < rest)
        which = 0 if extra_before[0, num_lanes] == rest else 1
        start = lane * (size >> lane_bits) + extra_before[which, lane]
        number = row // window
        width = min(window, lane_size - number * window)
        window_key = subkey(subkey(key, epoch, 1), lane, number)
        if tables.shape[0] == 0:
            inside = feistel(window_key, width, row - number * window) if width > 1 else np.int64(0)
        else:
            if held_epoch[lane] != epoch or held_window[lane] != number:
                fill_table(window_key, width, tables[lane])
                held_epoch[lane] = epoch
                held_window[lane] = number
            inside = np.int64(tables[lane, row - number * window])
        begins[i] = (first + start + number * window + inside) * seq_len


@compiled
def _cut(starts: Ints, order: Ints, begin: Ints, count: Ints, limit: int, out: Ints) -> int:
    """Cut the token ranges `[begin, begin + count)` of an epoch whose blocks begin at `starts`.

    Writes (range, column, block, offset, tokens) of each piece into the columns of `out`, int64 (5, …), as far as they
    go. Returns how many pieces there are, or −1 where a range is not within `[0, limit)`.
    """
    row = 0
    for i in range(begin.shape[0]):
        at = begin[i]
        end = begin[i] + count[i]
        if at < 0 or end > limit:
            return -1
        block = last_at_most(starts, at)
        while at < end:
            stop = min(end, starts[block + 1])
            if stop > at:
                if row < out.shape[1]:
                    out[0, row] = i
                    out[1, row] = at - begin[i]
                    out[2, row] = order[block]
                    out[3, row] = at - starts[block]
                    out[4, row] = stop - at
                row += 1
                at = stop
            block += 1
    return row


def _power_of_two_up(value: float) -> int:
    power = 1
    while power < value:
        power *= 2
    return power


class SourceOrder:
    """The order of one source at one `seq_len`, a pure function of its key and its blocks' token counts.

    It remembers the last few epochs' block orders and each lane's current window; that is memory of a pure function,
    never state.
    """

    def __init__(
        self,
        *,
        seed: int,
        name: str,
        seq_len: int,
        lanes: int,
        block_tokens: Ints,
        shuffle: bool = True,
        end: int | None = None,
        label: str = "order",
        mean_block_tokens: float | None = None,
        permute_blocks: bool = True,
    ) -> None:
        """`block_tokens`: int64 (num_blocks,), separators included; their sum must be positive.

        Without `shuffle` the sequences come in the order of the shards. Of a sequence that reaches past token `end` of
        the endless stream, only what comes before it is given. `label` tells apart several orders of one source. A
        window spans four times `mean_block_tokens`, by default the mean; without `permute_blocks` the blocks of each
        epoch stay in the order given.
        """
        self.total_tokens = int(block_tokens.sum())
        self.seq_len = seq_len
        self.lanes = lanes
        self.key = key_of(seed, name, label)
        self._block_tokens = block_tokens
        self._blocks: dict[int, tuple[Ints, Ints]] = {}
        self.shuffle = shuffle
        self._end = end
        self._permute_blocks = shuffle and permute_blocks
        num_sequences = -(-self.total_tokens // seq_len)
        self.is_small = num_sequences <= SMALL_SOURCE
        self.mean_block_tokens = mean_block_tokens or self.total_tokens / len(block_tokens)
        self.window = _power_of_two_up(WINDOW_BLOCKS * self.mean_block_tokens / seq_len)
        self.num_lanes = 1
        while self.num_lanes * 2 <= min(lanes, num_sequences / (2 * self.window)):
            self.num_lanes *= 2
        self.lane_bits = self.num_lanes.bit_length() - 1
        self._prepare_windows(num_sequences)

    def _prepare_windows(self, num_sequences: int) -> None:
        self._held_epoch = np.full(self.num_lanes, -1, np.int64)
        if self.is_small:
            self._table = np.empty(SMALL_SOURCE + 1, np.int64)
            return
        # An epoch holds T // L or one more sequences, so only two remainders can occur.
        reverse = np.array([bit_reversed(lane, self.lane_bits) for lane in range(self.num_lanes)])
        self._extra_before = np.zeros((2, self.num_lanes + 1), np.int64)
        for row, size in enumerate((num_sequences, num_sequences - 1)):
            np.cumsum(reverse < size % self.num_lanes, out=self._extra_before[row, 1:])
        tabled = self.num_lanes if self.window < TABLE_LIMIT else 0
        self._tables = np.empty((tabled, self.window if tabled else 0), np.uint16)
        self._held_window = np.full(self.num_lanes, -1, np.int64)

    @property
    def span_tokens(self) -> int:
        """Tokens that the window of one lane spans: of the whole source where it is one permutation."""
        return self.total_tokens if self.is_small else self.window * self.seq_len

    def epochs_of(self, ordinals: Ints) -> Ints:
        """The epoch that each ordinal's sequence starts in: int64 (n,)."""
        epochs: Ints = ordinals * self.seq_len // self.total_tokens
        return epochs

    def lanes_of(self, ordinals: Ints) -> Ints:
        """The lane of each ordinal, scaled to `[0, lanes)` so that sources of any size line up: int64 (n,)."""
        out = np.empty(len(ordinals), np.int64)
        if self.is_small or not self.shuffle:
            _lane_of_small(self.total_tokens, self.seq_len, self.lanes, self.begins_of(ordinals), out)
            return out
        _lane_of(self.total_tokens, self.seq_len, self.lane_bits, self.lanes // self.num_lanes, ordinals, out)
        return out

    def sequences_of(self, ordinals: Ints) -> tuple[Ints, Ints]:
        """(epoch, sequence in that epoch) of each ordinal: int64 (n,) twice, in the order given."""
        epochs = self.epochs_of(ordinals)
        first = (epochs * self.total_tokens + self.seq_len - 1) // self.seq_len
        return epochs, self.begins_of(ordinals) // self.seq_len - first

    def begins_of(self, ordinals: Ints) -> Ints:
        """The first token of each ordinal's sequence in the endless stream: int64 (n,)."""
        if not self.shuffle:
            return ordinals * self.seq_len
        begins = np.empty(len(ordinals), np.int64)
        key, total, seq_len = np.uint64(self.key), self.total_tokens, self.seq_len
        if self.is_small:
            _begin_small(key, total, seq_len, ordinals, begins, self._table, self._held_epoch)
            return begins
        _begin(
            key,
            total,
            seq_len,
            self.lane_bits,
            self.window,
            ordinals,
            begins,
            self._extra_before,
            self._tables,
            self._held_epoch,
            self._held_window,
        )
        return begins

    def blocks_of(self, epoch: int) -> tuple[Ints, Ints]:
        """(block order, token starts) of an epoch: int64 (num_blocks,) and (num_blocks + 1,)."""
        known = self._blocks.get(epoch)
        if known is None:
            key = int(subkey(np.uint64(self.key), epoch, 2)) if self._permute_blocks else None
            order = permutation(key, len(self._block_tokens))
            starts = np.zeros(len(order) + 1, np.int64)
            np.cumsum(self._block_tokens[order], out=starts[1:])
            known = (order, starts)
            while len(self._blocks) >= 2:
                del self._blocks[min(self._blocks)]
            self._blocks[epoch] = known
        return known

    def document_key(self, epoch: int, block: int) -> int | None:
        """The key of the permutation of a block's documents in an epoch; None where they stay as they are."""
        if not self.shuffle:
            return None
        of_epoch = np.uint64(subkey(np.uint64(self.key), epoch, 3))
        return int(subkey(of_epoch, block, 0))

    def spans_of(self, ordinals: Ints) -> Spans:
        """Where the tokens of these sequences lie; `slot` counts along `ordinals`."""
        begins = self.begins_of(ordinals)
        epoch = int(begins[0]) // self.total_tokens
        base = epoch * self.total_tokens
        limit = self.total_tokens if self._end is None else min(self.total_tokens, self._end - base)
        spans = self._cut(begins - base, np.full(len(begins), self.seq_len), epoch, limit)
        return self._gather(begins) if spans is None else spans

    def epoch_end(self, ordinal: int) -> int:
        """The first ordinal after the epoch that `ordinal`'s sequence starts in."""
        return int(_first_of(ordinal * self.seq_len // self.total_tokens + 1, self.total_tokens, self.seq_len))

    def cut(self, inside: Ints, count: Ints | int, epoch: int) -> Spans:
        """Spans of the token ranges `[inside, inside + count)` of one epoch."""
        counts = np.full(len(inside), count, np.int64) if isinstance(count, int) else count
        spans = self._cut(inside, counts, epoch, self.total_tokens)
        assert spans is not None, "a range beyond the epoch"
        return spans

    def _cut(self, inside: Ints, count: Ints, epoch: int, limit: int) -> Spans | None:
        """`cut`, or None where a range is not within the epoch's first `limit` tokens."""
        order, starts = self.blocks_of(epoch)
        table = np.empty((5, 2 * len(inside)), np.int64)
        num_pieces = _cut(starts, order, inside, count, limit, table)
        if num_pieces < 0:
            return None
        if num_pieces > table.shape[1]:
            table = np.empty((5, num_pieces), np.int64)
            _cut(starts, order, inside, count, limit, table)
        slot, column, block, offset, tokens = table[:, :num_pieces]
        return Spans(slot, column, np.full(num_pieces, epoch), block, offset, tokens)

    def _gather(self, begin: Ints) -> Spans:
        """Spans of sequences that begin at `begin` of the endless stream, cut at the seams between epochs too."""
        slot = np.arange(len(begin))
        column = np.zeros(len(begin), np.int64)
        size = np.full(len(begin), self.seq_len)
        if self._end is not None:
            size = np.minimum(size, self._end - begin)
        parts: list[Spans] = []
        while len(slot):
            epochs = begin // self.total_tokens
            inside = begin - epochs * self.total_tokens
            take = np.minimum(size - column, self.total_tokens - inside)
            for epoch in np.unique(epochs).tolist():
                here = epochs == epoch
                cut = self.cut(inside[here], take[here], epoch)
                moved = slot[here][cut.slot], column[here][cut.slot] + cut.column
                parts.append(Spans(*moved, cut.epoch, cut.block, cut.offset, cut.count))
            left = column + take < size
            slot, begin, column, size = slot[left], (begin + take)[left], (column + take)[left], size[left]
        columns = zip(*((p.slot, p.column, p.epoch, p.block, p.offset, p.count) for p in parts), strict=True)
        return Spans(*(np.concatenate(column) for column in columns))

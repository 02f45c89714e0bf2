"""Blocks on their way from shards to batches: opened when first needed, kept while there is room.

A reader belongs to one thread, but for `fetch`. Blocks of memory-mapped shards cost their document table only; decoded
ones their tokens.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from headrace.errors import DataError, ShardError
from headrace.formats import Block
from headrace.holes import HOLE, STOP, BadData, hole_block, out_of_range
from headrace.manifest import SourceManifest
from headrace.open_shards import OpenShards
from headrace.packing import DocumentOrder, order_documents
from headrace.places import Place
from headrace.rest import Order
from headrace.row_counts import is_listed
from headrace.separators import SeparatorCheck

Ints = npt.NDArray[np.int64]
S = TypeVar("S", bound="Sized")

SPARE_BYTES = 16 << 20
"""Document tables of mapped files that stay for the next epoch: those of some hundred million tokens, which come round
in minutes where they are a source of their own."""


@dataclass(frozen=True, slots=True)
class OrderedBlock:
    """A block in the document order of one epoch."""

    block: Block
    order: DocumentOrder
    addresses: tuple[int, int, int, int]
    "number of documents, and addresses of the tokens, `begins` and `edges`, as the kernel takes them"
    has_holes: bool

    @property
    def num_tokens(self) -> int:
        """Tokens in it, separators included."""
        return int(self.order.edges[-1])

    @property
    def is_mapped(self) -> bool:
        """Whether its tokens lie in the page cache, and cost no memory of this process."""
        return self.block.nbytes <= 3 * self.block.lengths.nbytes

    @property
    def nbytes(self) -> int:
        """Memory that it holds beyond the page cache."""
        order = self.order
        return self.block.nbytes + order.documents.nbytes + order.begins.nbytes + order.edges.nbytes


class SourceReader:
    """The open shards of one source, or of one leg of it."""

    def __init__(
        self, manifest: SourceManifest, bad_data: BadData = STOP, separators: SeparatorCheck | None = None
    ) -> None:
        """`separators` looks at the first blocks."""
        self._manifest = manifest
        self.fetched: Callable[[int], Block | None] = lambda block: None
        "gives a block that was fetched ahead, if it was, or raises what fetching it raised"
        self._separators = separators
        self._bad_data = bad_data
        self._shards = OpenShards(manifest)
        self._masked: set[int] = set()
        "blocks that could not be read: they stay masked in this run"

    def open_block(self, block: int) -> Block:
        """Open a block by its number in the manifest, without what is left out and with its holes.

        Raises:
            ShardError: the shard is gone, has changed or can't be read, and bad data is not masked.
            SourceError: its documents carry a separator that is to be added.
        """
        shard = int(self._manifest.block_shard[block])
        if block in self._masked or (shard in self._manifest.hole_shards and not self._bad_data.needs_lengths):
            return hole_block(self._manifest, block)
        try:
            opened = self._checked(block, self._kept(self._fetched(block), shard))
        except DataError as error:
            if not self._bad_data.masks:
                raise
            self._masked.add(block)
            made = hole_block(self._manifest, block)
            what = "can't be read, so its %d documents of %d tokens are masked: %s"
            self._bad_data.tell(self._manifest, block, what, len(made.lengths), int(made.lengths.sum()), error)
            return made
        if self._separators is not None:
            self._separators.look(opened)
        if not self._bad_data.masks:
            return opened
        limit = self._bad_data.id_limit
        is_bad = out_of_range(opened, limit)
        rows = opened.rows[is_bad].tolist()
        if rows:
            what = "holds ids that are negative or from %d on in %d documents, which are masked: rows %s"
            shown = ", ".join(map(str, rows[:10])) + (", …" if len(rows) > 10 else "")
            self._bad_data.tell(self._manifest, block, what, limit, len(rows), shown)
        return replace(opened, starts=np.where(is_bad, HOLE, opened.starts))

    def fetch(self, block: int) -> Block:
        """The block as the file has it; for any thread, and several at once. Raises as `open_block` does."""
        shard, index = int(self._manifest.block_shard[block]), int(self._manifest.block_index[block])
        with ExitStack() as stack:
            try:
                file = stack.enter_context(self._shards.used(shard))
            except ShardError as error:
                raise ShardError(f"block {index} of {error}") from error
            return file.open_block(index)

    def _fetched(self, block: int) -> Block:
        ahead = self.fetched(block)
        return self.fetch(block) if ahead is None else ahead

    def _checked(self, block: int, opened: Block) -> Block:
        tokens = int(opened.lengths.sum())
        expected = int(self._manifest.block_documents[block]), int(self._manifest.block_tokens[block])
        if (len(opened.lengths), tokens) != expected:
            raise ShardError(
                f"block {int(self._manifest.block_index[block])} of {self.path(block)} holds {len(opened.lengths)} "
                f"documents and {tokens} tokens, but {expected[0]} and {expected[1]} when the run started; the file "
                "was changed or replaced: restore it"
            )
        return opened

    def _kept(self, opened: Block, shard: int) -> Block:
        """The block without rows that the manifest leaves out, and with those that are holes marked as such."""
        left_out, holes = self._manifest.left_out.get(shard), self._manifest.holes.get(shard)
        if left_out is None and holes is None and shard not in self._manifest.hole_shards:
            return opened
        starts, lengths, rows = opened.starts, opened.lengths, opened.rows
        if left_out is not None:
            kept = np.flatnonzero(~is_listed(rows, left_out))
            starts, lengths, rows = starts[kept], lengths[kept], rows[kept]
        if shard in self._manifest.hole_shards:
            starts = np.full(len(starts), HOLE, np.int64)
        elif holes is not None:
            starts = np.where(is_listed(rows, holes), HOLE, starts)
        return replace(opened, starts=starts, lengths=lengths, rows=rows)

    def path(self, block: int) -> Place:
        """The file that holds a block."""
        return self._manifest.root / self.name(block)

    def name(self, block: int) -> str:
        """The file that holds a block, relative to the source's path."""
        return self._manifest.shards[int(self._manifest.block_shard[block])].path

    def close(self) -> None:
        """Close every shard."""
        self._shards.close()


class Sized(Protocol):
    """Something that knows how much memory it holds."""

    @property
    def nbytes(self) -> int:
        """Bytes."""


class RecentlyUsed(Generic[S]):
    """What was made for the most recently used (source, epoch, number), up to a number of bytes; one at least."""

    def __init__(self, limit_bytes: int, spare_bytes: int = 0) -> None:
        """What may go stays while all that is held takes no more than `spare_bytes`."""
        self._limit = limit_bytes
        self._spare = spare_bytes
        self._used = 0
        self._held: OrderedDict[tuple[int, int, int], S] = OrderedDict()
        self._ends: dict[int, deque[tuple[int, tuple[int, int, int]]]] = defaultdict(deque)
        "by source, in the order in which they were kept: the ordinal from which on a key is not asked for"

    def find(self, key: tuple[int, int, int]) -> S | None:
        """What is held for `key`, now the most recently used."""
        found = self._held.get(key)
        if found is not None:
            self._held.move_to_end(key)
        return found

    def holds(self, key: tuple[int, int, int]) -> bool:
        """Whether something is held for `key`."""
        return key in self._held

    def keep(self, key: tuple[int, int, int], made: S, until: int | None = None) -> S:
        """Hold `made` for a `key` that is not held; the least recently used make room.

        With `until` it may go once its source has come to that ordinal.
        """
        if until is not None:
            self._ends[key[0]].append((until, key))
        while self._held and self._used + made.nbytes > self._limit:
            self._used -= self._held.popitem(last=False)[1].nbytes
        self._used += made.nbytes
        self._held[key] = made
        return made

    def let_go(self, source: int, ordinal: int) -> None:
        """Drop what was to be held until an ordinal before `ordinal` of `source`, where all takes more than there is
        to spare."""
        ends = self._ends[source]
        while ends and ends[0][0] < ordinal:
            key = ends.popleft()[1]
            if self._used > self._spare:
                self.drop(key)

    def drop(self, key: tuple[int, int, int]) -> None:
        """Hold what was made for `key` no longer."""
        gone = self._held.pop(key, None)
        self._used -= 0 if gone is None else gone.nbytes

    def clear(self) -> None:
        """Drop everything."""
        self._held.clear()
        self._ends.clear()
        self._used = 0


def last_ordinal(order: Order, ordinal: int, num_tokens: int) -> int:
    """The last ordinal whose sequence may lie in a stretch of `num_tokens` that `ordinal` is the first to lie in.

    Sequences are permuted within windows of a lane, and all lanes go forward together. A stretch that lies across the
    border of two lanes is needed once more, when the one before the border comes to its end.
    """
    window = -(-order.span_tokens // order.seq_len) * order.num_lanes
    return ordinal + (num_tokens // order.span_tokens + 2) * window


class BlockCache:
    """The most recently used blocks of all sources, up to a number of bytes."""

    def __init__(
        self,
        readers: Sequence[SourceReader],
        num_separators: int,
        cache_bytes: int,
        spare_bytes: int = SPARE_BYTES,
    ) -> None:
        """What may go stays while no more than `spare_bytes` are held."""
        self._readers = readers
        self._num_separators = num_separators
        self._blocks: RecentlyUsed[OrderedBlock] = RecentlyUsed(cache_bytes, spare_bytes)

    def get(self, source: int, epoch: int, block: int, order: Order | None, ordinal: int | None = None) -> OrderedBlock:
        """A block of `source`, its documents permuted as `order` has them in `epoch`, or in file order without one.

        With the `ordinal` of the first sequence that needs it, a block of a mapped file, which is quick to open again,
        may go once no sequence of its epoch needs it, unless there is room to spare. Decoded ones are kept for the
        next, while there is room.
        """
        key = (source, epoch, block)
        found = self._blocks.find(key)
        if found is None:
            document_key = None if order is None else order.document_key(epoch, block)
            old = (source, epoch - 1, block)
            before = self._blocks.find(old)
            opened = self._readers[source].open_block(block) if before is None else before.block
            found = self._ordered(opened, document_key)
            until = None
            if order is not None and ordinal is not None and found.is_mapped:
                until = last_ordinal(order, ordinal, found.num_tokens)
            self._blocks.keep(key, found, until)
            if before is not None and before.is_mapped:
                self._blocks.drop(old)
        return found

    def let_go(self, source: int, ordinal: int) -> None:
        """Drop blocks that no sequence of `source` from `ordinal` on needs."""
        self._blocks.let_go(source, ordinal)

    def holds(self, source: int, epoch: int, block: int) -> bool:
        """Whether `get` would have nothing to open."""
        return self._blocks.holds((source, epoch, block)) or self._blocks.holds((source, epoch - 1, block))

    def open(self, source: int, block: int, document_key: int | None) -> OrderedBlock:
        """A block afresh, not kept: its documents permuted under `document_key`, or in file order without one."""
        return self._ordered(self._readers[source].open_block(block), document_key)

    def _ordered(self, opened: Block, document_key: int | None) -> OrderedBlock:
        documents = order_documents(document_key, opened.starts, opened.lengths, self._num_separators)
        begins, edges = documents.begins, documents.edges
        addresses = (len(begins), opened.tokens.ctypes.data, begins.ctypes.data, edges.ctypes.data)
        return OrderedBlock(opened, documents, addresses, bool((begins < 0).any()))

    def fetch(self, source: int, block: int) -> Block:
        """A block as its file has it; for any thread. See `SourceReader.fetch`."""
        return self._readers[source].fetch(block)

    def fetch_by(self, take: Callable[[tuple[int, int]], Block | None]) -> None:
        """From now on ask `take` first for a (source, block) that is to be opened."""
        for source, reader in enumerate(self._readers):
            reader.fetched = partial(_take, take, source)

    def file_of(self, source: int, block: int) -> Place:
        """The file that holds a block of `source`."""
        return self._readers[source].path(block)

    def name_of(self, source: int, block: int) -> str:
        """The same, relative to the source's path."""
        return self._readers[source].name(block)

    def clear(self) -> None:
        """Drop every block and close every shard."""
        self._blocks.clear()
        for reader in self._readers:
            reader.close()


def _take(take: Callable[[tuple[int, int]], Block | None], source: int, block: int) -> Block | None:
    return take((source, block))

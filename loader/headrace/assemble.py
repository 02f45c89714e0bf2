"""A rank's part of a plan → its micro-batches, tokens gathered straight from the shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from headrace.batch import Batch
from headrace.config import LoaderConfig
from headrace.errors import ShardError
from headrace.manifest import SourceManifest
from headrace.order import SourceOrder
from headrace.packing import NO_LIMIT, sequence_bounds, write_spans
from headrace.plan import StepPlan
from headrace.reader import BlockCache, OrderedBlock

Ints = npt.NDArray[np.int64]

_NOTHING = np.zeros((0, 0), np.int64)


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where this rank stands in one source after a step."""

    file: str
    row: int
    sequences: int


@dataclass(frozen=True, slots=True)
class _Table:
    """Spans of all blocks that hold one integer type, in slot order."""

    stored: npt.NDArray[np.integer]
    rows: Ints
    "int64 (n, 11), as `BlockCache.table` makes them"
    blocks: list[OrderedBlock]
    "one a row, kept alive while the kernel reads them"
    limit: int
    "what ids must stay below"


class Assembler:
    """Makes the micro-batches of one rank, one step at a time, on one thread."""

    def __init__(
        self,
        config: LoaderConfig,
        manifests: Sequence[SourceManifest],
        orders: Sequence[SourceOrder],
        blocks: BlockCache,
    ) -> None:
        self._config = config
        self._manifests = manifests
        self._orders = orders
        self._blocks = blocks
        self._separators = (
            -1 if config.bos_id is None else config.bos_id,
            -1 if config.eos_id is None else config.eos_id,
        )
        self._token_dtype = torch.empty(0, dtype=config.token_dtype).numpy().dtype
        self.bytes_read = 0

    def batches(self, plan: StepPlan, slots: slice) -> Iterator[Batch]:
        """The micro-batches of the slots this rank owns, in slot order.

        Raises:
            ShardError: a shard that can't be read, or an id outside the vocabulary; names file and row.
        """
        sources = plan.sources[slots]
        tables = self._tables(sources, plan.ordinals[slots])
        size = self._config.micro_batch_size
        num_micro = len(sources) // size
        for micro in range(num_micro):
            yield self._batch(plan.step, micro, num_micro, sources[micro * size : (micro + 1) * size], tables)

    def cursors(self, plan: StepPlan, slots: slice) -> dict[int, Cursor]:
        """For each source in this rank's part: where its last sequence begins."""
        sources, ordinals = plan.sources[slots], plan.ordinals[slots]
        found = {}
        for k in np.unique(sources).tolist():
            mine = ordinals[sources == k]
            spans = self._orders[k].spans_of(mine[-1:])
            place = self._blocks.place(k, int(spans.epoch[0]), int(spans.block[0]), int(spans.offset[0]))
            found[k] = Cursor(place[0], place[1], len(mine))
        return found

    def _tables(self, sources: npt.NDArray[np.int32], ordinals: Ints) -> list[_Table]:
        rows: list[Ints] = []
        blocks: list[OrderedBlock] = []
        for k in np.flatnonzero(np.bincount(sources)).tolist():
            slots = np.flatnonzero(sources == k)
            table, opened = self._blocks.table(k, slots, self._orders[k].spans_of(ordinals[slots]))
            rows.append(table)
            blocks += opened
        together = np.concatenate(rows)
        ascending = np.argsort(together[:, 0], kind="stable")
        by_type: dict[np.dtype[np.integer], list[int]] = {}
        for i in ascending.tolist():
            by_type.setdefault(blocks[i].block.tokens.dtype, []).append(i)
        return [self._table(dtype, together[chosen], [blocks[i] for i in chosen]) for dtype, chosen in by_type.items()]

    def _table(self, dtype: np.dtype[np.integer], rows: Ints, blocks: list[OrderedBlock]) -> _Table:
        self.bytes_read += int(rows[:, 3].sum()) * dtype.itemsize
        return _Table(np.empty(0, dtype), rows, blocks, self._limit(set(rows[:, 8].tolist())))

    def _batch(
        self, step: int, micro: int, num_micro: int, sources: npt.NDArray[np.int32], tables: list[_Table]
    ) -> Batch:
        shape = (len(sources), self._config.seq_len)
        outputs = self._config.outputs
        ids = torch.empty(shape, dtype=self._config.token_dtype)
        wide = self._config.token_dtype == torch.int64
        labels = torch.empty(shape, dtype=torch.int64 if wide else torch.int32) if "labels" in outputs else None
        with_positions = "position_ids" in outputs or "cu_seqlens" in outputs
        positions = torch.empty(shape, dtype=torch.int64) if with_positions else None
        num_last = 0
        for table in tables:
            num_last += self._write(table, micro * len(sources), ids, labels, positions)
        bounds, longest = None, None
        if "cu_seqlens" in outputs and positions is not None:
            bounds, longest = sequence_bounds(positions.numpy())
        return Batch(
            input_ids=ids,
            labels=labels,
            position_ids=positions if "position_ids" in outputs else None,
            cu_seqlens=None if bounds is None else torch.from_numpy(bounds),
            max_seqlen=longest,
            source=torch.from_numpy(sources.astype(np.int64)),
            step=step,
            micro_step=micro,
            last_of_step=micro == num_micro - 1,
            num_trained_tokens=shape[0] * shape[1] - num_last,
        )

    def _write(
        self,
        table: _Table,
        first_slot: int,
        ids: torch.Tensor,
        labels: torch.Tensor | None,
        positions: torch.Tensor | None,
    ) -> int:
        low, high = np.searchsorted(table.rows[:, 0], (first_slot, first_slot + len(ids))).tolist()
        rows = table.rows[low:high].copy()
        rows[:, 0] -= first_slot
        bad, num_last = write_spans(
            rows,
            table.stored,
            self._separators,
            table.limit,
            ids.numpy(),
            _NOTHING if labels is None else labels.numpy(),
            _NOTHING if positions is None else positions.numpy(),
        )
        if bad >= 0:
            raise self._out_of_range(table, low + bad)
        return num_last

    def _limit(self, sources: set[int]) -> int:
        """What ids must stay below; no limit, but for negative ones, where the manifests of all `sources` prove it."""
        size = self._config.vocab_size
        if size is None or all(self._proved(self._manifests[k], size) for k in sources):
            return NO_LIMIT
        return size

    @staticmethod
    def _proved(manifest: SourceManifest, vocab_size: int) -> bool:
        low, high = manifest.min_token, manifest.max_token
        unsigned = manifest.token_dtype.kind == "u"
        return high is not None and high < vocab_size and (unsigned or (low is not None and low >= 0))

    def _out_of_range(self, table: _Table, row: int) -> ShardError:
        """The error for the first id in a span's block that is negative or too large."""
        source, _, block = table.rows[row, 8:].tolist()
        opened = table.blocks[row]
        for document in opened.order.documents.tolist():
            start = int(opened.block.starts[document])
            ids = opened.block.tokens[start : start + int(opened.block.lengths[document])].astype(np.int64)
            wrong = np.flatnonzero((ids < 0) | (ids >= table.limit))
            if len(wrong):
                place = int(wrong[0])
                file, number = self._blocks.file_of(source, block), int(opened.block.rows[document])
                return ShardError(
                    f"token {place} of row {number} of {file} is {ids[place]} (source {self._config.names[source]!r}); "
                    f"ids must be from 0 to {table.limit - 1}: correct vocab_size, or make the shard again with the "
                    "right tokenizer"
                )
        raise AssertionError("the kernel refused a span whose block has no id out of range")

"""A rank's part of a plan → its micro-batches, tokens gathered straight from the shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from headrace.batch import Batch
from headrace.config import LoaderConfig, Output
from headrace.errors import ShardError
from headrace.manifest import SourceManifest
from headrace.packing import IGNORED, NO_LIMIT, sequence_bounds, write_spans
from headrace.pieces import Pieces
from headrace.plan import StepPlan
from headrace.reader import BlockCache, OrderedBlock

Ints = npt.NDArray[np.int64]

GROUP_SEQUENCES = 64
"sequences whose blocks are opened together; more would hold more blocks at once than need be"

_NOTHING = np.zeros((0, 0), np.int64)


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where this rank stands in one source after a step."""

    file: str | None
    row: int | None
    "row, in `file`, where its last sequence begins; both None where that is nothing but padding"
    sequences: int


@dataclass(frozen=True, slots=True)
class _Table:
    """Spans of all blocks that hold one integer type, in slot order."""

    stored: npt.NDArray[np.integer]
    rows: Ints
    "int64 (n, 11), as `Pieces.table` makes them"
    blocks: list[OrderedBlock]
    "one a row, kept alive while the kernel reads them"
    limit: int
    "what ids must stay below"


@dataclass(slots=True)
class _Tensors:
    """A micro-batch being written."""

    ids: torch.Tensor
    labels: torch.Tensor | None
    positions: torch.Tensor | None
    source: torch.Tensor
    num_trained: int = 0
    bounds: tuple[npt.NDArray[np.int32], int] | None = None

    def batch(self, outputs: tuple[Output, ...], step: int, micro: int, num_micro: int) -> Batch:
        """The finished micro-batch."""
        return Batch(
            input_ids=self.ids,
            labels=self.labels,
            position_ids=self.positions if "position_ids" in outputs else None,
            cu_seqlens=torch.from_numpy(self.bounds[0]) if self.bounds else None,
            max_seqlen=self.bounds[1] if self.bounds else None,
            source=self.source,
            step=step,
            micro_step=micro,
            last_of_step=micro == num_micro - 1,
            num_trained_tokens=self.num_trained,
        )


def _pad(made: _Tensors, filled: Ints, pad_id: int) -> None:
    """Fill what documents left free: ids `pad_id`, labels ignored, positions 0."""
    for row in np.flatnonzero(filled < made.ids.shape[1]).tolist():
        rest = slice(int(filled[row]), None)
        made.ids[row, rest] = pad_id
        if made.labels is not None:
            made.labels[row, rest] = IGNORED
        if made.positions is not None:
            made.positions[row, rest] = 0


class Assembler:
    """Makes the micro-batches of one rank, one step at a time, on one thread."""

    def __init__(
        self,
        config: LoaderConfig,
        manifests: Sequence[SourceManifest],
        pieces: Pieces,
        blocks: BlockCache,
    ) -> None:
        self._config = config
        self._manifests = manifests
        self._pieces = pieces
        self._blocks = blocks
        self._pad_id = config.eos_id or 0
        self._marks = (
            -1 if config.bos_id is None else config.bos_id,
            -1 if config.eos_id is None else config.eos_id,
            self._pad_id,
        )
        self.bytes_read = 0

    def batches(self, plan: StepPlan, slots: slice) -> Iterator[Batch]:
        """The micro-batches of the slots this rank owns, in slot order.

        Raises:
            ShardError: a shard that can't be read, or an id outside the vocabulary; names file and row.
        """
        sources, ordinals = plan.sources[slots], plan.ordinals[slots]
        # The last step of a run that ends may have fewer sequences than slots: the rest is padding.
        spare = slots.stop - slots.start - len(sources)
        sources = np.concatenate((sources, np.full(spare, -1, np.int32)))
        size = self._config.micro_batch_size
        num_micro = len(sources) // size
        group = max(1, GROUP_SEQUENCES // size)
        for first in range(0, num_micro, group):
            here = slice(first * size, (first + group) * size)
            tables = self._tables(sources[here], ordinals[here])
            for micro in range(first, min(first + group, num_micro)):
                own = sources[micro * size : (micro + 1) * size]
                made = self._batch(own, (micro - first) * size, tables)
                yield made.batch(self._config.outputs, plan.step, micro, num_micro)

    def cursors(self, plan: StepPlan, slots: slice) -> dict[int, Cursor]:
        """For each source in this rank's part: where its last sequence begins."""
        sources, ordinals = plan.sources[slots], plan.ordinals[slots]
        found = {}
        for k in np.unique(sources).tolist():
            mine = ordinals[sources == k]
            rows, blocks = self._pieces.table(k, np.zeros(1, np.int64), mine[-1:])
            if not blocks:
                found[k] = Cursor(None, None, len(mine))
                continue
            first = blocks[0]
            document = int(np.searchsorted(first.order.edges, rows[0, 2], side="right")) - 1
            row = int(first.block.rows[first.order.documents[document]])
            found[k] = Cursor(self._blocks.name_of(k, int(rows[0, 10])), row, len(mine))
        return found

    def _tables(self, sources: npt.NDArray[np.int32], ordinals: Ints) -> list[_Table]:
        rows: list[Ints] = []
        blocks: list[OrderedBlock] = []
        for k in np.flatnonzero(np.bincount(sources[sources >= 0])).tolist():
            slots = np.flatnonzero(sources == k)
            table, opened = self._pieces.table(k, slots, ordinals[slots])
            rows.append(table)
            blocks += opened
        if not rows:
            return []
        together = np.concatenate(rows)
        ascending = np.argsort(together[:, 0], kind="stable")
        by_type: dict[np.dtype[np.integer], list[int]] = {}
        for i in ascending.tolist():
            by_type.setdefault(blocks[i].block.tokens.dtype, []).append(i)
        return [self._table(dtype, together[chosen], [blocks[i] for i in chosen]) for dtype, chosen in by_type.items()]

    def _table(self, dtype: np.dtype[np.integer], rows: Ints, blocks: list[OrderedBlock]) -> _Table:
        self.bytes_read += int(rows[:, 3].sum()) * dtype.itemsize
        return _Table(np.empty(0, dtype), rows, blocks, self._limit(set(rows[:, 8].tolist())))

    def _batch(self, sources: npt.NDArray[np.int32], first_slot: int, tables: list[_Table]) -> _Tensors:
        """The tensors of the micro-batch at slots `[first_slot, first_slot + len(sources))` of the tables."""
        config = self._config
        shape = (len(sources), config.seq_len)
        outputs = config.outputs
        wide = config.token_dtype == torch.int64
        ids = torch.empty(shape, dtype=config.token_dtype)
        labels = torch.empty(shape, dtype=torch.int64 if wide else torch.int32) if "labels" in outputs else None
        with_positions = "position_ids" in outputs or "cu_seqlens" in outputs
        positions = torch.empty(shape, dtype=torch.int64) if with_positions else None
        made = _Tensors(ids, labels, positions, torch.from_numpy(sources.astype(np.int64)))
        filled = np.zeros(len(sources), np.int64)
        for table in tables:
            self._write(table, first_slot, made, filled)
        if (filled < config.seq_len).any():
            _pad(made, filled, self._pad_id)
        if "cu_seqlens" in outputs and positions is not None:
            made.bounds = sequence_bounds(positions.numpy(), filled)
        return made

    def _write(self, table: _Table, first_slot: int, made: _Tensors, filled: Ints) -> None:
        """Write a table's rows of this micro-batch; `filled`: int64 (micro_batch,), tokens in each sequence so far."""
        low, high = np.searchsorted(table.rows[:, 0], (first_slot, first_slot + len(filled))).tolist()
        rows = table.rows[low:high].copy()
        rows[:, 0] -= first_slot
        np.add.at(filled, rows[:, 0], rows[:, 3])
        bad, num_untrained = write_spans(
            rows,
            table.stored,
            self._marks,
            table.limit,
            made.ids.numpy(),
            _NOTHING if made.labels is None else made.labels.numpy(),
            _NOTHING if made.positions is None else made.positions.numpy(),
        )
        if bad >= 0:
            raise self._out_of_range(table, low + bad)
        made.num_trained += int(rows[:, 3].sum()) - num_untrained

    def _limit(self, sources: set[int]) -> int:
        """What ids must stay below; no limit, but for negative ones, where the manifests of all `sources` prove it."""
        limit = self._config.id_limit
        return NO_LIMIT if all(self._proved(self._manifests[k], limit) for k in sources) else limit

    @staticmethod
    def _proved(manifest: SourceManifest, limit: int) -> bool:
        low, high = manifest.min_token, manifest.max_token
        unsigned = manifest.token_dtype.kind == "u"
        return high is not None and high < limit and (unsigned or (low is not None and low >= 0))

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
                narrow = self._config.vocab_size is None and table.limit < NO_LIMIT
                remedy = "use a wider token_dtype" if narrow else "correct vocab_size"
                return ShardError(
                    f"token {place} of row {number} of {file} is {ids[place]} (source {self._config.names[source]!r}); "
                    f"ids must be from 0 to {table.limit - 1}: {remedy}, or make the shard again with the right "
                    "tokenizer"
                )
        raise AssertionError("the kernel refused a span whose block has no id out of range")

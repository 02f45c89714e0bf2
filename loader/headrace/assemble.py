"""A rank's part of a plan → its micro-batches, tokens gathered straight from the shards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from headrace.batch import Batch
from headrace.config import MAX_IDS, LoaderConfig, Output
from headrace.courses import Courses
from headrace.errors import HeadraceError, ShardError
from headrace.holes import UNKNOWN_ROW
from headrace.manifest import SourceManifest
from headrace.masked import Masked
from headrace.packing import IGNORED, sequence_bounds, write_spans
from headrace.pieces import Pieces
from headrace.plan import StepPlan
from headrace.reader import BlockCache, OrderedBlock
from headrace.transform import Sequences, SequenceTransform

Ints = npt.NDArray[np.int64]

GROUP_SEQUENCES = 64
"sequences of a step whose blocks are opened together; more would hold more blocks at once than need be"

_NOTHING = np.zeros((0, 0), np.int64)


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where this rank stands in one source after a step."""

    file: str | None
    row: int | None
    "row, in `file`, where its last sequence begins, None where it can't be read; both None where that is padding only"
    sequences: int


class Part(NamedTuple):
    """A rank's part of a step."""

    plan: StepPlan
    slots: slice
    num_micro: int


@dataclass(frozen=True, slots=True)
class _Opened:
    """Steps whose spans are in one set of tables, one step after the other."""

    steps: dict[int, tuple[StepPlan, npt.NDArray[np.int32], int]]
    "by number: its plan, the sources of this rank's rows, and the place of its first micro-batch in the tables"
    tables: list[_Table]


@dataclass(frozen=True, slots=True)
class _Table:
    """Spans of all blocks that hold one integer type, in slot order, for a few micro-batches."""

    stored: npt.NDArray[np.integer]
    rows: Ints
    "int64 (n, 12), as `Pieces.table` makes them"
    bounds: list[int]
    "rows `[bounds[m], bounds[m + 1])` are those of the m-th micro-batch"
    num_tokens: list[int]
    "of the m-th micro-batch"
    blocks: list[OrderedBlock]
    "those that the last column counts along, kept alive while the kernel reads them"
    has_holes: bool


@dataclass(slots=True)
class _Arrays:
    """A micro-batch being written; what is not asked for is (0, 0)."""

    ids: npt.NDArray[np.integer]
    labels: npt.NDArray[np.integer]
    positions: Ints
    source: Ints
    num_trained: int = 0
    bounds: tuple[npt.NDArray[np.int32], int] | None = None

    def pad(self, filled: Ints, pad_id: int) -> None:
        """Fill what documents left free: ids `pad_id`, labels ignored, positions 0."""
        for row in np.flatnonzero(filled < self.ids.shape[1]).tolist():
            rest = slice(int(filled[row]), None)
            self.ids[row, rest] = pad_id
            if len(self.labels):
                self.labels[row, rest] = IGNORED
            if len(self.positions):
                self.positions[row, rest] = 0

    def batch(self, outputs: tuple[Output, ...], step: int, micro: int, num_micro: int) -> Batch:
        """The finished micro-batch, over the same memory."""
        return Batch(
            input_ids=torch.from_numpy(self.ids),
            labels=torch.from_numpy(self.labels) if "labels" in outputs else None,
            position_ids=torch.from_numpy(self.positions) if "position_ids" in outputs else None,
            cu_seqlens=torch.from_numpy(self.bounds[0]) if self.bounds else None,
            max_seqlen=self.bounds[1] if self.bounds else None,
            source=torch.from_numpy(self.source),
            step=step,
            micro_step=micro,
            last_of_step=micro == num_micro - 1,
            num_trained_tokens=self.num_trained,
        )


class Assembler:
    """Makes the micro-batches of one rank, one step at a time, on one thread."""

    def __init__(
        self,
        config: LoaderConfig,
        manifests: Sequence[SourceManifest],
        courses: Courses,
        pieces: Pieces,
        blocks: BlockCache,
    ) -> None:
        """`manifests` are those of the legs; `courses` tells in which of them an ordinal lies."""
        self._courses = courses
        self._names = [manifest.name for manifest in manifests]
        self._config = config
        self._pieces = pieces
        self._blocks = blocks
        self._marks = (
            -1 if config.bos_id is None else config.bos_id,
            -1 if config.eos_id is None else config.eos_id,
            config.eos_id or 0,
        )
        self._id_type = torch.empty(0, dtype=config.token_dtype).numpy().dtype
        self._label_type = np.dtype(np.int64 if config.token_dtype == torch.int64 else np.int32)
        self._transform = None
        if config.transform is not None:
            self._transform = SequenceTransform(config.transform, seed=config.seed, id_limit=config.id_limit)
        self._id_limit = config.id_limit
        self._with_labels = "labels" in config.outputs or self._transform is not None
        self._with_positions = bool({"position_ids", "cu_seqlens"} & {*config.outputs}) or self._transform is not None
        self.masked = Masked(self._names, blocks.name_of)
        self._has_begun = False
        self._opened: _Opened | None = None
        self.bytes_read = 0
        self.padded_tokens = 0

    def batches(self, part: Part, later: Iterable[Part] = ()) -> Iterator[Batch]:
        """The micro-batches of the slots this rank owns, in slot order; rows that no slot fills are padding.

        `later` are the steps that follow, as far as they are known: small ones are opened together with this one.

        Raises:
            ShardError: a shard that can't be read, or an id outside the vocabulary; names file and row.
            TransformError: what the user's transform returned can't be a sequence.
        """
        # The first micro-batch of a start is waited for: it opens no blocks but its own.
        opened = self._open_together(part, later) if self._has_begun else None
        if opened is not None:
            _, sources, first = opened.steps[part.plan.step]
            yield from self._micro_batches(part, sources, range(part.num_micro), first, opened.tables)
            return
        sources, legs, ordinals = self._own(part)
        size, first = self._config.micro_batch_size, 0
        while first < part.num_micro:
            group = max(1, GROUP_SEQUENCES // size) if self._has_begun else 1
            self._has_begun = True
            here = slice(first * size, (first + group) * size)
            tables = self._tables(legs[here], ordinals[here])
            numbers = range(first, min(first + group, part.num_micro))
            yield from self._micro_batches(part, sources, numbers, -first, tables)
            first += group

    def _micro_batches(
        self, part: Part, sources: npt.NDArray[np.int32], numbers: range, before: int, tables: list[_Table]
    ) -> Iterator[Batch]:
        """Some micro-batches of a part; `tables` hold number `n` at `before + n`."""
        plan, size, outputs = part.plan, self._config.micro_batch_size, self._config.outputs
        ordinals = plan.ordinals[part.slots]
        for micro in numbers:
            own = slice(micro * size, (micro + 1) * size)
            made = self._written(sources[own], ordinals[own], before + micro, tables)
            yield made.batch(outputs, plan.step, micro, part.num_micro)

    def _own(self, part: Part) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Ints]:
        """Sources, legs and ordinals of the rows of a part; −1, −1 and 0 where nothing fills them."""
        sources = part.plan.sources[part.slots]
        legs, ordinals = self._courses.locate(sources, part.plan.ordinals[part.slots])
        # A rank's part may be smaller than its micro-batches, and the last step of a run that ends than its slots.
        missing = part.num_micro * self._config.micro_batch_size - len(sources)
        if missing:
            spare = np.full(missing, -1, np.int32)
            sources, legs = np.concatenate((sources, spare)), np.concatenate((legs, spare))
            ordinals = np.concatenate((ordinals, np.zeros(missing, np.int64)))
        return sources, legs, ordinals

    def _open_together(self, part: Part, later: Iterable[Part]) -> _Opened | None:
        """The tables of a step among those of others, made now or with an earlier step; None where it stands alone."""
        opened = self._opened
        if opened is not None:
            known = opened.steps.get(part.plan.step)
            if known is not None and known[0] is part.plan:
                return opened
        self._opened = None
        parts = [part, *later]
        if len(parts) == 1:
            return None
        rows = [self._own(one) for one in parts]
        first_micro = np.cumsum([0, *(one.num_micro for one in parts)]).tolist()
        try:
            tables = self._tables(*(np.concatenate([row[i] for row in rows]) for i in (1, 2)))
        except HeadraceError:
            return None  # Alone, each step tells of its own faults, and those before it are delivered.
        places = zip(parts, rows, first_micro[:-1], strict=True)
        self._opened = _Opened({one.plan.step: (one.plan, row[0], first) for one, row, first in places}, tables)
        return self._opened

    def cursors(self, plan: StepPlan, slots: slice) -> dict[int, Cursor]:
        """For each source in this rank's part: where its last sequence begins."""
        sources = plan.sources[slots]
        legs, ordinals = self._courses.locate(sources, plan.ordinals[slots])
        found = {}
        for k in np.unique(sources).tolist():
            mine = np.flatnonzero(sources == k)
            leg = int(legs[mine[-1]])
            rows, blocks = self._pieces.table(leg, np.zeros(1, np.int64), ordinals[mine[-1:]])
            if len(rows) == 0:
                found[k] = Cursor(None, None, len(mine))
                continue
            first = blocks[rows[0, 11]]
            document = int(np.searchsorted(first.order.edges, rows[0, 2], side="right")) - 1
            row = int(first.block.rows[first.order.documents[document]])
            known = None if row == UNKNOWN_ROW else row
            found[k] = Cursor(self._blocks.name_of(leg, int(rows[0, 10])), known, len(mine))
        return found

    def _tables(self, legs: npt.NDArray[np.int32], ordinals: Ints) -> list[_Table]:
        """The rows of some micro-batches, from all their sources, a table for each stored type."""
        parts: list[Ints] = []
        blocks: list[OrderedBlock] = []
        for leg in np.flatnonzero(np.bincount(legs[legs >= 0])).tolist():
            slots = np.flatnonzero(legs == leg)
            table, opened = self._pieces.table(leg, slots, ordinals[slots])
            table[:, 11] += len(blocks)
            parts.append(table)
            blocks += opened
        if not blocks:
            return []
        rows = np.concatenate(parts)
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        stored = [block.block.tokens.dtype for block in blocks]
        edges = np.arange(0, len(legs) + 1, self._config.micro_batch_size)
        has_holes = any(block.has_holes for block in blocks)
        tables = []
        for dtype in set(stored):
            mine = rows
            if stored.count(dtype) < len(stored):
                mine = rows[np.array([one == dtype for one in stored])[rows[:, 11]]]
            bounds = np.searchsorted(mine[:, 0], edges)
            before = np.concatenate(([0], np.cumsum(mine[:, 3])))
            num_tokens = np.diff(before[bounds]).tolist()
            tables.append(_Table(np.empty(0, dtype), mine, bounds.tolist(), num_tokens, blocks, has_holes))
        return tables

    def _written(self, sources: npt.NDArray[np.int32], ordinals: Ints, micro: int, tables: list[_Table]) -> _Arrays:
        """Micro-batch number `micro` of the tables; `ordinals` of its sequences that are not padding."""
        config = self._config
        shape = (len(sources), config.seq_len)
        made = _Arrays(
            np.empty(shape, self._id_type),
            np.empty(shape, self._label_type) if self._with_labels else _NOTHING,
            np.empty(shape, np.int64) if self._with_positions else _NOTHING,
            sources.astype(np.int64),
        )
        filled = np.zeros(len(sources), np.int64)
        is_hole = None if self._transform is None else np.zeros(shape, np.bool_)
        for table in tables:
            low, high = table.bounds[micro], table.bounds[micro + 1]
            bad, num_trained = write_spans(
                table.rows[low:high],
                micro * len(sources),
                table.stored,
                self._marks,
                self._id_limit,
                made.ids,
                made.labels,
                made.positions,
                filled,
            )
            if bad >= 0:
                raise self._out_of_range(table, low + bad)
            made.num_trained += num_trained
            self.bytes_read += table.num_tokens[micro] * table.stored.itemsize
            if table.has_holes:
                self.masked.add(table.rows[low:high], table.blocks, micro * len(sources), is_hole)
        free = made.ids.size - sum(filled.tolist())  # of so few, numpy's own sum takes longer
        if free:
            self.padded_tokens += free
            made.pad(filled, self._marks[2])
        if self._transform is not None and is_hole is not None:
            own = [config.names[k] for k in sources[: len(ordinals)].tolist()]
            whole = Sequences(made.ids, made.labels, made.positions, filled, is_hole)
            made.num_trained = self._transform.apply(whole, own, ordinals)
        if "cu_seqlens" in config.outputs:
            made.bounds = sequence_bounds(made.positions, filled)
        return made

    def _out_of_range(self, table: _Table, row: int) -> ShardError:
        """The error for the first id in a span's block that is negative or too large."""
        source, _, block, place = table.rows[row, 8:].tolist()
        opened, limit = table.blocks[place], self._id_limit
        for document in opened.order.documents.tolist():
            start = int(opened.block.starts[document])
            if start < 0:
                continue
            ids = opened.block.tokens[start : start + int(opened.block.lengths[document])].astype(np.int64)
            wrong = np.flatnonzero((ids < 0) | (ids >= limit))
            if len(wrong):
                place = int(wrong[0])
                file, number = self._blocks.file_of(source, block), int(opened.block.rows[document])
                narrow = self._config.vocab_size is None and limit < MAX_IDS
                remedy = "use a wider token_dtype" if narrow else "correct vocab_size"
                return ShardError(
                    f"token {place} of row {number} of {file} is {ids[place]} (source {self._names[source]!r}); "
                    f"ids must be from 0 to {limit - 1}: {remedy}, or make the shard again with the right "
                    "tokenizer"
                )
        raise AssertionError("the kernel refused a span whose block has no id out of range")

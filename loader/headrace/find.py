"""The reverse of a trace: a document → the steps whose global batches hold it, in closed form.

Document → its tokens in the stream of a leg's epoch → the sequences with them → their ordinals (`locate`) → the steps,
by halving over counts (`steps`). Only the document's own block is read, and with best-fit packing its window.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from headrace.courses import Courses, Orders
from headrace.data import Data
from headrace.ends import NO_CAP
from headrace.errors import ConfigError, StateError
from headrace.legs import Leg
from headrace.locate import ordinals_with
from headrace.manifest import Shard, SourceManifest
from headrace.pieces import Pieces
from headrace.reader import BlockCache, OrderedBlock
from headrace.rows import block_of_row
from headrace.steps import Steps
from headrace.trace import documents_in


class Delivery(NamedTuple):
    """A stretch of a document in a global batch."""

    step: int
    slot: int
    "place of the sequence in the global batch"
    epoch: int
    "pass over the source, from 0, that it belongs to"
    start: int
    "first token of the document, as stored, that is in the sequence"
    end: int
    "one past the last; equal to `start` where only a separator is"


class Document(NamedTuple):
    """A row of a shard."""

    source: int
    path: str
    "relative to the source's path, as manifests have it"
    row: int


class _Found(NamedTuple):
    """A sequence that holds a stretch of the document."""

    ordinal: int
    "of the source"
    epoch: int
    start: int
    end: int


def name_document(data: Data, path: str, row: int, source: str | None = None) -> Document:
    """Which document the user means.

    Args:
        data: the sources.
        path: the shard: relative to its source's path, with it or the source's name before it, or any end of it that
            only one shard has.
        row: its row in that shard, from 0.
        source: the source's name, where several have such a shard.

    Raises:
        ConfigError: no such source, shard or row, or several shards that fit.
    """
    names = data.config.names
    if source is not None and source not in names:
        raise ConfigError(f"source is {source!r}; the sources are {', '.join(names)}")
    chosen = [number for number, name in enumerate(names) if source in (None, name)]
    fits = [(number, shard) for number in chosen for shard in _fitting(data.listings[number].whole, path)]
    if not fits:
        raise ConfigError(f"path is {path!r}; there is no such shard in {', '.join(names[k] for k in chosen)}")
    if len(fits) > 1:
        shown = ", ".join(f"{shard.path} of {names[number]!r}" for number, shard in fits[:3])
        raise ConfigError(f"path is {path!r}; {len(fits)} shards fit, such as {shown}: give more of it, or the source")
    number, shard = fits[0]
    if not 0 <= row < shard.num_rows:
        raise ConfigError(f"row is {row}; {shard.path} has rows 0 to {shard.num_rows - 1}")
    return Document(number, shard.path, row)


def _fitting(manifest: SourceManifest, path: str) -> list[Shard]:
    roots = ("", f"{manifest.root}/", f"{manifest.name}/")
    exact = [shard for shard in manifest.shards if path in (root + shard.path for root in roots)]
    return exact or [shard for shard in manifest.shards if shard.path.endswith(f"/{path}")]


def find_row(
    data: Data,
    steps: Steps,
    path: str,
    row: int,
    *,
    source: str | None,
    span: tuple[int | None, int | None],
    next_step: int,
) -> list[Delivery]:
    """`find_document` of what the user names; `span` is (first step or None for all that is known, last or None).

    Raises:
        ConfigError: as `name_document` and `find_document`. StateError: the first step is before what is known.
    """
    first_step, until_step = span
    known = steps.first_step
    if first_step is not None and first_step < known:
        raise StateError(f"first_step is {first_step}; what this loader knows of the run reaches back to step {known}")
    document = name_document(data, path, row, source)
    first_step = known if first_step is None else first_step
    return find_document(data, steps, document, first_step=first_step, until_step=until_step, next_step=next_step)


def find_document(
    data: Data, steps: Steps, document: Document, *, first_step: int, until_step: int | None, next_step: int
) -> list[Delivery]:
    """Every stretch of a document from `first_step` on, in the order of delivery.

    Args:
        data: the sources.
        steps: of the run.
        document: as `name_document` gives it.
        first_step: steps before it are left out.
        until_step: the last step to look at; None: the end of the first pass that lies at or after `next_step`.
        next_step: the first step that was not delivered yet.

    Raises:
        ConfigError: the row is empty, null or left out, so that no step holds it.
        ShardError: its block can't be read.
    """
    search = _Search(data, document)
    name = data.config.names[document.source]
    last_step = steps.last_step if until_step is None else min(until_step, steps.last_step)
    before, end = steps.counts_before(first_step, name), steps.counts_before(last_step + 1, name)
    found: list[Delivery] = []
    try:
        end_step = None
        for one_pass in search.passes(before, end):
            mine = _deliveries(search, steps, name, one_pass, first_step, last_step)
            found += [delivery for delivery in mine if end_step is None or delivery.step <= end_step]
            if end_step is not None:
                break
            if until_step is None and mine and all(delivery.step >= next_step for delivery in mine):
                end_step = mine[-1].step  # a sequence of this pass may reach into the next one
    finally:
        search.close()
    return sorted(found, key=lambda delivery: (delivery.step, delivery.slot, delivery.start))


def _deliveries(
    search: _Search, steps: Steps, name: str, one_pass: list[_Found], first_step: int, last_step: int
) -> list[Delivery]:
    """The parts of one pass with their steps and slots; those in no step, as it was moved past, are left out."""
    found = []
    for part in sorted(one_pass):
        step = steps.step_of(name, part.ordinal, first_step, last_step)
        if step is not None:
            slot = search.slot(steps, name, part.ordinal, step)
            found.append(Delivery(step, slot, part.epoch, part.start, part.end))
            first_step = step  # steps rise with ordinals
    return found


class _Search:
    """The passes over one document, leg by leg."""

    def __init__(self, data: Data, document: Document) -> None:
        self._data = data
        self._document = document
        self._orders: Orders = data.orders()
        self._courses: Courses = data.courses(self._orders)
        self._blocks: BlockCache = data.blocks()
        self._pieces: Pieces = data.pieces(self._orders, self._blocks)
        self._legs = [number for number, leg in enumerate(data.legs) if leg.source == document.source]

    def close(self) -> None:
        """Close what was opened."""
        self._pieces.clear()

    def slot(self, steps: Steps, name: str, ordinal: int, step: int) -> int:
        """The slot of an ordinal in its step."""
        return steps.slot_of(name, ordinal, step, self._courses, self._data.config.names)

    def passes(self, first_ordinal: int, end_ordinal: int) -> Iterator[list[_Found]]:
        """The stretches of each pass over the document among the source's ordinals from `first_ordinal` on.

        Ends when two passes lie wholly at or after `end_ordinal`: a sequence of one may reach into the next.
        """
        num_late = 0
        blocks = {number: self._block_in(number) for number in self._legs}
        if all(block is None for block in blocks.values()):
            raise ConfigError(
                f"row {self._document.row} of {self._document.path} is empty, null or left out; no step holds it"
            )
        for number, block in blocks.items():
            leg = self._data.legs[number]
            if block is None or leg.num_sequences == 0 or leg.end_ordinal <= first_ordinal:
                continue
            for epoch in self._epochs(number, leg, first_ordinal):
                found = self._stretches(number, leg, epoch, block)
                yield [part for part in found if part.ordinal >= first_ordinal]
                num_late += bool(found) and all(part.ordinal >= end_ordinal for part in found)
                if num_late == 2:
                    return

    def _epochs(self, number: int, leg: Leg, first_ordinal: int) -> Iterator[int]:
        """The epochs of a leg's order, from that of `first_ordinal` on."""
        begin = leg.stretch.skip + max(0, first_ordinal - leg.first_ordinal)
        order = self._orders[number]
        first = int(order.epochs_of(np.array([begin], np.int64))[0])
        if leg.num_sequences == NO_CAP:
            return itertools.count(first)
        last = int(order.epochs_of(np.array([leg.left_at - 1], np.int64))[0])
        # The last sequence may reach into the epoch after its own.
        return iter(range(first, last + 2))

    def _block_in(self, number: int) -> int | None:
        """The block of a leg's manifest that holds the document; None where it is not read in that leg."""
        block = block_of_row(self._data.legs[number].manifest, self._document.path, self._document.row)
        if block is None:
            return None
        opened = self._blocks.open(number, block, None).block
        place = np.flatnonzero(opened.rows == self._document.row)
        return block if len(place) and opened.starts[place[0]] >= 0 else None  # below 0: a hole

    def _stretches(self, number: int, leg: Leg, epoch: int, block: int) -> list[_Found]:
        """Every sequence of `epoch` in a leg that holds some of the document."""
        order = self._orders[number]
        windows = leg.stretch.windows
        if windows is None:
            opened = self._blocks.get(number, epoch, block, order)
            unit, offset, count = block, *self._place(opened)
        else:
            unit = int(np.searchsorted(windows.first_block, block, side="right")) - 1
            offset, count = 0, int(windows.num_sequences[unit]) * order.seq_len
        ordinals = np.array(ordinals_with(order, epoch, unit, offset, count), np.int64)
        ordinals = ordinals[(ordinals >= leg.stretch.skip) & (ordinals < leg.left_at)]
        if len(ordinals) == 0:
            return []
        rows, held = self._pieces.table(number, np.arange(len(ordinals)), ordinals)
        found = []
        for row in rows.tolist():
            if row[9] != epoch or row[10] != block:
                continue
            for piece in documents_in(self._data, row, held[row[11]], self._document.path):
                if piece.row == self._document.row:
                    ordinal = int(ordinals[piece.slot]) - leg.stretch.skip + leg.first_ordinal
                    found.append(_Found(ordinal, epoch + leg.stretch.epochs_before, piece.start, piece.end))
        return found

    def _place(self, opened: OrderedBlock) -> tuple[int, int]:
        """(first token in the block's stream, tokens) of the document."""
        rows = opened.block.rows[opened.order.documents]
        edges = opened.order.edges
        place = int(np.flatnonzero(rows == self._document.row)[0])
        return int(edges[place]), int(edges[place + 1] - edges[place])

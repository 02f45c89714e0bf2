"""Tokenising one unit: rows → batches of text → ids → shards, each written down when it is whole.

What is written is a pure function of the unit, the options and the tokenizer. Batches only bound the memory: where a
shard ends is decided document by document.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from headrace.errors import SourceError
from headrace.formats.lineage import Lineage, joined
from headrace.formats.writer import ShardWriter
from headrace.tokenize.encoders import Encoder
from headrace.tokenize.folder import Folder
from headrace.tokenize.options import OnBad, Options
from headrace.tokenize.overlap import overlapped
from headrace.tokenize.pieces import encode_documents
from headrace.tokenize.reading import read_part
from headrace.tokenize.reading.rows import Bad, BadFileError, Row, Wanted
from headrace.tokenize.records import MAX_REPORTS, Counts, Position, Report, ShardRecord, record_name, staged_name
from headrace.tokenize.units import Unit

BATCH_CHARACTERS: Final = 1 << 19
BATCH_ROWS: Final = 1 << 10
MAX_CHARACTERS: Final = 1 << 21
"encoded at once, however many the threads"
MAX_RUNS: Final = 1 << 12
MAX_NAMES: Final = 1 << 19
"A shard of so many runs of rows, or so many characters in the names of inputs, is full: starts read that."
ROW_BYTES: Final = 4

Told = Callable[[int, int], None]
"""Is called with the tokens and the bytes of text of each batch."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """What all units have alike."""

    folder: Folder
    options: Options
    encoder: Encoder
    dtype: np.dtype[np.unsignedinteger]
    fingerprint: str
    threads: int = 1


def tokenize_unit(place: Workplace, unit: Unit, on_bad: OnBad, told: Told) -> Iterator[ShardRecord]:
    """Makes the shards of a unit that are not made yet, and returns the record of each, as it is written.

    Raises SourceError for an input that can't be read and, with `on_bad="error"`, for the first bad row, naming it.
    """
    number, position = _made(place.folder, unit)
    if position is None:
        return
    with place.folder.scratch() as scratch, ExitStack() as unfinished:

        def begin() -> _Shard:
            shard = _Shard(place, unit, number, scratch)
            unfinished.callback(shard.discard)
            return shard

        making = begin()
        groups = _groups(_batches(unit, position, place), _group_characters(place))
        for group, (ids, lengths) in overlapped(partial(_encoded, place), groups, is_large=_is_large):
            if on_bad == "error":
                _refuse_bad(group)
            told(len(ids), sum(batch.text_bytes for batch in group))
            row = token = 0
            for batch in group:
                own = lengths[row : row + len(batch.rows)]
                row += len(batch.rows)
                done = 0
                while done < len(batch.rows):
                    taken = making.room(batch, own[done:])
                    making.take(batch, done, own[done : done + taken], ids[token:])
                    token += int(own[done : done + taken].sum())
                    done += taken
                    if done < len(batch.rows):
                        yield making.close(Position(batch.part, batch.skipped + done))
                        number += 1
                        making = begin()
                if batch.broken is not None:
                    making.miss(batch.broken)
        yield making.close(None)


def _made(folder: Folder, unit: Unit) -> tuple[int, Position | None]:
    """The number of the next shard and where it begins; None where the unit is done."""
    number, position = 0, Position()
    while (content := folder.read(record_name(unit.name, number))) is not None:
        record = ShardRecord.decode(content)
        if record.next is None:
            return number, None
        number, position = number + 1, record.next
    return number, position


@dataclass(slots=True)
class _Batch:
    """Consecutive rows of one part, `skipped` rows into it; `broken` is what ended the file behind them."""

    part: int
    input: str
    skipped: int
    first_row: int
    rows: list[Row] = field(default_factory=list)
    characters: int = 0
    text_bytes: int = 0
    broken: Report | None = None

    def reports(self, first: int = 0, last: int | None = None) -> Iterator[Report]:
        """What is bad among some of the rows."""
        for number, row in enumerate(self.rows[first:last], self.first_row + first):
            if isinstance(row, Bad):
                yield Report(self.input, number, row.why)

    def add(self, row: Row) -> None:
        """Appends a row."""
        self.rows.append(row)
        if isinstance(row, str):
            self.characters += len(row)
            self.text_bytes += _size(row)


def _size(text: str) -> int:
    """Bytes of a text as UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def _batches(unit: Unit, position: Position, place: Workplace) -> Iterator[_Batch]:
    assert place.options.max_document_bytes is not None, "it is decided before a folder is begun"
    wanted = Wanted(place.options.text_column, place.options.max_document_bytes)
    for number in range(position.part, len(unit.parts)):
        part = unit.parts[number]
        skip = position.rows if number == position.part else 0
        name = part.input(unit.source).name
        batch = _Batch(number, name, skip, part.first_row + skip)
        try:
            for row, text in read_part(part, wanted, skip=skip):
                batch.add(text)
                if batch.characters >= BATCH_CHARACTERS or len(batch.rows) >= BATCH_ROWS:
                    yield batch
                    batch = _Batch(number, name, row + 1 - part.first_row, row + 1)
        except BadFileError as error:
            batch.broken = Report(name, error.row, error.why, is_file=True)
        if batch.rows or batch.broken is not None:
            yield batch


def _groups(batches: Iterator[_Batch], characters: int) -> Iterator[list[_Batch]]:
    """Neighbouring batches that have about so many characters together, of one file or of many."""
    group: list[_Batch] = []
    size = 0
    for batch in batches:
        group.append(batch)
        size += batch.characters
        if size >= characters or len(group) >= BATCH_ROWS:
            yield group
            group, size = [], 0
    if group:
        yield group


def _group_characters(place: Workplace) -> int:
    return min(BATCH_CHARACTERS * place.threads, MAX_CHARACTERS)


def _is_large(group: Sequence[_Batch]) -> bool:
    """Whether it holds a document that memory may not have room for beside others."""
    return sum(batch.characters for batch in group) > 2 * MAX_CHARACTERS


def _encoded(
    place: Workplace, group: Sequence[_Batch]
) -> tuple[npt.NDArray[np.unsignedinteger], npt.NDArray[np.int64]]:
    """Ids of all rows of a group one after the other, and how many each has: none without text."""
    rows = [row for batch in group for row in batch.rows]
    texts = [row for row in rows if isinstance(row, str) and row]
    ids, own = encode_documents(
        place.encoder, texts, place.options.split_long, group_characters=_group_characters(place)
    )
    lengths = np.zeros(len(rows), np.int64)
    lengths[[number for number, row in enumerate(rows) if isinstance(row, str) and row]] = own
    return ids.astype(place.dtype), lengths


def _refuse_bad(group: Sequence[_Batch]) -> None:
    for batch in group:
        first = next(batch.reports(), None) or batch.broken
        if first is not None:
            raise SourceError(f"{first}; mend it, or go on without it by --on-bad skip (what is finished is kept)")


class _Shard:
    """A shard being made."""

    def __init__(self, place: Workplace, unit: Unit, number: int, scratch: Path) -> None:
        self._place = place
        self._unit = unit
        self._number = number
        self._path = scratch / f"{unit.name}-{number:04}.{secrets.token_hex(8)}.arrow"
        self._writer = ShardWriter(
            self._path,
            dtype=place.dtype,
            compression=None if place.options.compression == "none" else place.options.compression,
            spill=self._path.with_suffix(".spill"),
        )
        self._counts = Counts()
        self._reports: list[Report] = []
        self._inputs: dict[str, int] = {}
        self._runs: list[tuple[int, int, int]] = []
        self._left = place.options.shard_bytes

    def room(self, batch: _Batch, lengths: npt.NDArray[np.int64]) -> int:
        """How many rows of these lengths, of the batch, belong to this shard: at least one where it has none."""
        is_new = batch.input not in self._inputs
        names = sum(map(len, self._inputs)) + len(batch.input) if is_new else 0
        if self._counts.rows and is_new and (len(self._runs) >= MAX_RUNS or names > MAX_NAMES):
            return 0
        taken = np.cumsum(lengths * self._place.dtype.itemsize + ROW_BYTES)
        fitting = int(np.searchsorted(taken, self._left, side="right"))
        return fitting if self._counts.rows else max(1, fitting)

    def take(
        self, batch: _Batch, done: int, lengths: npt.NDArray[np.int64], ids: npt.NDArray[np.unsignedinteger]
    ) -> None:
        """Appends rows of these lengths, from the batch's row `done` on; `ids` begins with theirs."""
        taken, tokens = len(lengths), int(lengths.sum())
        if taken == 0:
            return
        self._writer.write_flat(ids[:tokens], lengths)
        self._left -= tokens * self._place.dtype.itemsize + ROW_BYTES * taken
        joined(self._runs, [(self._inputs.setdefault(batch.input, len(self._inputs)), batch.first_row + done, taken)])
        for report in batch.reports(done, done + taken):
            self._counts.bad += 1
            self._note(report)
        rows = batch.rows[done : done + taken]
        self._counts.rows += taken
        self._counts.tokens += tokens
        self._counts.documents += int(np.count_nonzero(lengths))
        self._counts.null += sum(row is None for row in rows)
        self._counts.empty += sum(
            isinstance(row, str) and not length for row, length in zip(rows, lengths, strict=True)
        )
        self._counts.text_bytes += sum(_size(row) for row in rows if isinstance(row, str))

    def miss(self, report: Report) -> None:
        """Notes a file that could not be read to its end."""
        self._counts.bad_files += 1
        self._note(report)

    def close(self, position: Position | None) -> ShardRecord:
        """Writes the shard, and then its record; none without a document."""
        path, size_bytes, digest = None, 0, ""
        if self._counts.documents:
            self._writer.note(
                lineage=Lineage(tuple(self._inputs), tuple(self._runs)).encode(),
                tokenizer=json.dumps(
                    {
                        "sha256": self._place.fingerprint,
                        "library": self._place.encoder.library,
                        "vocab_size": self._place.encoder.vocab_size,
                        "text_column": self._place.options.text_column,
                    }
                ),
            )
            self._writer.close()
            path, size_bytes = self._unit.shard(self._number), self._path.stat().st_size
            with self._path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            self._place.folder.keep(self._path, staged_name(self._unit.name, self._number))
        record = ShardRecord(
            self._number,
            path,
            size_bytes,
            digest,
            self._counts,
            position,
            tuple(self._reports),
            self._place.encoder.library,
        )
        self._place.folder.write(record_name(self._unit.name, self._number), record.encode())
        return record

    def discard(self) -> None:
        """Gives it up, where it was not closed."""
        self._writer.discard()

    def _note(self, report: Report) -> None:
        if len(self._reports) < MAX_REPORTS:
            self._reports.append(report)

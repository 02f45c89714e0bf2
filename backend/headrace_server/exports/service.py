"""Exporting: which rows, and the file that they become, a chunk at a time.

Memory stays bounded and no database connection is held while a chunk goes out: rows are read by pages, each a statement
of its own. Rows that arrive during an export may or may not be in it; those that were there before are, once.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from ..db import Database
from ..errors import InvalidError
from ..fields import unix_seconds
from ..jobs import access
from ..models import Job
from ..work import Work
from . import repository
from .csv_text import CsvEncoder
from .datasets import DATASETS, Dataset
from .naming import file_name
from .parquet import ParquetEncoder
from .repository import Part
from .schemas import MEDIA_TYPES, Format, Row, What

PAGE_ROWS = 5_000


class Encoder(Protocol):
    """Rows into the bytes of a file."""

    def begin(self) -> bytes:
        """What the file begins with."""

    def add(self, rows: Sequence[Row]) -> bytes:
        """What is ready after these rows."""

    def end(self) -> bytes:
        """The rest."""


@dataclass(frozen=True)
class Export:
    """A file to come: its name, its media type and its bytes."""

    name: str
    media_type: str
    chunks: AsyncIterator[bytes]


@dataclass(frozen=True, kw_only=True)
class Query:
    """Which rows: those of a time range (inclusive; without a zone UTC), of one attempt or of all."""

    low: datetime | None = None
    high: datetime | None = None
    attempt: UUID | None = None


async def _parts(work: Work, job: Job, what: What, wanted: Query) -> list[Part]:
    low, high = unix_seconds(wanted.low), unix_seconds(wanted.high)
    if not DATASETS[what].by_attempt:
        if wanted.attempt is not None:
            raise InvalidError(
                f"{what} is of the job as a whole; leave out attempt={wanted.attempt}",
                errors=[{"loc": ["query", "attempt"], "msg": f"not with what={what}"}],
            )
        return [Part(job.id, (), low, high)]
    if wanted.attempt is not None:
        attempts = [await access.find_attempt(work, job, wanted.attempt)]
    else:
        attempts = list(await access.attempts(work, job))
    return [Part(attempt.id, (attempt.number, str(attempt.uuid)), low, high) for attempt in attempts]


async def _pages(database: Database, dataset: Dataset, parts: Sequence[Part]) -> AsyncIterator[list[Row]]:
    for part in parts:
        after, more = None, True
        while more:
            async with database.read() as session:
                page = await repository.page(session, dataset, part, after=after, limit=PAGE_ROWS)
            yield page.rows
            after, more = page.last_key, page.last_key is not None


async def _chunks(pages: AsyncIterator[list[Row]], encoder: Encoder) -> AsyncIterator[bytes]:
    # Encoding is in a thread: a page takes some 50 ms, which other requests need not wait for.
    yield encoder.begin()
    async for rows in pages:
        chunk = await asyncio.to_thread(encoder.add, rows)
        if chunk:
            yield chunk
    rest = await asyncio.to_thread(encoder.end)
    if rest:
        yield rest


async def _after(first: list[bytes], rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    for chunk in first:
        yield chunk
    async for chunk in rest:
        yield chunk


async def export(work: Work, job: Job, what: What, how: Format, wanted: Query) -> Export:
    """The file of a job's ``what``; its first rows are read already. Raises NotFoundError, InvalidError.

    Its chunks may raise later; whoever sends them must then break off, so that nobody takes the file for whole.
    """
    dataset = DATASETS[what]
    parts = await _parts(work, job, what, wanted)
    encoder: Encoder
    if how == "csv":
        encoder = CsvEncoder(dataset.shown)
    else:
        encoder = await asyncio.to_thread(ParquetEncoder, dataset.shown)
    chunks = _chunks(_pages(work.runtime.database, dataset, parts), encoder)
    first = [await anext(chunks)]
    second = await anext(chunks, None)
    if second is not None:
        first.append(second)
    return Export(file_name(job.name, what, how), MEDIA_TYPES[how], _after(first, chunks))

"""SQL of exports: a page of rows at a time, found by the key of the row before, so that no statement lasts long."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .datasets import Dataset, cell
from .schemas import Row


@dataclass(frozen=True)
class Part:
    """Whose rows: an attempt's or a job's row id, what each row begins with, and a time range (Unix seconds)."""

    owner_id: int
    begins: Row
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Page:
    """Rows as the file takes them, and the key to go on after; None at the end."""

    rows: list[Row]
    last_key: tuple[Any, ...] | None


def _query(dataset: Dataset, part: Part) -> sa.Select[*tuple[Any, ...]]:
    """The rows of an attempt or a job in the order of the key, whose columns come last."""
    labelled = [value.label(f"c{place}") for place, value in enumerate((*dataset.stored, *dataset.key))]
    found = sa.select(*labelled).where(dataset.owner == part.owner_id).order_by(*dataset.key)
    if dataset.joined is not None:
        found = found.join(*dataset.joined)
    if part.low is not None:
        found = found.where(dataset.time >= part.low)
    if part.high is not None:
        found = found.where(dataset.time <= part.high)
    return found


async def page(
    session: AsyncSession, dataset: Dataset, part: Part, *, after: tuple[Any, ...] | None, limit: int
) -> Page:
    """At most ``limit`` rows of the database, from the one after ``after`` on."""
    statement = _query(dataset, part).limit(limit)
    if after is not None:
        statement = statement.where(sa.tuple_(*dataset.key) > sa.tuple_(*map(sa.literal, after)))
    found = (await session.execute(statement)).all()
    last_key = tuple(found[-1][-len(dataset.key) :]) if len(found) == limit else None
    return Page(_rows(dataset, part, found), last_key)


def _rows(dataset: Dataset, part: Part, found: Sequence[sa.Row[Any]]) -> list[Row]:
    values = [tuple(row[: -len(dataset.key)]) for row in found]
    if dataset.expand is not None:
        values = [row for held in values for row in dataset.expand(held)]
    kinds = [column.kind for column in dataset.columns]
    return [(*part.begins, *map(cell, kinds, row)) for row in values]

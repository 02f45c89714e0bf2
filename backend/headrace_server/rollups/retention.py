"""SQL of keeping and dropping: days of PostgreSQL as partitions, rows on SQLite. Nothing here waits long for a lock."""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models

DAY_S = 86_400
# Partitioned tables and the column, in Unix seconds, that says which day a row belongs to.
PARTITIONED = {"rank_report": "time", "rank_rollup_1m": "minute"}
# Rows deleted in one statement: some milliseconds' work.
CHUNK = 20_000
# The newest steps of an attempt stay: summaries and forecasts are made of them.
_KEPT_STEPS = 50


def partition_of(table: str, day: int) -> str:
    """The name of a day's partition; ``day`` is any Unix time in it."""
    return f"{table}_day_{datetime.fromtimestamp(day, UTC):%Y%m%d}"


def _begin(table: str, partition: str) -> int | None:
    mark = f"{table}_day_"
    if not partition.startswith(mark):
        return None
    return int(datetime.strptime(partition.removeprefix(mark), "%Y%m%d").replace(tzinfo=UTC).timestamp())


async def partitions(session: AsyncSession, table: str) -> dict[int, str]:
    """The daily partitions of a table by when they begin (Unix seconds); the default one is left out."""
    query = sa.text(
        "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
        "WHERE i.inhparent = CAST(:table AS regclass)"
    )
    names = (await session.scalars(query, {"table": table})).all()
    return {begin: name for name in names if (begin := _begin(table, name)) is not None}


async def days_in_default(session: AsyncSession, table: str, until: float) -> list[int]:
    """Days before ``until`` that have rows in the default partition."""
    column = PARTITIONED[table]
    query = sa.text(
        f"SELECT DISTINCT CAST(floor({column} / {DAY_S}.0) AS bigint) * {DAY_S} AS day "
        f"FROM {table}_default WHERE {column} < :until ORDER BY day"
    )
    return list((await session.scalars(query, {"until": until})).all())


async def add_partition(session: AsyncSession, table: str, begin: int) -> None:
    """Make a day's partition, with what the default one holds of that day."""
    name, column, end = partition_of(table, begin), PARTITIONED[table], begin + DAY_S
    # All wait before they choose partitions: a writer that had chosen the default would find its row refused there, and
    # a reader would not find the rows that were moved.
    for statement in (
        "SET LOCAL lock_timeout = '2s'",
        f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE",
        f"CREATE TABLE {name} (LIKE {table} INCLUDING DEFAULTS)",
        f"WITH moved AS (DELETE FROM {table}_default WHERE {column} >= {begin} AND {column} < {end} RETURNING *) "
        f"INSERT INTO {name} SELECT * FROM moved",
        f"ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ({begin}) TO ({end})",
    ):
        await session.execute(sa.text(statement))


async def drop_partition(session: AsyncSession, partition: str) -> None:
    """Drop a day and everything in it."""
    await session.execute(sa.text("SET LOCAL lock_timeout = '2s'"))
    await session.execute(sa.text(f"DROP TABLE {partition}"))


async def drop_from_default(session: AsyncSession, table: str, before: float) -> None:
    """Delete what the default partition holds from before a time."""
    await session.execute(
        sa.text(f"DELETE FROM {table}_default WHERE {PARTITIONED[table]} < :before"), {"before": before}
    )


async def _delete_chunk(session: AsyncSession, table: Any, key: tuple[Any, ...], old: Any) -> bool:
    found = sa.select(*key).where(old).limit(CHUNK)
    result = await session.execute(sa.delete(table).where(sa.tuple_(*key).in_(found)))
    return int(result.rowcount) == CHUNK  # type: ignore[attr-defined]


async def delete_reports(session: AsyncSession, before: float) -> bool:
    """Delete a chunk of the reports from before a time; says whether there may be more. For SQLite."""
    report = models.RankReport
    return await _delete_chunk(session, report, (report.attempt_id, report.rank, report.seq), report.time < before)


async def delete_rank_rollups(session: AsyncSession, before: float) -> bool:
    """Delete a chunk of the rank rollups from before a time; says whether there may be more. For SQLite."""
    row = models.RankRollup
    return await _delete_chunk(session, row, (row.attempt_id, row.rank, row.minute), row.minute < before)


async def delete_progress(session: AsyncSession, before: float) -> bool:
    """Delete a chunk of the sources' history from before a time; says whether there may be more.

    The newest steps of each attempt stay.
    """
    row, newer = models.SourceProgress, sa.orm.aliased(models.SourceProgress)
    newest = sa.select(sa.func.max(newer.step)).where(newer.attempt_id == row.attempt_id).scalar_subquery()
    old = sa.and_(row.time < before, row.step < newest - _KEPT_STEPS)
    return await _delete_chunk(session, row, (row.attempt_id, row.step, row.source_id), old)

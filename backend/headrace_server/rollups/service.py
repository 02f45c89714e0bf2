"""The keeper: rolls up the minutes that are due, makes and drops days. One a database at a time, whatever the replicas.

A minute is rolled up once it has ended and its reports had time to arrive; reports that come later make it due again.
"""

import asyncio
import logging
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from ..ingest.records import MINUTE_S
from ..runtime import Runtime
from . import repository, retention

log = logging.getLogger(__name__)

TICK_S = 10.0
HOUSEKEEPING_S = 3600.0
# After its end, a minute's reports get this long to arrive (seconds).
SETTLE_S = 10.0
# Pairs of attempt and minute in one transaction.
_BATCH = 500
# Days that exist before they begin.
_DAYS_AHEAD = 2
# What is about to be rolled up is not dropped under it.
_MARGIN_S = 3600.0


async def roll_up(runtime: Runtime) -> int:
    """Roll up every minute that is due; returns how many. Does nothing while another replica does."""
    done = 0
    while True:
        async with runtime.database.write() as session:
            if not await repository.lead(session):
                return done
            pairs = await repository.take_due(session, until=runtime.now() - SETTLE_S, limit=_BATCH)
            for attempt_id, begin, end in repository.stretches(pairs):
                await repository.roll(session, attempt_id, begin, end)
        done += len(pairs)
        if len(pairs) < _BATCH:
            return done


async def _oldest_kept(session: AsyncSession, runtime: Runtime) -> float:
    kept = runtime.now() - runtime.settings.keep_reports_s - _MARGIN_S
    due = await repository.oldest_due(session)
    return kept if due is None else min(kept, due)


async def _keep_days(session: AsyncSession, table: str, oldest: float, now: float) -> None:
    days = await retention.partitions(session, table)
    for begin, name in days.items():
        if begin + retention.DAY_S <= oldest:
            await retention.drop_partition(session, name)
    await retention.drop_from_default(session, table, oldest)
    today = int(now // retention.DAY_S) * retention.DAY_S
    ahead = [today + retention.DAY_S * day for day in range(_DAYS_AHEAD + 1)]
    stray = await retention.days_in_default(session, table, now + _DAYS_AHEAD * retention.DAY_S)
    for begin in sorted({*ahead, *stray} - set(days)):
        await retention.add_partition(session, table, begin)


async def housekeeping(runtime: Runtime) -> None:
    """Make the days that come, and drop what is older than it is kept. Does nothing while another replica does."""
    sqlite = runtime.settings.is_sqlite
    async with runtime.database.read() as session:
        oldest = {
            "rank_report": await _oldest_kept(session, runtime),
            "rank_rollup_1m": runtime.now() - runtime.settings.keep_rank_rollups_s,
        }
    for table, before in oldest.items():
        if not sqlite:
            async with runtime.database.write() as session:
                if await repository.lead(session):
                    await _keep_days(session, table, before, runtime.now())
    by_row = [(retention.delete_progress, oldest["rank_report"])]
    if sqlite:
        by_row.append((retention.delete_reports, oldest["rank_report"]))
        by_row.append((retention.delete_rank_rollups, oldest["rank_rollup_1m"]))
    for delete, before in by_row:
        more = True
        while more:
            async with runtime.database.write() as session:
                more = await repository.lead(session) and await delete(session, before)


@dataclass(frozen=True)
class Days:
    """A table's partitions: the days that have one, those that should and don't (Unix seconds), and strays.

    Strays are days whose rows wait in the default partition.
    """

    table: str
    days: tuple[int, ...]
    missing: tuple[int, ...]
    strays: tuple[int, ...]


async def days_of(session: AsyncSession, now: float) -> list[Days]:
    """The partitions of each partitioned table; for PostgreSQL."""
    found = []
    today = int(now // retention.DAY_S) * retention.DAY_S
    for table in retention.PARTITIONED:
        days = sorted(await retention.partitions(session, table))
        wanted = [today + retention.DAY_S * day for day in range(_DAYS_AHEAD + 1)]
        strays = await retention.days_in_default(session, table, now + _DAYS_AHEAD * retention.DAY_S)
        found.append(Days(table, tuple(days), tuple(sorted(set(wanted) - set(days))), tuple(strays)))
    return found


async def delay_s(session: AsyncSession, now: float) -> float:
    """For how long a minute that should be rolled up has been waiting (seconds); 0 when none has."""
    oldest = await repository.oldest_due(session)
    return 0.0 if oldest is None else max(0.0, now - (oldest + MINUTE_S + SETTLE_S))


async def run(runtime: Runtime) -> None:
    """Keep until cancelled; a failure is logged and the next tick tries again."""
    loop = asyncio.get_running_loop()
    next_housekeeping = loop.time()
    while True:
        await asyncio.sleep(TICK_S)
        try:
            if loop.time() >= next_housekeeping:
                await housekeeping(runtime)
                next_housekeeping = loop.time() + HOUSEKEEPING_S
            await roll_up(runtime)
        except Exception:
            log.exception("rolling up failed")

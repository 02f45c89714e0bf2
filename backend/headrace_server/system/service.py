"""Gathering how the service is doing, from the database and from what processes tell of each other."""

from typing import Any, Literal

from sqlalchemy.ext.asyncio import AsyncSession

from .. import __version__
from ..alerts import service as alerts
from ..ingest.records import MINUTE_S
from ..migration import head, revision_of
from ..peers import Standing
from ..rollups import service as rollups
from ..runtime import Runtime
from ..webhooks import service as webhooks
from ..work import Work
from . import repository
from .notices import notices_of
from .schemas import System

# How far back reports are counted minute by minute (seconds).
_SHOWN_S = 3600.0
_GIVEN_UP_S = 86_400.0


def _process(standing: Standing, *, answered: bool) -> dict[str, Any]:
    return {**standing.told(), "answered": answered}


def _processes(runtime: Runtime) -> list[dict[str, Any]]:
    others = [_process(peer, answered=False) for peer in runtime.peers.present(runtime.steady())]
    found = [_process(runtime.standing(), answered=True), *others]
    return sorted(found, key=lambda process: (process["host"], process["started_at"], process["pid"]))


async def _database(session: AsyncSession, runtime: Runtime) -> dict[str, Any]:
    kind: Literal["sqlite", "postgresql"] = "sqlite" if runtime.settings.is_sqlite else "postgresql"
    return {
        "kind": kind,
        "version": await repository.version(session),
        "size_bytes": await repository.size_bytes(session),
        "revision": await revision_of(runtime.database),
        "needed_revision": head(),
    }


def _every_minute(rows: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """The minutes from the first to the last of ``rows``, those without a report too."""
    if not rows:
        return []
    found = dict(rows)
    return [
        {"minute": minute, "num_reports": found.get(minute, 0)}
        for minute in range(rows[0][0], rows[-1][0] + MINUTE_S, MINUTE_S)
    ]


async def _ingest(session: AsyncSession, runtime: Runtime, now: float) -> dict[str, Any]:
    num_ranks, rate, lag_mean_s, lag_max_s = await repository.reporting(session, now)
    rows = [(row[0], int(row[1])) for row in await repository.reports_by_minute(session, now - _SHOWN_S)]
    return {
        "num_ranks": num_ranks,
        "reports_per_s": rate or 0.0,
        "lag_mean_s": lag_mean_s,
        "lag_max_s": lag_max_s,
        "stretch": runtime.stretch,
        "per_minute": _every_minute(rows),
    }


def _partitions(days: rollups.Days) -> dict[str, Any]:
    return {
        "table": days.table,
        "num_days": len(days.days),
        "first": days.days[0] if days.days else None,
        "last": days.days[-1] if days.days else None,
        "missing": days.missing,
        "strays": days.strays,
    }


async def describe(work: Work) -> System:
    """The state of the service, with what to do about it."""
    runtime, session, now = work.runtime, work.session, work.now
    outbox = await webhooks.backlog(session, now - _GIVEN_UP_S)
    days = [] if runtime.settings.is_sqlite else await rollups.days_of(session, now)
    found = System.model_validate(
        {
            "now": now,
            "version": __version__,
            "processes": _processes(runtime),
            "max_streams": runtime.settings.max_streams,
            "database": await _database(session, runtime),
            "ingest": await _ingest(session, runtime, now),
            "partitions": [_partitions(table) for table in days],
            "rollup_delay_s": await rollups.delay_s(session, now),
            "outbox": {
                "num_webhooks": outbox.num_webhooks,
                "num_pending": outbox.num_pending,
                "oldest_pending_at": outbox.oldest_pending_at,
                "num_given_up": outbox.num_given_up,
            },
            "alerts_looked_at": await alerts.looked_at(session),
            "sealing_key": runtime.settings.sealing_key is not None,
            "provider": runtime.settings.oidc_display_name if runtime.settings.oidc_issuer is not None else None,
            "notices": [],
        }
    )
    return found.model_copy(update={"notices": notices_of(found)})

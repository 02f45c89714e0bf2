"""What the ranks of an attempt are doing: their states, their totals, and how far a mix version has come on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from ..models import Attempt
from ..runtime import Runtime
from . import repository
from .liveness import Cutoffs, cutoffs, rank_liveness
from .pace import interval_s
from .records import Row

# Realised shares of a summary are measured over this many steps.
SHARE_WINDOW_STEPS = 50


@dataclass(frozen=True)
class SourceStanding:
    """A source at the newest reported step: global sequences delivered, weight in force, and its recent share."""

    ordinal: int
    target_ppm: int
    realised_ppm: int | None


@dataclass(frozen=True)
class Standing:
    """The newest step that any rank of an attempt reported, and each source there."""

    step: int
    sources: dict[str, SourceStanding]


def interval_of(runtime: Runtime, attempt: Attempt | None) -> float:
    """How often the attempt's ranks should report (seconds)."""
    settings = runtime.settings
    world_size = 1 if attempt is None else attempt.world_size
    return interval_s(settings.report_every_s, settings.max_reports_per_s, world_size, runtime.stretch)


def cutoffs_of(runtime: Runtime, attempt: Attempt, now: float) -> Cutoffs:
    """The attempt's liveness cut-offs now."""
    return cutoffs(runtime.downtime, now, interval_of(runtime, attempt), runtime.settings.stuck_after_s)


async def states(
    session: AsyncSession, runtime: Runtime, attempt: Attempt, now: float, *, after_rank: int | None, limit: int
) -> list[Row]:
    """The latest of each rank that has reported, by rank, at most ``limit`` after a rank; the fields of a RankState.

    Plain values: checking those of thousands of ranks, which were checked when they came, takes longer than the rest.
    """
    rows = await repository.states_of(session, attempt.id, after_rank=after_rank, limit=limit)
    cuts = cutoffs_of(runtime, attempt, now)
    furthest_step = await repository.furthest_step(session, attempt.id)
    finished = attempt.state == "finished"
    for row in rows:
        received_at, advanced_at = row.pop("received_at"), row.pop("advanced_at")
        row["state"] = rank_liveness(received_at, advanced_at, cuts, finished=finished)
        row["step_lag"] = furthest_step - row["step"]
        row["last_report_at"] = datetime.fromtimestamp(received_at, UTC)
    return rows


@dataclass(frozen=True)
class Beside:
    """Ranks to look at next: those before and after one that have reported, and the one furthest behind."""

    previous: int | None
    following: int | None
    slowest: int


async def beside(session: AsyncSession, attempt: Attempt, rank: int) -> Beside:
    """The ranks to look at after ``rank``, which has reported."""
    return Beside(*await repository.beside(session, attempt.id, rank))


async def totals(session: AsyncSession, runtime: Runtime, attempts: Sequence[Attempt], now: float) -> dict[int, Any]:
    """Per attempt (by row id): ranks counted by liveness, step, tokens, rates; see the repository for the columns."""
    if not attempts:
        return {}
    return await repository.totals_of(session, {attempt.id: cutoffs_of(runtime, attempt, now) for attempt in attempts})


async def furthest_revisions(session: AsyncSession, attempts: Sequence[Attempt]) -> dict[int, str]:
    """The mix revision in force on the furthest rank of each attempt (by row id) that has reported."""
    return await repository.furthest_revisions(session, [attempt.id for attempt in attempts]) if attempts else {}


async def applied_counts(session: AsyncSession, wanted: Sequence[tuple[int, int, int, int | None]]) -> dict[int, int]:
    """For each (key, attempt row id, version, agreed step): how many ranks have that version or newer in force."""
    return await repository.applied_counts(session, wanted) if wanted else {}


async def last_heard(session: AsyncSession, attempts: Sequence[Attempt], *, rank: int) -> dict[int, float]:
    """When this rank of each attempt (by row id) last reported (Unix seconds)."""
    return await repository.last_heard(session, [attempt.id for attempt in attempts], rank) if attempts else {}


async def behind(
    session: AsyncSession, runtime: Runtime, attempt: Attempt, *, version: int, step: int, limit: int
) -> tuple[int, list[tuple[int, float | None]]]:
    """How many ranks have not applied a version agreed at ``step``, and the first few, longest silent first.

    Of each its rank, and for how long it is silent (seconds) if it is lost.
    """
    now = runtime.now()
    cuts = cutoffs_of(runtime, attempt, now)
    count, rows = await repository.behind(session, attempt.id, version=version, step=step, limit=limit)
    return count, [(rank, now - heard_at if heard_at < cuts.lost else None) for rank, heard_at in rows]


def _shares(first: dict[str, int], last: dict[str, int]) -> dict[str, int | None]:
    moved = {name: last[name] - first.get(name, 0) for name in last}
    total = sum(moved.values())
    return {name: round(delta * 1_000_000 / total) if total > 0 else None for name, delta in moved.items()}


async def standings(session: AsyncSession, attempts: Sequence[Attempt]) -> dict[int, Standing]:
    """Per attempt (by row id) its standing; none for an attempt that has delivered nothing."""
    if not attempts:
        return {}
    by_id = {attempt.id: attempt for attempt in attempts}
    rows = await repository.progress_bounds(session, list(by_id), SHARE_WINDOW_STEPS)
    points: dict[int, dict[int, dict[str, tuple[int, int]]]] = {}
    for attempt_id, step, name, ordinal, target_ppm in rows:
        points.setdefault(attempt_id, {}).setdefault(step, {})[name] = (ordinal, target_ppm)
    found: dict[int, Standing] = {}
    for attempt_id, by_step in points.items():
        step = max(by_step)
        last = {name: ordinal for name, (ordinal, _) in by_step[step].items()}
        first = {name: ordinal for name, (ordinal, _) in by_step[min(by_step)].items()}
        fresh = by_id[attempt_id].resumed_from_step is None
        if len(by_step) == 1 and fresh:
            first = {}  # the only point so far; a fresh start counts from zero
        realised = _shares(first, last)
        found[attempt_id] = Standing(
            step=step,
            sources={
                name: SourceStanding(ordinal, target_ppm, realised[name])
                for name, (ordinal, target_ppm) in by_step[step].items()
            },
        )
    return found

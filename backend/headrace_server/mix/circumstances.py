"""Finds out what versions that are not applied yet wait for: a fixed number of statements, and one for each agreed."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from .. import __version__
from ..ingest import ranks
from ..jobs import access
from ..jobs.pace import Pace, paces
from ..models import Attempt, Job
from ..models import MixVersion as MixVersionRow
from ..runtime import Runtime
from . import repository, waiting

_SHOWN_RANKS = 5


@dataclass(frozen=True)
class _Facts:
    """What was read of the jobs at once, by job or attempt row id."""

    attempts: dict[int, Attempt]
    paces: dict[int, Pace]
    leaders: dict[int, float]
    polls: dict[int, float]
    agreed: set[tuple[int, int]]


async def waits(
    session: AsyncSession, runtime: Runtime, rows: Sequence[MixVersionRow], attempts: dict[int, Attempt]
) -> dict[int, waiting.Wait]:
    """What each open version (by row id) waits for; ``attempts`` are the newest by job row id."""
    if not rows:
        return {}
    jobs = await access.by_ids(session, sorted({row.job_id for row in rows}))
    facts = await _facts(session, runtime, rows, attempts, jobs)
    found = {}
    for row in rows:
        attempt = attempts.get(row.job_id)
        here = attempt is not None and (attempt.id, row.version) in facts.agreed
        version = waiting.Version(
            proposed_at=row.created_at,
            seen_at=row.seen_at,
            agreed_at=row.agreed_at,
            agreed_step=row.agreed_step,
            agreed_here=here,
            from_step=row.from_step,
        )
        found[row.id] = waiting.wait_of(version, await _scene(session, runtime, row, facts, here=here))
    return found


async def _facts(
    session: AsyncSession,
    runtime: Runtime,
    rows: Sequence[MixVersionRow],
    attempts: dict[int, Attempt],
    jobs: Sequence[Job],
) -> _Facts:
    job_ids = [job.id for job in jobs]
    mine = [attempts[job_id] for job_id in job_ids if job_id in attempts]
    polls = await repository.polls(session, job_ids)
    for job_id in job_ids:
        if job_id in runtime.leader_polls:
            polls[job_id] = max(polls.get(job_id, 0.0), runtime.leader_polls[job_id])
    return _Facts(
        attempts=attempts,
        paces=await paces(session, runtime, jobs),
        leaders=await ranks.last_heard(session, mine, rank=0),
        polls=polls,
        agreed=await repository.agreed_in(session, [attempt.id for attempt in mine], {row.version for row in rows}),
    )


async def _scene(
    session: AsyncSession, runtime: Runtime, row: MixVersionRow, facts: _Facts, *, here: bool
) -> waiting.Scene:
    now = runtime.now()
    attempt, pace = facts.attempts.get(row.job_id), facts.paces.get(row.job_id)
    if attempt is None or pace is None:
        return waiting.Scene(now=now, start=None, server_version=__version__)
    behind: list[waiting.Behind] = []
    num_behind = 0
    if here and row.agreed_step is not None and pace.step is not None and pace.step >= row.agreed_step - 1:
        num_behind, found = await ranks.behind(
            session, runtime, attempt, version=row.version, step=row.agreed_step, limit=_SHOWN_RANKS
        )
        behind = [waiting.Behind(rank=rank, silent_s=silent_s) for rank, silent_s in found]
    return waiting.Scene(
        now=now,
        start=_start(attempt, pace, facts.leaders.get(attempt.id), facts.polls.get(row.job_id)),
        server_version=__version__,
        behind=behind,
        num_behind=num_behind,
        num_unheard=max(0, attempt.world_size - pace.num_ranks),
        away=_away(runtime, now),
    )


def _start(attempt: Attempt, pace: Pace, leader_at: float | None, polled_at: float | None) -> waiting.Start:
    return waiting.Start(
        number=attempt.number,
        state=attempt.state,
        started_at=attempt.created_at,
        ended_at=attempt.ended_at,
        loader_version=attempt.loader_version,
        leader_at=leader_at,
        polled_at=polled_at,
        step=pace.step,
        steps_per_s=pace.steps_per_s,
        num_stuck=pace.num_stuck,
        stuck_for_s=pace.stuck_for_s,
    )


def _away(runtime: Runtime, now: float) -> tuple[float, float] | None:
    downtime = runtime.downtime
    if now > downtime.until:
        return None
    return downtime.since, max(downtime.since, downtime.until - runtime.settings.restart_grace_s)

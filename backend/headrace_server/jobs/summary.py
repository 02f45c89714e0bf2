"""Summaries of jobs: a handful of statements for a page of them, however many ranks they have."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from ..ingest import liveness, ranks
from ..ingest.ranks import Standing
from ..mix import life
from ..mix import service as mixes
from ..mix.schemas import MixVersion
from ..models import Attempt, JobSource
from ..models import Job as JobRow
from ..models import MixVersion as MixVersionRow
from ..runtime import Runtime
from . import repository
from .health import Vitals, job_state
from .schemas import JobSummary, MixShare


def _vitals(attempt: Attempt, totals: Any, runtime: Runtime, now: float) -> Vitals:
    downtime = runtime.downtime
    interval_s = ranks.interval_of(runtime, attempt)
    common: dict[str, Any] = {
        "attempt_number": attempt.number,
        "attempt_state": attempt.state,
        "attempt_reason": attempt.state_reason,
        "attempt_age_s": downtime.silence_s(attempt.created_at, now),
        "world_size": attempt.world_size,
        "lost_after_s": liveness.STALE_INTERVALS * interval_s,
    }
    if totals is None:
        return Vitals(**common)
    return Vitals(
        **common,
        num_ranks=totals.num_ranks,
        num_heard=totals.num_heard,
        num_lost=totals.num_lost,
        first_lost_rank=totals.first_lost_rank,
        lost_for_s=now - (totals.lost_since or now),
        num_stuck=totals.num_stuck,
        first_stuck_rank=totals.first_stuck_rank,
        stuck_for_s=now - (totals.stuck_since or now),
        first_quiet_rank=totals.first_quiet_rank,
        step=totals.step,
    )


def _shares(sources: Sequence[JobSource], newest: MixVersionRow, standing: Standing | None) -> list[MixShare]:
    shares = []
    for source in sources:
        at = None if standing is None else standing.sources.get(source.name)
        shares.append(
            MixShare(
                source=source.name,
                target_ppm=newest.weights_ppm.get(source.name, 0) if at is None else at.target_ppm,
                realised_ppm=None if at is None else at.realised_ppm,
            )
        )
    return shares


def _pending(newest: MixVersionRow, described: MixVersion, state: str) -> MixVersion | None:
    open_edit = newest.origin != "config" and life.is_open(newest)
    return described if open_edit and state not in ("finished", "failed") else None


def _summary(
    job: JobRow,
    project: str,
    sources: Sequence[JobSource],
    attempt: Attempt | None,
    totals: Any,
    standing: Standing | None,
    newest: MixVersionRow,
    described: MixVersion,
    in_force: int | None,
    runtime: Runtime,
    now: float,
) -> JobSummary:
    vitals = None if attempt is None else _vitals(attempt, totals, runtime, now)
    state, reason = job_state(vitals)
    moving = totals is not None and state in ("running", "stalled", "lost")
    return JobSummary.model_validate(
        {
            "id": job.uuid,
            "project": project,
            "name": job.name,
            "owner": job.owner,
            "tags": job.tags,
            "created_at": job.created_at,
            "archived": job.archived,
            "state": state,
            "state_reason": reason,
            "step": None if totals is None else totals.step,
            "total_steps": job.total_steps,
            "tokens": 0 if totals is None else totals.total_tokens,
            "tokens_per_s": totals.tokens_per_s if moving else None,
            "ranks_live": 0 if totals is None or state in ("finished", "failed") else totals.num_heard,
            "ranks_total": 0 if attempt is None else attempt.world_size,
            "data_wait_share": totals.wait_share if moving else None,
            "mix": _shares(sources, newest, standing),
            "mix_version": newest.version,
            "mix_version_in_force": in_force,
            "pending_change": _pending(newest, described, state),
            "attempt": None if attempt is None else attempt.number,
            "last_report_at": None if totals is None else totals.received_at,
        }
    )


async def summarise(session: AsyncSession, runtime: Runtime, jobs: Sequence[JobRow], now: float) -> list[JobSummary]:
    """The summaries of ``jobs``, in their order."""
    if not jobs:
        return []
    job_ids = [job.id for job in jobs]
    projects = await repository.project_names(session, [job.project_id for job in jobs])
    sources = await repository.sources_of(session, job_ids)
    attempts = await repository.newest_attempts(session, job_ids)
    newest = await mixes.newest_of(session, job_ids)
    totals = await ranks.totals(session, runtime, list(attempts.values()), now)
    standings = await ranks.standings(session, list(attempts.values()))
    revisions = await ranks.furthest_revisions(session, list(attempts.values()))
    in_force = await mixes.versions_in_force(
        session, {job_id: revisions[a.id] for job_id, a in attempts.items() if a.id in revisions}
    )
    described = await life.describe(session, runtime, [newest[job_id] for job_id in job_ids], sources, attempts)
    summaries = []
    for job, version in zip(jobs, described, strict=True):
        attempt = attempts.get(job.id)
        key = -1 if attempt is None else attempt.id
        summaries.append(
            _summary(
                job,
                projects[job.project_id],
                sources[job.id],
                attempt,
                totals.get(key),
                standings.get(key),
                newest[job.id],
                version,
                in_force.get(job.id),
                runtime,
                now,
            )
        )
    return summaries


async def visible(
    session: AsyncSession,
    runtime: Runtime,
    now: float,
    *,
    projects: frozenset[int] | None,
    job_uuids: Sequence[UUID] | None,
    limit: int,
) -> list[JobSummary]:
    """Summaries of the newest jobs that are not archived, of these projects (None: all), or of just the named ones."""
    job_ids = await repository.visible_ids(session, projects=projects, job_uuids=job_uuids, limit=limit)
    return await summarise(session, runtime, await repository.by_ids(session, job_ids), now)

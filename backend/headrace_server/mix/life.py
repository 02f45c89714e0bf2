"""The life of a version: proposed → seen by the leader → agreed at a step → applied on every rank, or superseded."""

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy.ext.asyncio import AsyncSession

from ..db import announce
from ..events.announcements import MixProgressed
from ..ingest import ranks
from ..models import Attempt, JobSource
from ..models import MixVersion as MixVersionRow
from ..runtime import Runtime
from . import circumstances, repository
from .schemas import LifeState, MixLife, MixVersion
from .waiting import Wait

# Members of a described version that are not its row's.
_MADE = ("life", "paused", "weights_ppm")


def life_state(row: MixVersionRow) -> LifeState:
    """How far a version has come."""
    if row.superseded_at is not None:
        return "superseded"
    if row.applied_at is not None:
        return "applied"
    if row.agreed_at is not None:
        return "agreed"
    return "proposed" if row.seen_at is None else "seen"


def is_open(row: MixVersionRow) -> bool:
    """Whether the version still has some way to go."""
    return row.superseded_at is None and row.applied_at is None


def ordered(weights: dict[str, int], sources: Sequence[JobSource]) -> dict[str, int]:
    """Weights in job order, with 0 for a source that came later."""
    return {source.name: weights.get(source.name, 0) for source in sources}


def _describe(
    row: MixVersionRow, sources: Sequence[JobSource], applied_ranks: int, total_ranks: int, wait: Wait | None
) -> MixVersion:
    return MixVersion.model_validate(
        {
            **{
                name: getattr(row, name)
                for name in MixVersion.model_fields
                if name not in ("life", "paused", "weights_ppm")
            },
            "weights_ppm": ordered(row.weights_ppm, sources),
            "paused": row.paused or {},
            "life": MixLife.model_validate(
                {
                    "proposed_at": row.created_at,
                    "seen_at": row.seen_at,
                    "agreed_step": row.agreed_step,
                    "agreed_at": row.agreed_at,
                    "applied_ranks": applied_ranks,
                    "total_ranks": total_ranks,
                    "applied_at": row.applied_at,
                    "state": life_state(row),
                    "waiting": None if wait is None else asdict(wait),
                }
            ),
        }
    )


async def describe(
    session: AsyncSession,
    runtime: Runtime,
    rows: Sequence[MixVersionRow],
    sources: dict[int, list[JobSource]],
    attempts: dict[int, Attempt],
) -> list[MixVersion]:
    """Versions as others see them; ``sources`` and newest ``attempts`` are by job row id."""
    wanted = [
        (row.id, attempts[row.job_id].id, row.version, row.agreed_step)
        for row in rows
        if is_open(row) and row.job_id in attempts
    ]
    counts = await ranks.applied_counts(session, wanted)
    waits = await circumstances.waits(session, runtime, [row for row in rows if is_open(row)], attempts)
    described = []
    for row in rows:
        attempt = attempts.get(row.job_id)
        total = 0 if attempt is None else attempt.world_size
        applied = total if row.applied_at is not None else counts.get(row.id, 0)
        described.append(_describe(row, sources[row.job_id], min(applied, total), total, waits.get(row.id)))
    return described


def mark_seen(session: AsyncSession, row: MixVersionRow, now: float) -> bool:
    """The leader has fetched the version; says whether that is news."""
    if row.seen_at is not None or not is_open(row):
        return False
    row.seen_at = now
    announce(session, MixProgressed(row.job_id, row.version))
    return True


async def note_reports(
    session: AsyncSession,
    attempt: Attempt,
    *,
    newest_seen: int | None,
    newest_in_force: int | None,
    now: float,
) -> None:
    """Move a job's open versions on by what ranks just reported; two statements, whatever the batch."""
    rows = await repository.open_versions(session, attempt.job_id)
    for row in rows:
        if newest_seen is not None and row.version <= newest_seen:
            mark_seen(session, row, now)
    wanted = [
        (row.id, attempt.id, row.version, row.agreed_step)
        for row in rows
        if row.agreed_step is not None or (newest_in_force or 0) >= row.version
    ]
    counts = await ranks.applied_counts(session, wanted)
    for row in rows:
        if counts.get(row.id, 0) >= attempt.world_size:
            row.applied_at = now
            announce(session, MixProgressed(row.job_id, row.version))

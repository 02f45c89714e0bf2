"""What a list adds to the summaries of its jobs: two statements a page, however many jobs are on it."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from ..ingest.records import MINUTE_S
from . import repository
from .schemas import JobListed, JobSummary

MINUTES = 60
"""So many of a job's last minutes are shown."""
_WAITING = ("scheduled", "awaiting_approval", "needs_attention")


async def listed(session: AsyncSession, found: Sequence[tuple[int, JobSummary]]) -> list[JobListed]:
    """The jobs, each given as its row id and its summary, with how fast they went and what waits for them."""
    job_ids = [job_id for job_id, _ in found]
    if not job_ids:
        return []
    lines: dict[int, dict[int, float]] = {}
    for row in await repository.minutes_of(session, job_ids, limit=MINUTES):
        lines.setdefault(row.job_id, {})[row.minute] = row.tokens_per_s_mean
    waiting = await repository.changes_waiting(session, job_ids, _WAITING)
    return [
        JobListed(
            **dict(short),
            tokens_per_s_by_minute=_line(lines.get(job_id, {})),
            changes_waiting=waiting.get(job_id, 0),
        )
        for job_id, short in found
    ]


def _line(by_minute: dict[int, float]) -> list[float | None]:
    """A value for each minute from the first to the last; three digits are more than a line of 80 pixels shows."""
    if not by_minute:
        return []
    minutes = range(min(by_minute), max(by_minute) + 1, MINUTE_S)
    return [float(f"{by_minute[minute]:.4g}") if minute in by_minute else None for minute in minutes]

"""What becomes of a change, and the audit log's line about it."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from ..audit import service as audit
from ..db import announce
from ..events.announcements import ChangeMoved, JobChanged
from ..models import Job, MixChange, MixVersion
from ..work import Work
from . import repository
from .schemas import ChangeState

# What the audit log calls it when a change comes to a state.
_ACTIONS: dict[ChangeState, str] = {
    "scheduled": "approve",
    "needs_attention": "attention",
    "rejected": "reject",
    "cancelled": "cancel",
    "dismissed": "dismiss",
    "replaced": "replace",
    "expired": "expire",
}


def shown(row: MixChange) -> dict[str, object]:
    """A change as the audit log has it."""
    names = ("kind", "starts", "weights_ppm", "from_step", "at_time", "ramp_steps", "base_version", "author", "version")
    return {"change": str(row.uuid), "state": row.state, **{name: getattr(row, name) for name in names}}


def created(work: Work, job: Job, row: MixChange) -> None:
    """Record a new change."""
    _record(work, job, row, "create", None, row.reason)


def settle(work: Work, job: Job, row: MixChange, state: ChangeState, why: str | None) -> None:
    """Bring a change to ``state`` and record it."""
    before = row.state
    row.state, row.why = state, why
    row.settled_at = None if state == "scheduled" else work.now
    _record(work, job, row, _ACTIONS[state], before, why)


def _record(work: Work, job: Job, row: MixChange, what: str, before: str | None, why: str | None) -> None:
    audit.record(
        work,
        f"mix.change.{what}",
        project_id=job.project_id,
        job_id=job.id,
        before=None if before is None else {"state": before},
        after=shown(row),
        reason=why,
    )
    moved(work.session, row)
    announce(work.session, JobChanged(job.id))


def moved(session: AsyncSession, row: MixChange) -> None:
    """Announce the state that a change has come to."""
    announce(session, ChangeMoved(row.job_id, row.uuid, row.state))


async def note_superseded(work: Work, job: Job, numbers: Sequence[int], by: MixVersion) -> None:
    """Versions were replaced before a leader agreed them: changes for a step that they were need attention."""
    for row in await repository.became(work.session, job.id, numbers):
        if row.state == "done":
            why = f"version {by.version} by {by.author} came before step {row.from_step}, and replaced it"
            settle(work, job, row, "needs_attention", why)


async def note_agreed(session: AsyncSession, job: Job, version: int) -> None:
    """A leader agreed the version after all: the change that it was is done."""
    for row in await repository.became(session, job.id, [version]):
        if row.state == "needs_attention":
            row.state, row.why = "done", None
            moved(session, row)

"""Making versions. Unique (job, version) is the guard: of two writers exactly one gets the number."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from ..audit import service as audit
from ..changes import outcome
from ..db import announce
from ..errors import ConflictError
from ..events.announcements import JobChanged, MixChanged, MixProgressed
from ..models import Job, MixVersion
from ..webhooks import outbox
from ..work import Work
from . import repository
from .schemas import Origin


@dataclass(frozen=True, kw_only=True)
class Change:
    """What a new version is to say."""

    weights_ppm: dict[str, int]
    author: str
    reason: str
    origin: Origin
    from_step: int | None = None
    ramp_steps: int = 0
    reverts: int | None = None
    revision: str | None = None
    change: UUID | None = None
    approved_by: str | None = None


async def add(work: Work, job: Job, parent: MixVersion | None, change: Change, action: str) -> MixVersion:
    """Make the version after ``parent``; older edits that no leader has agreed are superseded.

    Raises ConflictError when another writer made it first.
    """
    version = await _insert(work.session, job, parent, change, work.now)
    superseded = await repository.supersede_unagreed(work.session, job.id, version.version, work.now)
    for number in superseded:
        announce(work.session, MixProgressed(job.id, number))
    if superseded:
        await outcome.note_superseded(work, job, superseded, version)
    announce(work.session, MixChanged(job.id, version.version))
    announce(work.session, JobChanged(job.id))
    audit.record(
        work,
        action,
        project_id=job.project_id,
        job_id=job.id,
        before=None if parent is None else {"version": parent.version, "weights_ppm": parent.weights_ppm},
        after=_shown(version),
        reason=change.reason,
    )
    if parent is not None:
        await _tell(work, job, version)
    return version


def _shown(version: MixVersion) -> dict[str, object]:
    names = ["version", "weights_ppm", "from_step", "ramp_steps"]
    if version.change is not None:
        names += ["author", "approved_by"]
    shown = {name: getattr(version, name) for name in names}
    return shown if version.change is None else {**shown, "change": str(version.change)}


def paused_after(parent: MixVersion | None, weights_ppm: dict[str, int]) -> dict[str, int]:
    """The sources at 0 and the weight (ppm) each returns to: its last one above 0."""
    if parent is None:
        return {}
    held = (parent.paused or {}) | {name: ppm for name, ppm in parent.weights_ppm.items() if ppm}
    return {name: held[name] for name, ppm in weights_ppm.items() if ppm == 0 and name in held}


async def _tell(work: Work, job: Job, version: MixVersion) -> None:
    facts = {
        "mix": {
            "version": version.version,
            "weights_ppm": version.weights_ppm,
            "author": version.author,
            "reason": version.reason,
            "origin": version.origin,
        }
    }
    said = f"{version.author} made version {version.version} of the mix: {version.reason}"
    await outbox.put_about_job(work.session, job, "mix.edited", said=said, facts=facts, now=work.now)


async def _insert(session: AsyncSession, job: Job, parent: MixVersion | None, change: Change, now: float) -> MixVersion:
    number = 1 if parent is None else parent.version + 1
    version = MixVersion(
        job_id=job.id,
        version=number,
        revision=change.revision or f"service:{number}",
        weights_ppm=change.weights_ppm,
        from_step=change.from_step,
        ramp_steps=change.ramp_steps,
        author=change.author,
        reason=change.reason,
        origin=change.origin,
        parent=None if parent is None else parent.version,
        reverts=change.reverts,
        created_at=now,
        seen_at=None,
        agreed_step=None,
        agreed_at=None,
        applied_at=None,
        superseded_at=None,
        paused=paused_after(parent, change.weights_ppm),
        change=change.change,
        approved_by=change.approved_by,
    )
    session.add(version)
    try:
        await session.flush()
    except IntegrityError as error:
        raise ConflictError(
            f"version {number} of the mix was made by somebody else just now; read it and try again"
        ) from error
    return version

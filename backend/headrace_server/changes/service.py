"""Changing the mix: at once where that needs nobody else, and otherwise as a change that waits."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import ConflictError, InvalidError, NotFoundError, OwnChangeError
from ..jobs import access
from ..jobs.pace import paces
from ..mix import service as mix
from ..mix import versions
from ..mix.schemas import Kind, MixVersion
from ..models import Job
from ..models import MixChange as MixChangeRow
from ..models import MixVersion as MixVersionRow
from ..paging import decode_cursor, encode_cursor
from ..projects import service as projects
from ..work import Work
from . import carrying, outcome, repository, views
from .schemas import ChangeState, MixChange, MixChangeCreate, MixChangePage, Starts

MAX_WAITING = 100
_MAX_AHEAD_S = 10 * 365 * 86_400.0
_OPEN = ("awaiting_approval", "scheduled", "needs_attention")


@dataclass(frozen=True, kw_only=True)
class Start:
    """What a change waits for, besides an approval; what it is made for unless that is the newest version."""

    starts: Starts = "at_once"
    at_time: float | None = None
    follows: MixChangeRow | None = None


async def submit(
    work: Work,
    job: Job,
    parent: MixVersionRow,
    change: versions.Change,
    kind: Kind,
    replaces: uuid.UUID | None = None,
) -> MixVersion | MixChange:
    """Make the version, or where the project requires an approval a change that waits for one. ``job`` is locked."""
    if replaces is not None:
        await _replace(work, job, replaces)
    if not await projects.requires_approval(work.session, job.project_id):
        return await mix.make(work, job, parent, change, kind)
    row = await _add(work, job, parent, change, kind, Start())
    return await views.describe_one(work, job, row)


async def schedule(work: Work, job: Job, parent: MixVersionRow, body: MixChangeCreate) -> MixChange:
    """A change for a step or a time. Raises InvalidError for one that has passed, ConflictError for one too many."""
    change = versions.Change(
        weights_ppm=mix.normalised(body.weights, await access.sources(work, job)),
        author=work.principal.label,
        reason=body.reason,
        origin="service",
        from_step=body.at_step,
        ramp_steps=body.ramp_steps,
    )
    at_time = None if body.at is None else body.at.timestamp()
    await _refuse_past(work, job, body, at_time)
    follows = None
    if body.follows is not None:
        follows = await find(work, job, body.follows)
        if follows.state not in ("awaiting_approval", "scheduled", "done"):
            raise ConflictError(f"change {follows.uuid} is {follows.state}; nothing can follow it")
    if body.replaces is not None:
        await _replace(work, job, body.replaces)
    start = Start(starts="time" if body.at_step is None else "step", at_time=at_time, follows=follows)
    row = await _add(work, job, parent, change, "edit", start)
    return await views.describe_one(work, job, row)


async def _refuse_past(work: Work, job: Job, body: MixChangeCreate, at_time: float | None) -> None:
    if at_time is not None:
        if not work.now < at_time <= work.now + _MAX_AHEAD_S:
            _refuse("at", f"{body.at} has passed, or is more than ten years away", str(body.at))
        return
    progress = (await paces(work.session, work.runtime, [job])).get(job.id)
    assert body.at_step is not None
    if progress is not None and progress.step is not None and body.at_step <= progress.step:
        _refuse("at_step", f"step {body.at_step} has passed: the job is at {progress.step}", body.at_step)


def _refuse(name: str, message: str, value: object) -> None:
    raise InvalidError(message, errors=[{"loc": ["body", name], "msg": message, "value": value}])


async def _add(
    work: Work, job: Job, parent: MixVersionRow, change: versions.Change, kind: Kind, start: Start
) -> MixChangeRow:
    if await repository.num_waiting(work.session, job.id) >= MAX_WAITING:
        raise ConflictError(f"{MAX_WAITING} changes of job {job.name!r} wait already; cancel some first")
    approval = await projects.requires_approval(work.session, job.project_id)
    state: ChangeState = "awaiting_approval" if approval else "scheduled"
    ends = work.now + work.runtime.settings.approval_expires_s
    row = MixChangeRow(
        uuid=uuid.uuid4(),
        job_id=job.id,
        state=state,
        kind=kind,
        starts=start.starts,
        weights_ppm=change.weights_ppm,
        from_step=change.from_step,
        ramp_steps=change.ramp_steps,
        at_time=start.at_time,
        base_version=parent.version if start.follows is None else start.follows.version,
        follows=None if start.follows is None else start.follows.id,
        reverts=change.reverts,
        reason=change.reason,
        author=change.author,
        author_person=work.principal.person,
        created_at=work.now,
        expires_at=None if not approval else ends if start.at_time is None else min(ends, start.at_time),
    )
    work.session.add(row)
    await work.session.flush()
    outcome.created(work, job, row)
    return row


async def _replace(work: Work, job: Job, change: uuid.UUID) -> None:
    row = await find(work, job, change)
    if row.state != "needs_attention":
        raise ConflictError(f"change {change} is {row.state}; only one that needs attention can be replaced")
    outcome.settle(work, job, row, "replaced", f"{work.principal.label} made it anew")


async def find(work: Work, job: Job, change: uuid.UUID) -> MixChangeRow:
    """The job's change with this id. Raises NotFoundError."""
    row = await repository.find(work.session, job.id, change)
    if row is None:
        raise NotFoundError(f"job {job.name!r} has no change {change}")
    return row


async def get(work: Work, job: Job, change: uuid.UUID) -> MixChange:
    """One change as others see it. Raises NotFoundError."""
    return await views.describe_one(work, job, await find(work, job, change))


async def page(
    work: Work, job: Job, *, states: Sequence[ChangeState] | None, cursor: str | None, limit: int
) -> MixChangePage:
    """A page of a job's changes, newest first."""
    rows = await repository.page(work.session, job.id, states=states, before=decode_cursor(cursor), limit=limit + 1)
    items = await views.describe(work, job, rows[:limit])
    return MixChangePage(items=items, next_cursor=encode_cursor(rows[limit - 1].id) if len(rows) > limit else None)


async def approve(work: Work, job: Job, change: uuid.UUID, reason: str | None) -> MixChange:
    """Let a change have its way: at once, or when its turn comes. ``job`` must be locked.

    It needs attention instead when the mix is no longer the one it was made for. Raises OwnChangeError,
    ConflictError.
    """
    row = await _awaiting(work, job, change)
    if row.author_person == work.principal.person:
        raise OwnChangeError(f"{row.author} made this change; somebody else must approve it")
    row.decided_by, row.decided_at, row.decision_reason = work.principal.label, work.now, reason
    row.expires_at = None
    outcome.settle(work, job, row, "scheduled", reason)
    row.why = None
    if row.starts == "at_once":
        await carrying.carry_out(work, job, row, None)
    else:
        await carrying.check(work, job, row)
    await work.session.flush()
    return await views.describe_one(work, job, row)


async def reject(work: Work, job: Job, change: uuid.UUID, reason: str) -> MixChange:
    """Refuse a change for good. ``job`` must be locked. Raises ConflictError."""
    row = await _awaiting(work, job, change)
    row.decided_by, row.decided_at, row.decision_reason = work.principal.label, work.now, reason
    outcome.settle(work, job, row, "rejected", reason)
    return await views.describe_one(work, job, row)


async def _awaiting(work: Work, job: Job, change: uuid.UUID) -> MixChangeRow:
    row = await find(work, job, change)
    if row.state != "awaiting_approval":
        raise ConflictError(f"change {change} is {row.state}; there is nothing to decide")
    if row.expires_at is not None and work.now >= row.expires_at:
        raise ConflictError(f"change {change} was not approved in time; make it again")
    return row


async def withdraw(work: Work, job: Job, change: uuid.UUID, reason: str | None) -> MixChange:
    """Cancel a change that waits, or dismiss one that needs attention. Raises ConflictError for one that is settled."""
    row = await find(work, job, change)
    if row.state not in _OPEN:
        became = f" (version {row.version})" if row.version is not None else ""
        raise ConflictError(f"change {change} is {row.state}{became}; it can't be cancelled any more")
    state: ChangeState = "dismissed" if row.state == "needs_attention" else "cancelled"
    outcome.settle(work, job, row, state, reason or f"by {work.principal.label}")
    return await views.describe_one(work, job, row)

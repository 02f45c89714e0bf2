"""Making a version of a change: if the mix is still the one it was made for, and otherwise never."""

from ..mix import service as mix
from ..mix import versions
from ..models import Job, MixChange
from ..projects import service as projects
from ..work import Work
from . import outcome, repository


async def carry_out(work: Work, job: Job, row: MixChange, late_s: float | None) -> None:
    """Make a version of a change whose turn it is, or say that it needs attention. ``job`` must be locked."""
    if not await check(work, job, row):
        return
    change = versions.Change(
        weights_ppm=row.weights_ppm,
        author=row.author,
        reason=row.reason,
        origin="service",
        from_step=row.from_step,
        ramp_steps=row.ramp_steps,
        reverts=row.reverts,
        change=row.uuid,
        approved_by=row.decided_by,
    )
    made = await versions.add(work, job, await mix.newest(work, job), change, f"mix.{row.kind}")
    row.state, row.why, row.version = "done", None, made.version
    row.late_s, row.settled_at = late_s, work.now
    outcome.moved(work.session, row)
    for follower in await repository.followers(work.session, row.id):
        follower.base_version = made.version


async def check(work: Work, job: Job, row: MixChange) -> bool:
    """Whether a change could become a version now; one that can't for good needs attention from now on."""
    why = await _obstacle(work, job, row)
    if why is not None:
        outcome.settle(work, job, row, "needs_attention", why)
    return why is None


async def _obstacle(work: Work, job: Job, row: MixChange) -> str | None:
    if row.decided_by is None and await projects.requires_approval(work.session, job.project_id):
        return "the project requires an approval since it was scheduled; send it again"
    if row.base_version is None:
        return "the change that it follows has not become a version"
    newest = await mix.newest(work, job)
    if newest.version != row.base_version:
        return (
            f"it was made for version {row.base_version}, but version {newest.version} by {newest.author} "
            f"({newest.reason[:100]!r}) is in its place"
        )
    return None

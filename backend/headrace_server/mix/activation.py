"""Activations: the leader says at which step a revision took effect; local revisions become versions here."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from ..changes import outcome
from ..db import announce
from ..errors import AttemptSupersededError, InvalidError
from ..events.announcements import ActivationRecorded, JobChanged, MixProgressed
from ..jobs import access
from ..models import Job, MixActivation, MixVersion
from ..work import Work
from . import life, repository, service, versions
from .schemas import Activation, ActivationCreate, ActivationList
from .weights import PPM


async def record(work: Work, job: Job, body: ActivationCreate) -> Activation:
    """Record an activation, once by (attempt, revision). ``job`` must be locked.

    Raises NotFoundError for an unknown attempt, AttemptSupersededError for one that may no longer steer, InvalidError.
    """
    attempt = await access.find_attempt(work, job, body.attempt)
    held = await repository.activation(work.session, attempt.id, body.revision)
    if held is not None:
        return describe(held, attempt.uuid)
    if attempt.state == "superseded":
        raise AttemptSupersededError(
            f"attempt {attempt.number} was superseded by a newer start of {job.name!r}; its activations are not taken"
        )
    await _refuse_wrong_weights(work, job, body)
    version = await _version_of(work, job, body)
    row = MixActivation(
        job_id=job.id,
        attempt_id=attempt.id,
        version=version.version,
        created_at=work.now,
        **body.model_dump(exclude={"attempt"}),
    )
    work.session.add(row)
    version.seen_at = work.now if version.seen_at is None else version.seen_at
    version.agreed_at, version.agreed_step = work.now, body.step
    # Agreed after all, by a leader that had fetched it before a newer edit: that is what the stream follows.
    version.superseded_at = None
    await outcome.note_agreed(work.session, job, version.version)
    await work.session.flush()
    # The ranks may have passed the step, and reported so, before this arrived.
    await life.note_reports(work.session, attempt, newest_seen=None, newest_in_force=None, now=work.now)
    announce(work.session, MixProgressed(job.id, version.version))
    announce(work.session, JobChanged(job.id))
    announce(work.session, ActivationRecorded(job.id, attempt.id, attempt.uuid, body.revision))
    return describe(row, attempt.uuid)


async def find(session: AsyncSession, attempt_id: int, attempt: UUID, revision: str) -> Activation | None:
    """What an attempt (by row id and by id) said about a revision."""
    row = await repository.activation(session, attempt_id, revision)
    return None if row is None else describe(row, attempt)


async def listing(work: Work, job: Job, *, lineage: UUID | None, from_step: int | None) -> ActivationList:
    """Activations in the order they take effect."""
    rows = await repository.activations(work.session, job.id, lineage=lineage, from_step=from_step)
    return ActivationList(items=[describe(row, attempt) for row, attempt in rows])


def describe(row: MixActivation, attempt: UUID) -> Activation:
    """An activation, by the attempt with this id, as others see it."""
    fields = {name: getattr(row, name) for name in Activation.model_fields if name != "attempt"}
    return Activation.model_validate({**fields, "attempt": attempt})


async def _refuse_wrong_weights(work: Work, job: Job, body: ActivationCreate) -> None:
    names = [source.name for source in await access.sources(work, job)]
    unknown = [name for name in body.weights_ppm if name not in names]
    if unknown:
        raise InvalidError(
            f"unknown source {unknown[0][:200]!r}; the job has {names}",
            errors=[{"loc": ["body", "weights_ppm", unknown[0][:200]], "msg": "unknown source"}],
        )
    total = sum(body.weights_ppm.values())
    if total != PPM:
        raise InvalidError(
            f"weights_ppm sums to {total}; it must be {PPM}",
            errors=[{"loc": ["body", "weights_ppm"], "msg": f"must sum to {PPM}", "value": total}],
        )


async def _version_of(work: Work, job: Job, body: ActivationCreate) -> MixVersion:
    origin, _, number = body.revision.partition(":")
    if origin == "service":
        found = await repository.by_number(work.session, job.id, int(number))
        if found is None:
            raise InvalidError(
                f"revision {body.revision!r} names a mix version that job {job.name!r} doesn't have",
                errors=[{"loc": ["body", "revision"], "msg": "unknown version", "value": body.revision}],
            )
        return found
    if origin == "config":
        for row in await repository.configured(work.session, job.id):
            if _equal(row.weights_ppm, body.weights_ppm):
                return row
        return await _import(work, job, body, "config", None)
    found = await repository.by_revision(work.session, job.id, body.revision)
    return found or await _import(work, job, body, "local", body.revision)


def _equal(a: dict[str, int], b: dict[str, int]) -> bool:
    return {k: v for k, v in a.items() if v} == {k: v for k, v in b.items() if v}


async def _import(work: Work, job: Job, body: ActivationCreate, origin: str, revision: str | None) -> MixVersion:
    local = origin == "local"
    change = versions.Change(
        weights_ppm=body.weights_ppm,
        author="loader" if local else "config",
        reason=body.reason or ("set_weights in the training script" if local else "configured weights changed"),
        origin="local" if local else "config",
        from_step=body.step,
        ramp_steps=body.ramp_steps,
        revision=revision,
    )
    return await versions.add(work, job, await service.newest(work, job), change, "mix.import")

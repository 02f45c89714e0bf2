"""The carrier: looks once a second for changes whose turn has come, and carries each out in a transaction of its own.

Every process of the service may look. A change is carried out under the lock of its job and only while it still waits,
so it becomes one version however many look, and one that a crash interrupts is carried out by whoever looks next.
"""

import asyncio
import logging

from ..jobs import access
from ..jobs.pace import Pace, paces
from ..models import Job, MixChange
from ..runtime import Runtime
from ..work import Work, own_work
from . import carrying, outcome, repository
from .due import Verdict, Waiting, verdict

log = logging.getLogger(__name__)

TICK_S = 1.0
WHO = "schedule"


async def tick(runtime: Runtime) -> int:
    """Carry out or end every change whose turn has come; returns how many."""
    async with runtime.database.read() as session:
        rows = await repository.looked_at(session, runtime.now())
        if not rows:
            return 0
        jobs = {job.id: job for job in await access.by_ids(session, sorted({row.job_id for row in rows}))}
        progress = await paces(session, runtime, list(jobs.values()))
    done = 0
    for row in rows:
        found = _verdict(runtime, row, progress.get(row.job_id))
        if found.turn != "wait":
            try:
                done += await _act(runtime, jobs[row.job_id], row.id, progress.get(row.job_id))
            except Exception:
                log.exception("change %s of the mix was not carried out; tried again", row.uuid)
    return done


async def run(runtime: Runtime) -> None:
    """Look until cancelled; a failure is logged and the next tick tries again."""
    while True:
        try:
            await tick(runtime)
        except Exception:
            log.exception("looking for changes of the mix that are due failed")
        await asyncio.sleep(TICK_S)


def _verdict(runtime: Runtime, row: MixChange, progress: Pace | None) -> Verdict:
    waiting = Waiting(
        starts=row.starts,  # type: ignore[arg-type]
        approved=row.state == "scheduled",
        at_step=row.from_step,
        at_time=row.at_time,
        expires_at=row.expires_at,
    )
    return verdict(waiting, progress, runtime.now(), runtime.settings.schedule_late_s)


async def _act(runtime: Runtime, job: Job, change_id: int, progress: Pace | None) -> int:
    async with runtime.database.write() as session:
        work = own_work(runtime, session, WHO)
        locked = await access.find_job(work, str(job.uuid), lock=True)
        row = await repository.waiting(session, change_id)
        if row is None:
            return 0  # somebody else was faster
        await _settle(work, locked, row, _verdict(runtime, row, progress))
    return 1


async def _settle(work: Work, job: Job, row: MixChange, found: Verdict) -> None:
    if found.turn == "now":
        await carrying.carry_out(work, job, row, found.late_s)
    elif found.turn == "too_late":
        outcome.settle(work, job, row, "needs_attention", found.why)
        row.late_s = found.late_s
    elif found.turn == "expired":
        outcome.settle(work, job, row, "expired", found.why)

"""Turns committed changes into events, once a process whatever the number of listeners.

Job summaries go out at most once a second each. Every few seconds the jobs in progress are looked at even if this
process heard of no change: that is how a rank's silence, and what another replica wrote, reach the page.
"""

import asyncio
import logging
from dataclasses import asdict
from uuid import UUID

from ..jobs import access
from ..jobs.summary import summarise
from ..mix import activation as activations
from ..mix import service as mixes
from ..runtime import Runtime
from .announcements import ActivationRecorded, AlertMoved, ChangeMoved, JobChanged, MixChanged, MixProgressed
from .broker import Event
from .schemas import ActivationEvent, AlertEvent, ChangeEvent, JobEvent, MixEvent

log = logging.getLogger(__name__)

_TICK_S = 0.1
_DIGEST_S = 1.0
_LOOK_AROUND_S = 3.0


class Composer:
    """One task a process; holds a connection only while it composes."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._dirty: set[int] = set()
        self._sent: dict[int, str] = {}
        self._next_digest = 0.0
        self._next_look = 0.0

    async def run(self) -> None:
        """Compose until cancelled; a failure is logged and the next tick tries again."""
        while True:
            await asyncio.sleep(_TICK_S)
            try:
                await self._tick()
            except Exception:
                log.exception("composing events failed")

    async def _tick(self) -> None:
        changes = self._runtime.broker.take_changes()
        if not self._runtime.broker.num_listeners:
            self._dirty.clear()
            self._sent.clear()
            return
        self._dirty |= {change.job_id for change in changes if isinstance(change, JobChanged)}
        await self._tell_mix({(c.job_id, c.version) for c in changes if isinstance(c, MixChanged | MixProgressed)})
        await self._tell_activations([change for change in changes if isinstance(change, ActivationRecorded)])
        await self._tell_moves([change for change in changes if isinstance(change, ChangeMoved | AlertMoved)])
        now = asyncio.get_running_loop().time()
        if now >= self._next_look:
            self._next_look = now + _LOOK_AROUND_S
            async with self._runtime.database.read() as session:
                self._dirty |= set(await access.ids_in_progress(session))
        if self._dirty and now >= self._next_digest:
            self._next_digest = now + _DIGEST_S
            dirty, self._dirty = self._dirty, set()
            await self._tell_jobs(sorted(dirty))

    async def _tell_jobs(self, job_ids: list[int]) -> None:
        async with self._runtime.database.read() as session:
            rows = await access.by_ids(session, job_ids)
            summaries = await summarise(session, self._runtime, rows, self._runtime.now())
        for row, summary in zip(rows, summaries, strict=True):
            data = JobEvent(**dict(summary)).model_dump_json()
            if self._sent.get(row.id) != data:
                self._sent[row.id] = data
                self._runtime.broker.publish(row.project_id, row.uuid, Event("job", data))

    async def _tell_mix(self, changes: set[tuple[int, int]]) -> None:
        for job_id, number in sorted(changes):
            async with self._runtime.database.read() as session:
                [job] = await access.by_ids(session, [job_id])
                version = await mixes.describe_one(session, self._runtime, job.id, number)
            if version is not None:
                event = MixEvent(job=job.uuid, version=version)
                self._runtime.broker.publish(job.project_id, job.uuid, Event("mix", event.model_dump_json()))

    async def _tell_activations(self, changes: list[ActivationRecorded]) -> None:
        for change in changes:
            async with self._runtime.database.read() as session:
                [job] = await access.by_ids(session, [change.job_id])
                found = await activations.find(session, change.attempt_id, change.attempt, change.revision)
            if found is not None:
                event = ActivationEvent(job=job.uuid, activation=found)
                self._runtime.broker.publish(job.project_id, job.uuid, Event("activation", event.model_dump_json()))

    async def _tell_moves(self, moves: list[ChangeMoved | AlertMoved]) -> None:
        """Which change or alert came to which state; who shows it asks for it."""
        if not moves:
            return
        async with self._runtime.database.read() as session:
            jobs = {job.id: job for job in await access.by_ids(session, sorted({move.job_id for move in moves}))}
        for move in dict.fromkeys(moves):
            job = jobs[move.job_id]
            self._runtime.broker.publish(job.project_id, job.uuid, _moved(job.uuid, move))


def _moved(job: UUID, move: ChangeMoved | AlertMoved) -> Event:
    fields = {"job": job, **{name: value for name, value in asdict(move).items() if name != "job_id"}}
    if isinstance(move, ChangeMoved):
        return Event("change", ChangeEvent.model_validate(fields).model_dump_json())
    return Event("alert", AlertEvent.model_validate(fields).model_dump_json())

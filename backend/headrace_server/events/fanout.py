"""Changes from one process to all others on the same PostgreSQL.

An edit of the mix is told by the transaction that makes it, so that nobody hears of one that was not committed and none
is committed untold. Everything else goes out once a second, as one digest a process; storing reports tells nothing.
After a lost connection everybody is given a fresh start, and until it is back the newest versions are polled. On SQLite
there is one process, and nothing to tell.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from ..mix import service as mixes
from ..peers import read
from ..runtime import Runtime
from . import repository, wire
from .announcements import ActivationRecorded, AlertMoved, ChangeMoved, JobChanged, MixChanged, MixProgressed
from .wire import Wire

log = logging.getLogger(__name__)

DIGEST_S = 1.0
POLL_S = 1.0
# Each process tells of itself this often, which also shows whether the connection still works.
_STANDING_S = 5.0
_BACKOFF_S = (1.0, 15.0)
_MAX_PENDING = 10_000


class Fanout:
    """One task a process, between this process's broker and all others."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._alone = runtime.settings.is_sqlite
        self._name = secrets.token_hex(4)
        self._pending: set[object] = set()
        self._too_many = False
        self.connected = False

    async def before_commit(self, session: AsyncSession, announced: Sequence[object]) -> None:
        """Have the transaction tell of the edits it makes."""
        edits = {(change.job_id, change.version) for change in announced if isinstance(change, MixChanged)}
        if edits and not self._alone:
            await repository.tell(session, self._written({"edits": sorted(edits)}))

    def committed(self, announced: Sequence[object]) -> None:
        """Tell this process's streams at once, and the others with the next digest."""
        self._runtime.broker.changed(announced)
        if not self._alone:
            self._pending.update(change for change in announced if not isinstance(change, MixChanged))
            if len(self._pending) > _MAX_PENDING:
                self._pending.clear()
                self._too_many = True

    async def run(self) -> None:
        """Talk to the other processes until cancelled; a failure is logged, and the connection made again."""
        if self._alone:
            return
        backoff_s = _BACKOFF_S[0]
        while True:
            try:
                async with wire.opened(self._runtime.settings) as line:
                    await line.listen(self.heard)
                    self.connected = True
                    backoff_s = _BACKOFF_S[0]
                    await self._start_over()
                    await self._exchange(line)
            except wire.BROKEN as error:
                log.warning("no line to other processes (%s); edits are polled until it is back", type(error).__name__)
            finally:
                self.connected = False
            await self._poll_for(backoff_s)
            backoff_s = min(2 * backoff_s, _BACKOFF_S[1])

    async def _exchange(self, line: Wire) -> None:
        """Send a digest each second in which something happened, until the connection is lost."""
        loop = asyncio.get_running_loop()
        next_standing = loop.time()
        while not line.lost.is_set():
            if loop.time() >= next_standing:
                next_standing = loop.time() + _STANDING_S
                await line.tell(self._written({"standing": self._runtime.standing().told()}))
            try:
                async with asyncio.timeout(DIGEST_S):
                    await line.lost.wait()
            except TimeoutError:
                digest = self._digest()
                if digest is not None:
                    await line.tell(digest)

    async def _poll_for(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while loop.time() < until:
            await asyncio.sleep(POLL_S)
            try:
                await self._tell_followers()
            except Exception as error:
                log.info("polling for edits failed: %s", type(error).__name__)

    async def _start_over(self) -> None:
        """Something may have been missed: new snapshots for listeners, the newest versions for followers."""
        self._runtime.broker.start_over()
        await self._tell_followers()

    async def _tell_followers(self) -> None:
        job_ids = self._runtime.broker.followers.job_ids
        if job_ids:
            async with self._runtime.database.read() as session:
                newest = await mixes.newest_of(session, job_ids)
            for job_id, row in newest.items():
                self._runtime.broker.followers.tell(job_id, row.version)

    def _written(self, body: dict[str, Any]) -> str:
        return json.dumps({"from": self._name, **body}, separators=(",", ":"))

    def _digest(self) -> str | None:
        """What happened since the last digest; where that is too much for one, that all should start over."""
        pending, too_many = self._pending, self._too_many
        self._pending, self._too_many = set(), False
        if not pending and not too_many:
            return None
        body = {
            "jobs": sorted(change.job_id for change in pending if isinstance(change, JobChanged)),
            "progress": sorted((c.job_id, c.version) for c in pending if isinstance(c, MixProgressed)),
            "activations": [
                [c.job_id, c.attempt_id, str(c.attempt), c.revision]
                for c in pending
                if isinstance(c, ActivationRecorded)
            ],
            "changes": [[c.job_id, str(c.change), c.state] for c in pending if isinstance(c, ChangeMoved)],
            "alerts": [[c.job_id, str(c.alert), c.state] for c in pending if isinstance(c, AlertMoved)],
        }
        text = self._written({name: items for name, items in body.items() if items})
        return self._written({"all": True}) if too_many or len(text) > wire.MAX_PAYLOAD_BYTES else text

    def heard(self, payload: str) -> None:
        """Take what a process told; what can't be read is of another version, and left to the next look around."""
        try:
            body = json.loads(payload)
            if body["from"] == self._name:
                return
            if body.get("all"):
                self._runtime.broker.start_over()
            if "standing" in body:
                self._runtime.peers.heard(str(body["from"]), read(body["standing"]), self._runtime.steady())
            changes: list[object] = [MixChanged(int(job), int(version)) for job, version in body.get("edits", ())]
            changes += [JobChanged(int(job)) for job in body.get("jobs", ())]
            changes += [MixProgressed(int(job), int(version)) for job, version in body.get("progress", ())]
            changes += [
                ActivationRecorded(int(job), int(attempt), UUID(uuid), str(revision))
                for job, attempt, uuid, revision in body.get("activations", ())
            ]
            changes += [ChangeMoved(int(job), UUID(uuid), str(state)) for job, uuid, state in body.get("changes", ())]
            changes += [AlertMoved(int(job), UUID(uuid), str(state)) for job, uuid, state in body.get("alerts", ())]
        except (ValueError, TypeError, KeyError, AttributeError):
            log.warning("another process told what can't be read: %.80r", payload)
            return
        self._runtime.broker.changed(changes)

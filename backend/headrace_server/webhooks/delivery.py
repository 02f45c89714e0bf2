"""Emptying the outbox: claim, send, write down how it went. At least once, whoever dies in between.

A claim lasts ``LEASE_S``; a process that is killed after it sent and before it wrote so leaves the delivery to the
next, which sends it again under the same id. Few requests are on their way at once, one to a webhook.
"""

import asyncio
import logging
import random
from typing import Any

from ..runtime import Runtime
from . import repository
from .backoff import next_try_at
from .payloads import request_of
from .repository import Claimed
from .sealing import SealedError, unseal
from .sender import TOTAL_S, Outcome, Sender

log = logging.getLogger(__name__)

TICK_S = 1.0
LEASE_S = 2 * TOTAL_S
MAX_AT_ONCE = 8
_KEEP_S = 30 * 86_400.0
_PRUNE_S = 3600.0


class Deliverer:
    """One task a process; holds no connection while it sends."""

    def __init__(self, runtime: Runtime, sender: Sender | None = None) -> None:
        self._runtime = runtime
        self._sender = sender or runtime.sender
        self._going: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()
        self._next_prune = 0.0

    async def run(self) -> None:
        """Deliver until cancelled; a failure is logged and the next tick tries again."""
        try:
            while True:
                self._ended.clear()
                try:
                    await self.start_due()
                    await self._prune()
                except Exception:
                    log.exception("looking for webhook deliveries failed")
                await self._pause()
        finally:
            for task in self._going:
                task.cancel()
            await asyncio.gather(*self._going, return_exceptions=True)

    async def drain(self) -> int:
        """Deliver everything that is due now; returns how many requests that took."""
        num = 0
        while started := await self.start_due():
            num += started
            await asyncio.gather(*self._going)
        return num

    async def start_due(self) -> int:
        """Claim what is due, as far as there is room, and start sending it; returns how many."""
        room = MAX_AT_ONCE - len(self._going)
        now = self._runtime.now()
        if room <= 0:
            return 0
        async with self._runtime.database.read() as session:
            if not await repository.any_due(session, now):
                return 0
        async with self._runtime.database.write() as session:
            claimed = await repository.claim(session, now, until=now + LEASE_S, limit=room)
        for delivery in claimed:
            task = asyncio.create_task(self._deliver(delivery))
            self._going.add(task)
            task.add_done_callback(self._done)
        return len(claimed)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._going.discard(task)
        self._ended.set()
        if not task.cancelled() and task.exception() is not None:
            log.error("a webhook delivery failed", exc_info=task.exception())

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(TICK_S):
                await self._ended.wait()
        except TimeoutError:
            pass

    async def _deliver(self, delivery: Claimed) -> None:
        outcome = await self._send(delivery)
        now = self._runtime.now()
        async with self._runtime.database.write() as session:
            await repository.finish(session, delivery.id, result_of(delivery, outcome, now, random.random()))

    async def _send(self, delivery: Claimed) -> Outcome:
        key = self._runtime.settings.sealing_key
        try:
            url = unseal(delivery.url, key)
            secret = None if delivery.secret is None else unseal(delivery.secret, key)
        except SealedError as error:
            return Outcome(None, f"not sent: {error}")
        shape: Any = delivery.format
        headers, body = request_of(
            shape, delivery.payload, delivery.kind, str(delivery.uuid), secret, self._runtime.now()
        )
        return await self._sender.post(url, headers, body)

    async def _prune(self) -> None:
        now = self._runtime.now()
        if now >= self._next_prune:
            self._next_prune = now + _PRUNE_S
            async with self._runtime.database.write() as session:
                await repository.prune(session, now - _KEEP_S)


def result_of(delivery: Claimed, outcome: Outcome, now: float, jitter: float) -> dict[str, Any]:
    """The columns that say how a try went: delivered, to be tried again, or given up."""
    seen: dict[str, Any] = {"status": outcome.status, "error": outcome.error}
    if outcome.error is None:
        return {**seen, "state": "delivered", "ended_at": now}
    again = next_try_at(delivery.tries, delivery.created_at, now, jitter, outcome.retry_after_s)
    if again is None:
        return {**seen, "state": "given_up", "ended_at": now}
    return {**seen, "next_at": again}

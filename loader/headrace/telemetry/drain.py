"""Sends a node's spool to the control plane: one process a node, elected by a file lock that dies with the process."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from headrace.telemetry.answers import read_receipt
from headrace.telemetry.backlog import Backlog, Entry
from headrace.telemetry.client import ABORTED_S, Client
from headrace.telemetry.description import Registration
from headrace.telemetry.failures import Backoff, Notices, ServiceError
from headrace.telemetry.http_answer import Answer
from headrace.telemetry.registrar import REFUSED, Registrar
from headrace.telemetry.spool import Spool

MOST_RECORDS = 1000
MOST_BYTES = (1 << 20) - 1024
_PACE_S = 1.0
_BETWEEN_BATCHES_S = 0.1
_ELECTION_S = 1.0
_CLOSING_PAUSE_S = 0.05


class Drain:
    """The sending thread of one rank. Only the one that holds the node's lock sends; the others wait to take over.

    A record leaves the spool when the service has acknowledged it, or has said that it never will.
    """

    def __init__(
        self,
        spool: Spool,
        client: Client,
        registrar: Registrar,
        current: Registration,
        rank: int,
        notices: Notices,
        *,
        on_mix_version: Callable[[int], None] | None,
    ) -> None:
        """`on_mix_version` is called with the newest version of the mix, as acknowledgements carry it."""
        self.lost = 0
        "records that the service refused"
        self._on_mix_version = on_mix_version
        self._spool = spool
        self._client = client
        self._registrar = registrar
        self._current = current
        self._rank = rank
        self._notices = notices
        self._lock = spool.drain_lock()
        self._backlogs: dict[str, Backlog] = {}
        self._given_up: set[str] = set()
        self._most_records = MOST_RECORDS
        self._backoff = Backoff(first_s=0.5, most_s=10.0)
        self._random = random.Random()  # never the global one, which belongs to the training script
        self._wake = threading.Event()
        self._deadline: float | None = None
        self._thread: threading.Thread | None = None

    def start(self, delay_s: float) -> None:
        """Begin after about `delay_s`, which lets the leader go first; nodes that start together spread out."""
        delay_s *= self._random.uniform(1.0, 1.5)
        self._thread = threading.Thread(target=self._run, args=(delay_s,), name="headrace-drain", daemon=True)
        self._thread.start()

    def hurry(self) -> None:
        """Begin now: whoever had to go first has."""
        self._wake.set()

    def finish(self, deadline: float) -> None:
        """Have the thread end when all of this rank is sent, by whichever process, or at `deadline` (monotonic)."""
        self._backoff.reset()
        self._deadline = deadline
        self._wake.set()

    def join(self, deadline: float) -> None:
        """Wait until the thread has ended; at `deadline` the request under way is cut off, which ends it at once."""
        if self._thread is not None:
            self._thread.join(max(deadline - time.monotonic(), 0.0))
        self._client.abort()
        if self._thread is not None:
            self._thread.join(ABORTED_S)

    def _run(self, delay_s: float) -> None:
        self._pause(delay_s)
        while not self._is_over():
            self._pause(self._tick())
        self._lock.release()
        self._client.close()

    def _pause(self, seconds: float) -> None:
        if self._deadline is not None:
            seconds = min(seconds, max(self._deadline - time.monotonic(), 0.0))
        self._wake.wait(seconds)
        self._wake.clear()

    def _is_over(self) -> bool:
        if self._deadline is None:
            return False
        with suppress(OSError):
            if self._spool.is_drained(self._current.attempt_id, self._rank):
                return True
        return time.monotonic() >= self._deadline

    def _tick(self) -> float:
        """One round over all attempts in the spool; seconds until the next."""
        try:
            if not self._lock.acquire():
                return _ELECTION_S if self._deadline is None else _CLOSING_PAUSE_S
            more = [self._drain(registration) for registration in self._attempts()]
        except ServiceError as error:
            self._notices.failure(error)
            if self._deadline is not None and error.pause_s > 0:  # longer than what is left of this process
                self._deadline = time.monotonic()
            return self._backoff.after(error)
        except Exception as error:  # a full disk, a file that another process removed: nothing may end this thread
            self._notices.warn("drain", f"sending reports failed ({type(error).__name__}: {error}); it is tried again")
            return self._backoff.after(ServiceError("drain", str(error)))
        self._backoff.reset()
        if self._deadline is not None:
            return _CLOSING_PAUSE_S
        if any(more):
            return _BETWEEN_BATCHES_S
        return (self._spool.pace_s() or _PACE_S) * self._random.uniform(0.9, 1.1)

    def _attempts(self) -> list[Registration]:
        """This attempt, so that what people watch stays fresh, then what earlier ones left, oldest first."""
        current = self._current.attempt_id
        earlier = [found for found in self._spool.registrations() if found.attempt_id != current]
        return [self._current, *(found for found in earlier if found.attempt_id not in self._given_up)]

    def _drain(self, registration: Registration) -> bool:
        """Send one batch of an attempt, or how it ended when nothing else is left; whether there is probably more."""
        attempt = registration.attempt_id
        if registration is not self._current:
            self._spool.seal_dead(attempt)
        entries = self._backlogs.setdefault(attempt, Backlog(self._spool, attempt)).batch(
            self._most_records, MOST_BYTES
        )
        try:
            if entries:
                self._send(registration, entries)
            else:
                self._send_end(registration)
        except ServiceError as error:
            if error.kind != REFUSED or registration is self._current:
                raise
            self._given_up.add(attempt)
            self._notices.warn("left behind", f"reports of the earlier attempt {attempt} stay in the spool: {error}")
        if not entries and registration is not self._current:
            self._spool.remove_if_done(attempt)
            self._backlogs.pop(attempt, None)
        full = len(entries) >= self._most_records or sum(len(entry.line) for entry in entries) > MOST_BYTES // 2
        return full or (bool(entries) and registration is not self._current)

    def _send(self, registration: Registration, entries: list[Entry]) -> None:
        attempt = registration.attempt_id
        job_id = self._registrar.job_id(registration)
        records = b",".join(entry.line for entry in entries)
        body = b'{"attempt":%s,"records":[%s]}' % (json.dumps(attempt).encode(), records)
        answer = self._client.post(f"/jobs/{job_id}/reports", body, compress=True)
        if answer.ok:
            self._read_receipt(answer)
            self._most_records = min(MOST_RECORDS, self._most_records + max(self._most_records // 8, 1))
        elif answer.status == 404:
            self._registrar.forget()
            raise ServiceError("forgotten", f"the control plane no longer knows this job ({answer.reason})")
        elif answer.status == 413 and len(entries) > 1:
            self._most_records = len(entries) // 2
            return
        elif answer.body:
            self._set_aside(attempt, entries, answer)
        else:
            raise ServiceError("not headrace", f"one report is too large for what answers ({answer.status})")
        self._backlogs[attempt].acknowledge(entries)

    def _read_receipt(self, answer: Answer) -> None:
        receipt = read_receipt(answer.body)
        if receipt.rejected:
            self.lost += len(receipt.rejected)
            self._notices.warn("rejected", f"the control plane rejects reports, first: {receipt.rejected[0]}")
        if receipt.pace_s is not None:
            self._spool.set_pace(receipt.pace_s)
        if receipt.mix_version is not None and self._on_mix_version is not None:
            self._on_mix_version(receipt.mix_version)

    def _set_aside(self, attempt: str, entries: list[Entry], answer: Answer) -> None:
        self.lost += len(entries)
        what = f"{len(entries)} reports are set aside in {self._spool.path / attempt}"
        self._notices.warn("set aside", f"the control plane never takes these reports ({answer.reason}): {what}")
        with suppress(OSError):
            self._spool.set_aside(attempt, [entry.line for entry in entries])

    def _send_end(self, registration: Registration) -> None:
        """Say how an attempt ended, if that is known and not said yet; an answer of any kind settles it."""
        ended = self._spool.load(registration.attempt_id, "ended")
        if ended is not None:
            job_id = self._registrar.job_id(registration)
            answer = self._client.patch(
                f"/jobs/{job_id}/attempts/{registration.attempt_id}", json.dumps(ended).encode()
            )
            if not answer.ok:
                self._notices.warn("end refused", f"the end of attempt {registration.attempt_id}: {answer.reason}")
            self._spool.store(registration.attempt_id, "ended", None)

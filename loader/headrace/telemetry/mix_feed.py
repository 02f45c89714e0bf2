"""The leader's conversation about the mix: the newest proposal in, agreed steps out, old ones back for a replay."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headrace.telemetry.activation_queue import ActivationQueue
from headrace.telemetry.answers import MixVersion, read_activation, read_activations, read_mix
from headrace.telemetry.client import ABORTED_S, Client
from headrace.telemetry.description import Registration
from headrace.telemetry.failures import Backoff, Notices, ServiceError
from headrace.telemetry.mix_stream import MixStream
from headrace.telemetry.port import Activated, Proposal
from headrace.telemetry.registrar import Registrar
from headrace.telemetry.spool import Spool

_POLL_S = 1.0
_STREAMED_POLL_S = 5.0
"between two polls while a stream says what is new"
_LEFTOVER_TRIES = 3


@dataclass(slots=True)
class _Replay:
    """A question for the recorded activations, and its answer."""

    lineage: str
    from_step: int
    answer: list[Activated] | None = None
    done: threading.Event = field(default_factory=threading.Event)


class MixFeed:
    """One thread that fetches the mix when there is news and posts activations in order until each is acknowledged.

    News comes by a stream, if there is one, and by acknowledgements of reports; without a stream that can be trusted
    the mix is polled each second, and with one every five.

    Activations wait in the spool, so that those a crash left behind are posted before the next start registers.
    A version that an activation of the loader's own revision made is proposed under that revision, so that the loader
    recognises it; a version that only records configured weights is never proposed.
    """

    def __init__(
        self,
        spool: Spool,
        client: Client,
        registrar: Registrar,
        current: Registration,
        notices: Notices,
        *,
        stream_client: Client | None = None,
    ) -> None:
        """With a client of its own for it, a stream is kept open too."""
        self.latest: Proposal | None = None
        self.seen_version: int | None = None
        "the newest version that was fetched"
        self._spool = spool
        self._client = client
        self._registrar = registrar
        self._current = current
        self._sources = current.source_names
        self._notices = notices
        self._stream = None if stream_client is None else MixStream(stream_client, notices, self.hint)
        self._activations = ActivationQueue(spool, current)
        self._own_revisions: dict[int, str] = {}
        self._etag: str | None = None
        self._job_id: str | None = None
        self._replay: _Replay | None = None
        self._leftover_tries = _LEFTOVER_TRIES
        self._backoff = Backoff(first_s=0.5, most_s=5.0)
        self._not_before = 0.0
        self._wake = threading.Event()
        self._deadline: float | None = None
        self._on_registered: Callable[[], None] | None = None
        self._thread = threading.Thread(target=self._run, name="headrace-mix", daemon=True)

    def start(self, on_registered: Callable[[], None] | None = None) -> None:
        """Begin at once; `on_registered` is called when the control plane knows this start."""
        self._on_registered = on_registered
        self._thread.start()

    def activated(self, activation: Activated) -> None:
        """Post this as soon as possible; returns at once."""
        self._activations.put(activation)
        self._wake.set()

    def hint(self, version: int) -> None:
        """Fetch the mix at once if this version is news."""
        if self.seen_version is None or version > self.seen_version:
            self._wake.set()

    def replay_record(self, lineage: str, from_step: int, wait_s: float) -> list[Activated] | None:
        """The recorded activations of `lineage` at or after `from_step`; None if no answer came within `wait_s`."""
        replay = self._replay = _Replay(lineage, from_step)
        self._wake.set()
        replay.done.wait(wait_s)
        return replay.answer

    def finish(self, deadline: float) -> None:
        """Have the thread end when every activation is acknowledged, or at `deadline` (monotonic)."""
        self._backoff.reset()
        self._not_before = 0.0
        self._deadline = deadline
        self._wake.set()
        if self._stream is not None:
            self._stream.close()

    def join(self, deadline: float) -> None:
        """Wait until the thread has ended; at `deadline` the request under way is cut off, which ends it at once."""
        self._thread.join(max(deadline - time.monotonic(), 0.0))
        self._client.abort()
        self._thread.join(ABORTED_S)
        if self._stream is not None:
            self._stream.join()

    def _run(self) -> None:
        while not self._is_over():
            pause_s = self._tick()
            if self._deadline is not None:
                pause_s = min(pause_s, max(self._deadline - time.monotonic(), 0.0))
            self._wake.wait(pause_s)
            self._wake.clear()
        self._client.close()

    def _is_over(self) -> bool:
        if self._deadline is None:
            return False
        return not self._activations or time.monotonic() >= self._deadline

    def _tick(self) -> float:
        """Do everything that is due; seconds until the next time."""
        try:
            self._activations.save()
            wait_s = self._not_before - time.monotonic()
            if wait_s > 0:
                return wait_s
            self._converse()
        except ServiceError as error:
            self._notices.failure(error)
            if self._deadline is not None and error.pause_s > 0:  # longer than what is left of this process
                self._deadline = time.monotonic()
            return self._retry_after(error)
        except Exception as error:  # nothing may end this thread
            self._notices.warn("mix", f"talking about the mix failed ({type(error).__name__}: {error}); tried again")
            return self._retry_after(ServiceError("mix", str(error)))
        self._backoff.reset()
        streamed = self._stream is not None and self._stream.is_trusted(self.seen_version)
        return _STREAMED_POLL_S if streamed else _POLL_S

    def _retry_after(self, error: ServiceError) -> float:
        wait_s = self._backoff.after(error)
        self._not_before = time.monotonic() + wait_s
        return wait_s

    def _converse(self) -> None:
        self._post_leftovers()
        job_id = self._registrar.job_id(self._current)
        if self._on_registered is not None:
            self._on_registered()
            self._on_registered = None
        if job_id != self._job_id:
            self._job_id, self._etag, self.seen_version = job_id, None, None
            if self._stream is not None:
                self._stream.follow(job_id)
        self._answer_replay(job_id)
        try:
            if self._deadline is None:
                self._fetch_mix(job_id)
        finally:
            self._post_unsent(job_id)

    def _post_unsent(self, job_id: str) -> None:
        while (body := self._activations.first()) is not None:
            self._post(job_id, body)
            self._activations.drop_first()

    def _post(self, job_id: str, body: dict[str, object]) -> None:
        """Post one activation; whatever the service answers to it settles it, except that it does not know the job."""
        answer = self._client.post(f"/jobs/{job_id}/activations", json.dumps(body).encode())
        what = f"the step of {body['revision']}, {body['step']},"
        if answer.ok:
            activated, version = read_activation(answer.body)
            self._note_version(activated.revision, version)
        elif answer.status == 404:
            self._registrar.forget()
            raise ServiceError("forgotten", f"the control plane no longer knows this job ({answer.reason})")
        elif answer.body.get("code") == "attempt_superseded":
            self._notices.warn("superseded", f"{what} is not recorded: a newer start of this job has taken over")
        else:
            self._notices.warn("activation refused", f"{what} is not recorded by the control plane: {answer.reason}")

    def _post_leftovers(self) -> None:
        """Post what earlier starts on this node could not; given up after a few tries, until the next start."""
        if self._leftover_tries <= 0:
            return
        self._leftover_tries -= 1
        for registration in self._spool.registrations():
            if registration.attempt_id != self._current.attempt_id:
                bodies = self._spool.load(registration.attempt_id, "activations")
                for body in bodies if isinstance(bodies, Sequence) else ():
                    if isinstance(body, dict) and {"revision", "step"} <= body.keys():
                        self._post(self._registrar.job_id(registration), body)
                if bodies is not None:
                    self._spool.store(registration.attempt_id, "activations", None)
        self._leftover_tries = 0

    def _answer_replay(self, job_id: str) -> None:
        replay = self._replay
        if replay is not None:
            recorded = self._fetch_activations(job_id)
            mine = [activated for activated in recorded if activated.lineage == replay.lineage]
            replay.answer = [activated for activated in mine if activated.step >= replay.from_step]
            self._replay = None
            replay.done.set()

    def _fetch_activations(self, job_id: str) -> list[Activated]:
        answer = self._client.get(f"/jobs/{job_id}/activations")
        recorded = read_activations(answer.body)
        for activated, version in recorded:
            self._note_version(activated.revision, version)
        return [activated for activated, _ in recorded]

    def _note_version(self, revision: str, version: int) -> None:
        if not revision.startswith("service:"):
            self._own_revisions[version] = revision

    def _fetch_mix(self, job_id: str) -> None:
        answer = self._client.get(f"/jobs/{job_id}/mix", etag=self._etag)
        if answer.status == 404:
            self._registrar.forget()
            raise ServiceError("forgotten", f"the control plane no longer knows this job ({answer.reason})")
        if answer.status != 304:
            mix = read_mix(answer.body)
            self.latest = self._proposal(job_id, mix) or self.latest
            self.seen_version = mix.version
            self._etag = answer.etag

    def _proposal(self, job_id: str, mix: MixVersion) -> Proposal | None:
        if mix.origin == "config" or mix.version <= (self.seen_version or 0):
            return None
        if mix.origin == "local" and mix.version not in self._own_revisions:
            self._fetch_activations(job_id)
        strange = sorted(name for name, ppm in mix.weights_ppm.items() if ppm and name not in self._sources)
        if strange:
            what = f"mix version {mix.version} is ignored: it gives weight to {strange}"
            self._notices.warn("strange source", f"{what}, but this job's sources are {self._sources}")
            return None
        weights_ppm = {name: mix.weights_ppm.get(name, 0) for name in self._sources}
        revision = self._own_revisions.get(mix.version, f"service:{mix.version}")
        return Proposal(revision, weights_ppm, mix.from_step, mix.ramp_steps)

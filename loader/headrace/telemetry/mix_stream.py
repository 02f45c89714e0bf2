"""The leader's open line to the control plane: it says that there is a newer mix, which the feed then fetches."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from headrace.telemetry.client import ABORTED_S, NO_STREAM, SILENT, Client
from headrace.telemetry.event_stream import ServerEvent
from headrace.telemetry.failures import Backoff, Notices, ServiceError

SILENCE_S = 15.0
"a stream without a word for so long is dead, whatever the socket says: the control plane pings every 5 s"
_NO_STREAM_PAUSE_S = 300.0
_DISTRUST_S = 3.0
_SETTLED_S = 30.0
_LARGEST = 2**31 - 1
_OWN_KINDS = (SILENT, "not events", "not headrace", "busy")
"kinds of failures of the stream alone, as the job is registered; of all others the polls tell"


class MixStream:
    """One daemon thread that keeps a stream open and calls `on_version` with each number it hears, on that thread.

    Whatever answers can do no more than make the feed ask for the mix. A stream that ends is opened again after a
    second or so, after longer each time that it does not last; where there is none, in five minutes.
    """

    def __init__(
        self, client: Client, notices: Notices, on_version: Callable[[int], None], *, silence_s: float = SILENCE_S
    ) -> None:
        """`client` is this stream's alone."""
        self._client = client
        self._notices = notices
        self._on_version = on_version
        self._silence_s = silence_s
        self._job_id: str | None = None
        self._version = 0
        self._open = False
        self._behind_since: float | None = None
        self._closed = False
        self._wake = threading.Event()
        self._backoff = Backoff(first_s=1.0, most_s=60.0)
        self._random = random.Random()  # never the global one, which belongs to the training script
        self._thread = threading.Thread(target=self._run, name="headrace-stream", daemon=True)

    def follow(self, job_id: str) -> None:
        """Follow this job from now on; the first call starts the thread."""
        first, self._job_id = self._job_id is None, job_id
        if first:
            with suppress(RuntimeError):  # Python starts no threads at exit
                self._thread.start()
        else:
            self._wake.set()

    def is_trusted(self, seen_version: int | None) -> bool:
        """Whether an edit will be heard of here: the stream talks, and told of what polling found, if not just now."""
        if not self._open:
            return False
        if seen_version is None or seen_version <= self._version:
            self._behind_since = None
            return True
        if self._behind_since is None:
            self._behind_since = time.monotonic()
        return time.monotonic() - self._behind_since < _DISTRUST_S

    def close(self) -> None:
        """End the stream, at once and for good."""
        self._closed = True
        self._wake.set()
        self._client.abort()

    def join(self) -> None:
        """Wait for the thread, no longer than an abort takes."""
        if self._thread.is_alive():
            self._thread.join(ABORTED_S)

    def _run(self) -> None:
        while not self._closed:
            pause_s = self._listen()
            self._open = False
            self._wake.wait(pause_s * self._random.uniform(1.0, 1.5))
            self._wake.clear()
        self._client.close()

    def _listen(self) -> float:
        """Follow one stream to its end; seconds until the next."""
        begun = time.monotonic()
        self._version, self._behind_since = 0, None
        try:
            retry_s = self._client.listen(f"/jobs/{self._job_id}/mix/stream", self._hear, silence_s=self._silence_s)
            error = ServiceError("ended", "the stream ended", retry_s or 0.0)
        except ServiceError as failure:
            error = failure
        except Exception as failure:  # nothing may end this thread
            error = ServiceError("stream", f"{type(failure).__name__}: {failure}")
        if error.kind == NO_STREAM:
            return _NO_STREAM_PAUSE_S
        if error.kind in _OWN_KINDS:
            self._notices.warn("stream", f"no stream of edits to the mix: {error}; they are asked for each second")
        if time.monotonic() - begun >= _SETTLED_S:
            self._backoff.reset()
        return self._backoff.after(error)

    def _hear(self, event: ServerEvent) -> None:
        if event.name != "version":
            return
        version: object = None
        with suppress(ValueError, RecursionError, AttributeError):
            version = json.loads(event.data).get("version")
        if not isinstance(version, int) or isinstance(version, bool) or not 0 < version <= _LARGEST:
            raise ServiceError("not events", f"a version in the control plane's stream is {event.data[:80]!r}")
        self._version, self._open = version, True
        self._on_version(version)

"""One rank's telemetry: samples in by a list append, records out through the spool, the rest on daemon threads."""

from __future__ import annotations

import atexit
import json
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress

import psutil

from headrace.forks import num_forks
from headrace.telemetry.description import RankIdentity, Registration
from headrace.telemetry.drain import Drain
from headrace.telemetry.failures import Notices
from headrace.telemetry.interval import Interval
from headrace.telemetry.mix_feed import MixFeed
from headrace.telemetry.plain_text import plain_text
from headrace.telemetry.port import Activated, Proposal, StepSample
from headrace.telemetry.spool import Spool
from headrace.telemetry.spool_writer import SpoolWriter

_TICK_S = 0.25
_SEND_S = 1.5
_WRITE_S = 1.0
_AT_EXIT_SEND_S = 1.0
_MOST_SAMPLES = 4096
_MOST_REASON = 255

_Observation = StepSample | tuple[int, Mapping[str, tuple[float, int]]]


class Reporter:
    """Fulfils `Telemetry` for one rank, in the process that made it; in a forked child every call does nothing.

    Memory and disk are bounded: the oldest samples, then the oldest records, go first, and each report says how many
    went. A report is made each `report_every_s`, or as often as the service asks for.
    """

    def __init__(
        self,
        identity: RankIdentity,
        registration: Registration,
        spool: Spool,
        drain: Drain,
        feed: MixFeed | None,
        notices: Notices,
        *,
        report_every_s: float,
        most_records: int,
    ) -> None:
        """`feed` is the leader's, and None on every other rank. `most_records` wait in memory for the disk at most."""
        self._most_records = most_records
        self._identity = identity
        self._registration = registration
        self._spool = spool
        self._writer = SpoolWriter(spool, registration, identity.rank)
        self._drain = drain
        self._feed = feed
        self._notices = notices
        self._report_every_s = report_every_s
        self._forks = num_forks()
        self._host = str(registration.attempt["hostname"])
        self._process = psutil.Process()
        self._observations: deque[_Observation] = deque(maxlen=_MOST_SAMPLES)
        self._records: deque[bytes] = deque()
        self._dropped = 0
        self._seq = 0
        self._interval = Interval(since=time.time())
        self._reported_at = time.monotonic()
        self._end: dict[str, str] | None = None
        self._closed = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headrace-report", daemon=True)

    def start(self, drain_delay_s: float) -> None:
        """Start the threads; sending begins after `drain_delay_s`, on the leader once this start is registered.

        An exit without `finish` keeps what is left.
        """
        atexit.register(self._finish, None, _AT_EXIT_SEND_S)
        self._thread.start()
        self._drain.start(drain_delay_s)
        if self._feed is not None:
            self._feed.start(on_registered=self._drain.hurry)

    def step_ended(self, sample: StepSample) -> None:
        """Keep one step's figures for the next report."""
        self._observe(sample)

    def observe(self, step: int, losses: Mapping[str, tuple[float, int]]) -> None:
        """Add (sum, count) of losses by source name to the next report; sums that are not finite are left out."""
        self._observe((step, losses))

    def latest_proposal(self) -> Proposal | None:
        """The newest weights the control plane wants; None while none are known, and on all ranks but the leader."""
        return self._feed.latest if self._feed is not None else None

    def activated(self, activation: Activated) -> None:
        """Tell the control plane at which step a revision takes effect; on ranks other than the leader, nothing."""
        if self._feed is not None and not self._is_over():
            self._feed.activated(activation)

    def replay_record(self, lineage: str, from_step: int, wait_s: float) -> list[Activated] | None:
        """The activations of `lineage` at or after `from_step`; None without an answer within `wait_s` seconds."""
        if self._feed is None or self._is_over():
            return None
        return self._feed.replay_record(lineage, from_step, wait_s)

    def finish(self, *, failed: str | None = None) -> None:
        """Keep what is left, try to send it for 1.5 s, end the threads; the leader also says how the attempt ended."""
        self._finish({"state": "finished"} if failed is None else {"state": "failed", "reason": failed}, _SEND_S)

    def _finish(self, end: dict[str, str] | None, send_s: float) -> None:
        if self._is_over():
            return
        self._closed = True
        atexit.unregister(self._finish)
        if end is not None and self._identity.leader:
            self._end = {key: plain_text(text, _MOST_REASON) for key, text in end.items()}
        deadline = time.monotonic() + send_s
        self._wake.set()
        self._thread.join(_WRITE_S)
        if self._feed is not None:
            self._feed.finish(deadline)
        self._drain.finish(deadline)
        if self._feed is not None:
            self._feed.join(deadline)
        self._drain.join(deadline)
        with suppress(OSError):
            self._spool.remove_if_done(self._registration.attempt_id)
            self._spool.close()

    def _is_over(self) -> bool:
        return self._closed or num_forks() != self._forks

    def _observe(self, observation: _Observation) -> None:
        if not self._is_over():
            if len(self._observations) == _MOST_SAMPLES:
                self._dropped += 1
            self._observations.append(observation)

    def _run(self) -> None:
        while not self._closed:
            self._wake.wait(_TICK_S)
            self._tick(last=False)
        self._tick(last=True)
        with suppress(OSError):
            if self._end is not None:
                self._spool.register(self._registration)
                self._spool.store(self._registration.attempt_id, "ended", self._end)
            self._writer.close()

    def _tick(self, *, last: bool) -> None:
        try:
            self._add_up()
            if last or time.monotonic() - self._reported_at >= (self._spool.pace_s() or self._report_every_s):
                self._report()
            self._write()
        except OSError as error:
            self._notices.warn(
                "spool",
                f"reports can't be written to {self._spool.path} ({error.strerror or error}); the newest"
                f" {self._most_records} stay in memory: free some space, or set HEADRACE_CACHE to a local directory",
            )
        except Exception as error:  # nothing may end this thread
            self._notices.warn("report", f"a report could not be made ({type(error).__name__}: {error})")

    def _add_up(self) -> None:
        while self._observations:
            observation = self._observations.popleft()
            if isinstance(observation, StepSample):
                self._interval.add(observation)
            else:
                step, losses = observation
                for name in self._interval.add_losses(losses):
                    self._notices.warn(
                        "loss", f"the loss of {name!r} at step {step} is not finite: left out of reports"
                    )

    def _report(self) -> None:
        """Turn the interval into a record; before the first step there is nothing to say."""
        interval, now = self._interval, time.monotonic()
        if interval.last is None:
            self._reported_at = now
            return
        record = {
            "rank": self._identity.rank,
            "seq": self._seq,
            "time": time.time(),
            "interval_s": now - self._reported_at,
            **interval.record(interval.last),
            "rss_bytes": self._process.memory_info().rss,
            "host": self._host,
            "local_rank": self._identity.local_rank,
            "dp_rank": self._identity.dp_rank,
            "dropped": self._dropped + self._writer.dropped + self._drain.lost,
            "mix_seen": self._feed.seen_version if self._feed is not None else None,
        }
        self._interval, self._reported_at, self._seq = interval.next(), now, self._seq + 1
        if not self._identity.counts_tokens:
            record["tokens"] = 0
        if len(self._records) == self._most_records:
            self._records.popleft()
            self._dropped += 1
        self._records.append(json.dumps(record, allow_nan=False, separators=(",", ":")).encode())

    def _write(self) -> None:
        while self._records:
            self._writer.append(self._records[0])
            self._records.popleft()

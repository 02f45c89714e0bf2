"""Agreed steps on their way to the control plane, in order, and in the spool until each is acknowledged."""

from __future__ import annotations

import time
from collections import deque

from headrace.telemetry.description import Registration
from headrace.telemetry.port import Activated
from headrace.telemetry.spool import Spool

_MOST_WAITING = 4096


class ActivationQueue:
    """`put` is for the training loop; everything else is for one other thread. Beyond 4,096 the oldest are dropped."""

    def __init__(self, spool: Spool, registration: Registration) -> None:
        self._spool = spool
        self._registration = registration
        self._incoming: deque[tuple[float, Activated]] = deque(maxlen=_MOST_WAITING)
        self._bodies: deque[dict[str, object]] = deque(maxlen=_MOST_WAITING)

    def __bool__(self) -> bool:
        """Whether any waits."""
        return bool(self._incoming or self._bodies)

    def put(self, activation: Activated) -> None:
        """Add one; a list append."""
        self._incoming.append((time.time(), activation))

    def save(self) -> None:
        """Write what came in to the spool. Raises OSError, and then all stays in memory."""
        if self._incoming:
            while self._incoming:
                self._bodies.append(self._body(*self._incoming.popleft()))
            self._store()

    def first(self) -> dict[str, object] | None:
        """The body of the oldest, as the contract has it."""
        return self._bodies[0] if self._bodies else None

    def drop_first(self) -> None:
        """Forget the oldest: it is settled. Raises OSError, and then the spool holds it still."""
        self._bodies.popleft()
        self._store()

    def _body(self, at: float, activation: Activated) -> dict[str, object]:
        return {
            "attempt": self._registration.attempt_id,
            "lineage": activation.lineage or self._registration.attempt["lineage"],
            "revision": activation.revision,
            "step": activation.step,
            "weights_ppm": dict(activation.weights_ppm),
            "ramp_steps": activation.ramp_steps,
            "at": at,
        }

    def _store(self) -> None:
        self._spool.register(self._registration)
        self._spool.store(self._registration.attempt_id, "activations", list(self._bodies))

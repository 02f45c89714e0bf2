"""What goes wrong between a rank and the control plane: one exception, when to try again, and one warning a kind."""

from __future__ import annotations

import logging
import random

from headrace.telemetry.plain_text import plain_text

logger = logging.getLogger("headrace.telemetry")

CLOSED = "closed"
"the kind of a failure that is no news: this side has stopped"


class ServiceError(Exception):
    """No usable answer from the control plane.

    `kind` groups failures that deserve one warning; `pause_s` is the least time to wait before the next try.
    """

    def __init__(self, kind: str, message: str, pause_s: float = 0.0) -> None:
        super().__init__(message)
        self.kind = kind
        self.pause_s = pause_s


class Backoff:
    """Waiting times between tries: doubling from `first_s` to `most_s`, each drawn from its upper half."""

    def __init__(self, *, first_s: float, most_s: float) -> None:
        self._first_s = first_s
        self._most_s = most_s
        self._failures = 0
        self._random = random.Random()  # never the global one, which belongs to the training script

    def after(self, error: ServiceError) -> float:
        """Seconds to wait after one more failure; at least what the service asked for."""
        wait_s = min(self._most_s, self._first_s * 2.0 ** min(self._failures, 30))
        self._failures += 1
        return max(error.pause_s, wait_s * self._random.uniform(0.5, 1.0))

    def reset(self) -> None:
        """Start again from the shortest wait."""
        self._failures = 0


class Notices:
    """Warnings to the log of the training job: each kind once, on one line, never with the secret in it."""

    def __init__(self, secret: str | None) -> None:
        self._secret = secret
        self._said: set[str] = set()

    def warn(self, kind: str, message: str) -> None:
        """Log `message` unless this kind was logged before."""
        if kind not in self._said:
            self._said.add(kind)
            if self._secret:
                message = message.replace(self._secret, "[token]")
            logger.warning("%s", plain_text(message, 600))

    def failure(self, error: ServiceError) -> None:
        """Log a failure to reach the control plane, once a kind."""
        if error.kind != CLOSED:
            self.warn(error.kind, f"{error}; training goes on, reports are kept and sent later")

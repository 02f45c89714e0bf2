"""Slowing down password guessing: failures are counted by (user, address) and by address, in memory."""

from collections import deque
from dataclasses import dataclass, field

from ..errors import TooManyRequestsError

# An address may fail this many times as often as one user from it.
_ADDRESS_FACTOR = 6
_MAX_TRACKED = 10_000


@dataclass
class LoginLimiter:
    """At most ``failures`` failed logins within ``window_s`` seconds, then a pause until the oldest is forgotten."""

    failures: int
    window_s: float
    _seen: dict[tuple[str, ...], deque[float]] = field(default_factory=dict)

    def check(self, username: str, address: str, now: float) -> None:
        """Raise TooManyRequestsError while the pause lasts."""
        for key, limit in self._limits(username, address):
            times = self._recent(key, now)
            if len(times) >= limit:
                wait_s = max(1, round(times[0] + self.window_s - now))
                raise TooManyRequestsError(f"too many failed logins; try again in {wait_s} s", retry_after_s=wait_s)

    def failed(self, username: str, address: str, now: float) -> None:
        """Count a failure."""
        for key, _ in self._limits(username, address):
            if len(self._seen) >= _MAX_TRACKED:
                self._seen.pop(next(iter(self._seen)))
            self._seen.setdefault(key, deque()).append(now)

    def succeeded(self, username: str, address: str) -> None:
        """Forget the user's failures from this address."""
        self._seen.pop((username, address), None)

    def _limits(self, username: str, address: str) -> tuple[tuple[tuple[str, ...], int], ...]:
        return ((username, address), self.failures), ((address,), self.failures * _ADDRESS_FACTOR)

    def _recent(self, key: tuple[str, ...], now: float) -> deque[float]:
        times = self._seen.get(key, deque())
        while times and times[0] <= now - self.window_s:
            times.popleft()
        if not times:
            self._seen.pop(key, None)
        return times

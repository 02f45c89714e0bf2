"""When an alert fires and when it resolves: hysteresis in value and in time. Pure.

What would change the state (a breach while quiet, an all-clear while firing) must be *seen* to hold: only time between
two looks at which it held is counted, and of a long gap between looks only ``MAX_CREDIT_S``, so that neither the
server's downtime nor a jump of its clock can fire or resolve anything. Between ``clear_at`` and ``threshold`` nothing
changes, and whatever had begun to hold begins anew.
"""

from dataclasses import dataclass
from typing import Literal

Change = Literal["fire", "resolve"]

# More than this between two looks counts as this much (seconds).
MAX_CREDIT_S = 30.0
# A gap between looks beyond this means that nobody was looking, or that the clock jumped (seconds).
MAX_GAP_S = 60.0
# Clocks of replicas may differ by this much (seconds).
_SKEW_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Breached beyond ``threshold`` for ``for_s``; cleared at ``clear_at`` or better for ``clear_for_s`` seconds.

    ``above`` says which side is bad; ``clear_at`` is never on the bad side of ``threshold``.
    """

    threshold: float
    clear_at: float
    for_s: float
    clear_for_s: float
    above: bool = True

    def breached(self, value: float) -> bool:
        """Whether the value is on the bad side of the threshold."""
        return value > self.threshold if self.above else value < self.threshold

    def cleared(self, value: float) -> bool:
        """Whether the value is good enough again."""
        return value <= self.clear_at if self.above else value >= self.clear_at


@dataclass(frozen=True)
class Past:
    """Whether the alert fires, and for how long what would change that has been seen to hold until ``seen_at``."""

    firing: bool = False
    held_s: float = 0.0
    seen_at: float | None = None


QUIET = Past()


def decide(limits: Limits, value: float | None, past: Past, now: float) -> tuple[Past, Change | None]:
    """The state after a look at ``now`` (Unix seconds), and what changed; an unknown value changes nothing."""
    holds = value is not None and (limits.cleared(value) if past.firing else limits.breached(value))
    if not holds:
        return Past(past.firing), None
    held_s = 0.0
    if past.seen_at is not None:
        held_s = past.held_s + min(max(0.0, now - past.seen_at), MAX_CREDIT_S)
    if held_s < (limits.clear_for_s if past.firing else limits.for_s):
        return Past(past.firing, held_s, now), None
    return Past(not past.firing), "resolve" if past.firing else "fire"


@dataclass(frozen=True)
class Clock:
    """When rules were last looked at, by any replica, and until when nothing is decided. Unix seconds."""

    looked_at: float
    suspended_until: float = 0.0


def is_due(clock: Clock | None, now: float, every_s: float) -> bool:
    """Whether it is time to look again; another replica may just have done so."""
    return clock is None or not -_SKEW_S <= now - clock.looked_at < every_s


def look(clock: Clock | None, now: float, grace_s: float) -> Clock:
    """The clock after a look: after a gap, or a jump of time, nothing is decided for ``grace_s``."""
    if clock is None:
        return Clock(now)
    if -_SKEW_S <= now - clock.looked_at <= MAX_GAP_S:
        # A clock set back while suspended must not suspend for ever.
        return Clock(now, min(clock.suspended_until, now + grace_s))
    return Clock(now, now + grace_s)

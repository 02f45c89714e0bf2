"""When to try again: later and later, never all at once, for a day. Pure."""

FIRST_S = 10.0
LONGEST_S = 3600.0
GIVE_UP_AFTER_S = 86_400.0


def next_try_at(
    tries: int, created_at: float, now: float, jitter: float, retry_after_s: float | None = None
) -> float | None:
    """When to try again after ``tries`` failures (Unix seconds); None: give up.

    Waits double from 10 s to an hour; ``jitter``, in [0, 1), takes up to half of one off. A receiver that says when to
    come back is waited for, an hour at most.
    """
    if now - created_at >= GIVE_UP_AFTER_S:
        return None
    wait_s = min(LONGEST_S, FIRST_S * 2.0 ** min(tries - 1, 20)) * (1 - jitter / 2)
    if retry_after_s is not None:
        wait_s = max(wait_s, min(retry_after_s, LONGEST_S))
    return min(now + wait_s, created_at + GIVE_UP_AFTER_S)

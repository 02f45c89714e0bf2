"""Closing what is still open when the interpreter ends."""

from __future__ import annotations

import atexit
import sys
import weakref
from collections.abc import Callable
from typing import Protocol


class Closable(Protocol):
    """What can be told that it ended, and why."""

    def close(self, *, failed: str | None = None) -> None:
        """End it; `failed` says why the run failed, None that it ended well."""


def reason_of(error: BaseException) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {error}"


def close_at_exit(target: Closable) -> Callable[[], None]:
    """Close `target` when the interpreter ends, if it is still there, a crash as one; returns what `atexit` holds."""
    reference = weakref.ref(target)

    def close() -> None:
        still_open = reference()
        if still_open is not None:
            crash = getattr(sys, "last_value", None)
            still_open.close(failed=None if crash is None else reason_of(crash))

    atexit.register(close)
    return close

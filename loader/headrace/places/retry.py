"""Trying again what a network or a busy store refused for a moment, and nothing else."""

from __future__ import annotations

import errno
import random
import re
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from headrace.places.file import ChangedError

T = TypeVar("T")

FIRST_WAIT_S: Final = 0.1
LONGEST_WAIT_S: Final = 4.0
LIMIT_S: Final = 40.0
"""Seconds after the first try from which on no other begins."""

_REFUSALS: Final = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY|INVALID_CLIENT_TOKEN|SIGNATURE|EXPIRED_TOKEN|UNRECOGNIZED_CLIENT|NO_SUCH_|"
    r"INVALID_RANGE|PERMISSION_DENIED|UNAUTHENTICATED|Could not create credentials|\b40[134] |AuthenticationFailed"
)
_STATUS: Final = re.compile(r"HTTP status (\d{3})")
_PASSING: Final = (408, 425, 429)
_random = random.Random()  # its own, so that the training script's numbers stay as they are


def is_passing(error: OSError) -> bool:
    """Whether trying again may help: not where the store answered that it is gone, changed or not allowed."""
    if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError | NotADirectoryError | ChangedError):
        return False
    text = str(error)
    status = _STATUS.search(text)
    if status is not None:
        return int(status[1]) >= 500 or int(status[1]) in _PASSING
    return _REFUSALS.search(text) is None


def retried(work: Callable[[int], T], stop: threading.Event) -> T:
    """What `work(tries so far)` returns, tried again with growing waits, for `LIMIT_S`, while its OSErrors are passing.

    `stop` ends the waiting, and nothing is begun after it. Raises the last error, saying how often it was tried.
    """
    began, tries = time.monotonic(), 0
    while True:
        if stop.is_set():
            raise InterruptedError(errno.EINTR, "the loader is being closed")
        try:
            return work(tries)
        except OSError as error:
            tries += 1
            wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (tries - 1)) * _random.uniform(0.75, 1.25)
            spent_s = time.monotonic() - began
            if not is_passing(error):
                raise
            if spent_s + wait_s > LIMIT_S or stop.wait(wait_s):
                raise OSError(
                    error.errno or errno.EIO, f"{error.strerror or error} (tried {tries} times in {spent_s:.0f} s)"
                ) from error

"""How many batches a process works on at once; the rest is told when to come back, so that nobody waits for ever."""

import time
from collections.abc import AsyncIterator
from typing import Any

from fastapi import Depends, Request

from ..errors import TooManyRequestsError
from ..work import runtime_of

RETRY_AFTER_S = 2


async def _admitted(request: Request) -> AsyncIterator[None]:
    runtime = runtime_of(request)
    if runtime.num_batches >= runtime.settings.max_batches_at_once:
        runtime.load.num_refused += 1
        raise TooManyRequestsError(
            f"{runtime.num_batches} batches are being stored already; send this one again in {RETRY_AFTER_S} s",
            retry_after_s=RETRY_AFTER_S,
        )
    runtime.num_batches += 1
    began = time.perf_counter()
    try:
        yield
    finally:
        runtime.num_batches -= 1
        runtime.load.num_batches += 1
        runtime.load.busy_s += time.perf_counter() - began


def admitted() -> Any:
    """A dependency, before any that opens the database: one of the batches in work. Raises TooManyRequestsError."""
    return Depends(_admitted, scope="function")

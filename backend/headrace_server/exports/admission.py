"""How many files a process makes at once; whoever comes beyond is told when to come back."""

from collections.abc import AsyncIterator
from typing import Any

from fastapi import Depends, Request

from ..errors import TooManyRequestsError
from ..work import runtime_of

RETRY_AFTER_S = 5


async def _admitted(request: Request) -> AsyncIterator[None]:
    runtime = runtime_of(request)
    if runtime.num_exports >= runtime.settings.max_exports_at_once:
        raise TooManyRequestsError(
            f"{runtime.num_exports} exports are under way already; come back in {RETRY_AFTER_S} s",
            retry_after_s=RETRY_AFTER_S,
        )
    runtime.num_exports += 1
    try:
        yield
    finally:
        runtime.num_exports -= 1


def admitted() -> Any:
    """A dependency: one of the exports under way, until its last byte is sent. Raises TooManyRequestsError."""
    return Depends(_admitted, scope="request")

"""Taking a key in the transaction of the request, and keeping its reply in the same one.

Whatever happens, the effect and the kept reply are there together or not at all. A twin that comes meanwhile waits for
the first to end: it then gets the same reply, or is carried out if the first failed. Errors are not kept.
"""

import hashlib
import re
from dataclasses import dataclass

from fastapi import Request, Response
from sqlalchemy.ext.asyncio import AsyncSession

from ..errors import ConflictError, IdempotencyKeyReusedError, InvalidError
from ..models import IdempotencyKey
from . import repository

HEADER = "Idempotency-Key"
KEEP_S = 24 * 3600.0
_KEY = re.compile(r"^[!-~]{1,255}$")
_KEPT_HEADERS = ("content-type", "etag")


class RepeatedRequest(Exception):  # noqa: N818
    """Not an error: the request was carried out before, and ``response`` is its reply."""

    def __init__(self, row: IdempotencyKey) -> None:
        super().__init__(row.key)
        headers = {**(row.headers or {}), "idempotency-replayed": "true"}
        self.response = Response(row.body or b"", row.status or 200, headers)


@dataclass
class Repeatable:
    """A request under a key; ``digest`` is what makes it the same request. The rest is known once it is claimed."""

    key: str
    digest: bytes
    session: AsyncSession | None = None
    caller: str = ""


async def repeatable(request: Request) -> Repeatable | None:
    """The request's key and digest; None without a key. Raises InvalidError for a key that can't be one."""
    key = request.headers.get(HEADER)
    if key is None:
        return None
    if not _KEY.match(key):
        raise InvalidError(
            f"{HEADER} is {key[:80]!r}; use 1 to 255 printable characters without spaces, such as a UUID",
            errors=[{"loc": ["header", HEADER], "msg": "1 to 255 printable characters", "value": key[:80]}],
        )
    parts = (request.method, request.url.path, request.url.query, request.headers.get("if-match", ""))
    return Repeatable(key, hashlib.sha256("\0".join(parts).encode() + b"\0" + await request.body()).digest())


async def claim(session: AsyncSession, caller: str, given: Repeatable, now: float) -> None:
    """Take the key for the caller. Raises RepeatedRequest, or IdempotencyKeyReusedError for another request."""
    await repository.drop(session, before=now - KEEP_S, caller=caller, key=given.key)
    if await repository.claim(session, caller=caller, key=given.key, digest=given.digest, now=now):
        given.session, given.caller = session, caller
        return
    row = await repository.find(session, caller, given.key)
    if row is None:  # forgotten just now
        raise ConflictError("the key is being used by another request", headers={"Retry-After": "1"})
    if row.digest != given.digest:
        raise IdempotencyKeyReusedError(
            f"{HEADER} {given.key[:80]!r} was used for another request within {KEEP_S / 3600:.0f} h; every request "
            "needs a key of its own, and a repeated one must be the same to the byte"
        )
    raise RepeatedRequest(row)


async def keep(given: Repeatable, response: Response) -> None:
    """Keep the reply under the key, to be committed with what the request did."""
    if given.session is not None:
        headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
        await repository.keep(
            given.session,
            given.caller,
            given.key,
            status=response.status_code,
            headers=headers,
            body=bytes(response.body),
        )


async def forget(session: AsyncSession, now: float) -> None:
    """Forget replies that are older than they are kept."""
    await repository.drop(session, before=now - KEEP_S)

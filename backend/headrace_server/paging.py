"""Cursors: opaque to clients; to us a row id, or a time and a UUID where rows have no id that counts up."""

import base64
import binascii
import math
from uuid import UUID

from .errors import InvalidError


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str) -> str:
    try:
        return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except (binascii.Error, ValueError) as error:
        raise _refused(cursor) from error


def _refused(cursor: str) -> InvalidError:
    return InvalidError(f"cursor {cursor[:80]!r} was not made by this server; use next_cursor of the page before")


def encode_cursor(row_id: int) -> str:
    """The cursor that continues after ``row_id``."""
    return _encode(f"id:{row_id}")


def decode_cursor(cursor: str | None) -> int | None:
    """The row id in a cursor; None for none. Raises InvalidError for one this server never made."""
    if cursor is None:
        return None
    mark, _, number = _decode(cursor).partition(":")
    if mark == "id" and number.isdecimal() and len(number) < 19:
        return int(number)
    raise _refused(cursor)


def encode_moment(at: float, uuid: UUID) -> str:
    """The cursor that continues after what was made at a time (Unix seconds) under a UUID."""
    return _encode(f"{at.hex()},{uuid}")


def decode_moment(cursor: str | None) -> tuple[float, UUID] | None:
    """The time and the UUID in a cursor; None for none. Raises InvalidError for one this server never made."""
    if cursor is None:
        return None
    time, _, uuid = _decode(cursor).partition(",")
    try:
        at, found = float.fromhex(time), UUID(uuid)
    except (ValueError, OverflowError) as error:
        raise _refused(cursor) from error
    if not math.isfinite(at):
        raise _refused(cursor)
    return at, found

"""Cursors: opaque to clients, a row id to us."""

import base64
import binascii

from .errors import InvalidError


def encode_cursor(row_id: int) -> str:
    """The cursor that continues after ``row_id``."""
    return base64.urlsafe_b64encode(f"id:{row_id}".encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None) -> int | None:
    """The row id in a cursor; None for none. Raises InvalidError for one this server never made."""
    if cursor is None:
        return None
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        mark, _, number = text.partition(":")
        if mark == "id" and number.isdecimal() and len(number) < 19:
            return int(number)
    except (binascii.Error, ValueError):
        pass
    raise InvalidError(f"cursor {cursor[:80]!r} was not made by this server; use next_cursor of the page before")

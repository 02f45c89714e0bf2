"""Rows as CSV: UTF-8, RFC 4180, one line of names. A null is an empty cell, a time is ISO 8601 in UTC.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-`` or ``@`` as a formula, also behind blanks. Text that
does, which may be a name that somebody chose, gets an apostrophe in front, and so does text that begins with an
apostrophe: taking one off gives the text back. Numbers stay numbers.
"""

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from .datasets import Column
from .schemas import Cell, Row

# The full-width forms are formulas in some locales; a leading tab or line break hides what follows it.
_DANGEROUS = "=+-@＝＋－＠'"
_BLANK = " \t\r\n\v\f\u00a0\u3000\ufeff"


def neutral(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    bare = text.lstrip(_BLANK)
    return f"'{text}" if (bare[:1] and bare[0] in _DANGEROUS) or text[:1] in ("\t", "\r", "\n") else text


def moment(seconds: float) -> str:
    """Unix seconds as ISO 8601 in UTC, to the microsecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class CsvEncoder:
    """Turns rows into CSV, a chunk at a time."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns

    def begin(self) -> bytes:
        """The line of names."""
        return self._encode([[column.name for column in self._columns]])

    def add(self, rows: Sequence[Row]) -> bytes:
        """Some rows."""
        kinds = [column.kind for column in self._columns]
        return self._encode([[_shown(kind, value) for kind, value in zip(kinds, row, strict=True)] for row in rows])

    def end(self) -> bytes:
        """Nothing: a CSV file has no end of its own."""
        return b""

    @staticmethod
    def _encode(rows: Sequence[Sequence[Any]]) -> bytes:
        text = io.StringIO(newline="")
        csv.writer(text).writerows(rows)
        return text.getvalue().encode("utf-8", "replace")


def _shown(kind: str, value: Cell) -> Cell:
    if value is None:
        return ""
    if kind == "time" and isinstance(value, float):
        return moment(value)
    return neutral(value) if isinstance(value, str) else value

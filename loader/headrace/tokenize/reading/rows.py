"""What a row can be: text, nothing, or bad."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bad:
    """A row that can't be tokenised, and why, as in `is not JSON (…)`."""

    why: str


Row = str | None | Bad


@dataclass(frozen=True, slots=True)
class Wanted:
    """The column or key that holds the text, and the most bytes a row may have."""

    column: str
    max_bytes: int


class BadFileError(Exception):
    """A file whose rows from `row` on can't be read; `why` reads on from its name, as in `is cut`."""

    def __init__(self, why: str, row: int) -> None:
        super().__init__(why)
        self.why = why
        self.row = row


def decoded(content: bytes, max_bytes: int) -> Row:
    """The text of UTF-8 bytes, or what is wrong with them."""
    if len(content) > max_bytes:
        return too_long(len(content), max_bytes)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        return Bad(f"is not UTF-8: byte {content[error.start]:#04x} at {error.start}")


def too_long(size: int, max_bytes: int) -> Bad:
    """What is wrong with a row of `size` bytes."""
    return Bad(f"has {size:,} bytes, over the {max_bytes:,} of --max-document")

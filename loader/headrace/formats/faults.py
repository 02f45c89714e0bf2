"""What can be wrong with a shard, without its name, and the one place that adds the name.

Readers raise these where the fault is found, worded to follow the file's name ("holds no schema message"); `naming`
turns them into the errors users see.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headrace.errors import ShardError, SourceError
from headrace.places import ChangedError


class CorruptError(Exception):
    """Bytes that are not what the format, or the shard's counts, say."""

    remedy = "replace the file with a whole copy or write it again"


class BadRowError(CorruptError):
    """A row that can't be a document; `row` counts from the first row that was asked for."""

    remedy = "drop or repair the row and write the shard again"

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row


class ColumnError(Exception):
    """A column that is missing, or whose type holds no tokens."""


@contextmanager
def naming(path: object, block: int | None = None, row: int = 0) -> Iterator[None]:
    """Turns a fault inside into an error that names the file, and the block (from `row` on) where known."""
    place = "" if block is None else f"block {block} (from row {row}) of "
    try:
        yield
    except ColumnError as error:
        raise SourceError(f"{path} {error}") from error
    except CorruptError as error:
        if isinstance(error, BadRowError):
            place = f"row {row + error.row} of "
        raise ShardError(f"{place}{path} {error}; {error.remedy}") from error
    except ChangedError as error:
        raise ShardError(
            f"{place}{path} {error}; shards must not change during a run: start again once they are whole"
        ) from error
    except OSError as error:
        raise ShardError(f"{place}{path} can't be read: {error.strerror or error}") from error


def check_counts(documents: int, tokens: int, expected_documents: int, expected_tokens: int) -> None:
    """Raises CorruptError when an opened block does not hold what the shard's table promised."""
    if (documents, tokens) != (expected_documents, expected_tokens):
        raise CorruptError(
            f"holds {documents} documents of {tokens} tokens where its counts say {expected_documents} documents of "
            f"{expected_tokens} tokens"
        )

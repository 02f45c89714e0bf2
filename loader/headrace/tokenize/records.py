"""What is written down of each shard when it is whole: its counts, what was bad, and where its unit goes on.

A record is the point from which a shard counts as made. It is written behind the shard, so whatever a kill leaves is
either a shard with its record or nothing that is looked at again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from headrace.tokenize.folder import STATE

RECORDS: Final = f"{STATE}/records"
STAGED: Final = f"{STATE}/staged"
MAX_REPORTS: Final = 100
"of each record; `Counts` has all of them"


@dataclass(slots=True)
class Counts:
    """Rows of input and what became of them; `text_bytes` is as UTF-8, `bad_files` those not read to the end."""

    rows: int = 0
    documents: int = 0
    tokens: int = 0
    text_bytes: int = 0
    empty: int = 0
    null: int = 0
    bad: int = 0
    bad_files: int = 0

    def add(self, other: Counts) -> None:
        """Adds another's."""
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)

    def record(self) -> dict[str, int]:
        """As JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Report:
    """Something bad: the input's full name, its row from 0 (of a file: the first that could not be read), and why."""

    input: str
    row: int
    why: str
    is_file: bool = False

    def __str__(self) -> str:
        what = "read up to row" if self.is_file else "row"
        return f"{self.input}, {what} {self.row} (line {self.row + 1}): it {self.why}"


@dataclass(frozen=True, slots=True)
class Position:
    """Where a unit goes on: its part, and rows of that part that are done."""

    part: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True)
class ShardRecord:
    """See the module. `path` is None where no document was left for a shard; `next` is None behind a unit's last."""

    number: int
    path: str | None
    size_bytes: int
    sha256: str
    counts: Counts
    next: Position | None
    reports: tuple[Report, ...] = ()
    library: str = field(default="")
    "what made the ids, with its version"

    def encode(self) -> bytes:
        """The content of its file."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, content: bytes) -> ShardRecord:
        """What `encode` returned."""
        record: dict[str, Any] = json.loads(content)
        record["counts"] = Counts(**record["counts"])
        record["next"] = None if record["next"] is None else Position(**record["next"])
        record["reports"] = tuple(Report(**report) for report in record["reports"])
        return cls(**record)


def record_name(unit: str, number: int) -> str:
    """The name of a record in the folder."""
    return f"{RECORDS}/{unit}-{number:04}.json"


def staged_name(unit: str, number: int) -> str:
    """What a shard is called until those before it are there."""
    return f"{STAGED}/{unit}-{number:04}.arrow"

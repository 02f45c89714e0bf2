"""Work units: runs of input that are tokenised by themselves, so that any number of workers writes the same shards.

A plan is a pure function of the inputs and the options. It is written down before anything is tokenised; inputs that
come later make further units behind it and change none that is begun.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from headrace.tokenize.inputs import COLUMNS, COMPRESSED, LINES, Input

INPUT_BYTES: Final = {1: 3.0, 2: 1.5, 4: 0.75}
"""Bytes of text for each byte of a shard, by the width of an id: 3 and more bytes of text make one id."""

DENSE: Final = 3
"what a byte of a compressed file counts for, as text"


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or a part of one: lines that begin in bytes [start, end), or row groups [start, end); all where `end` is
    None. `first_row` is the number of its first row in the file."""

    root: str
    path: str
    size_bytes: int
    mtime_ns: int | None
    start: int = 0
    end: int | None = None
    first_row: int = 0

    def input(self, source: str) -> Input:
        """The whole file."""
        return Input(source, self.root, self.path, self.size_bytes, self.mtime_ns)


@dataclass(frozen=True, slots=True)
class Unit:
    """What one worker does at a time, and whose shards follow each other: the `number`-th of its source, from 0."""

    source: str
    number: int
    parts: tuple[Part, ...]

    @property
    def name(self) -> str:
        """`000012`, or `web-000012`; unique in a folder."""
        return f"{self.source}-{self.number:06}" if self.source else f"{self.number:06}"

    @property
    def size_bytes(self) -> int:
        """Bytes of input, as stored."""
        total = 0
        for part in self.parts:
            whole = part.end is None or part.path.lower().endswith(COLUMNS)
            total += part.size_bytes if whole else (part.end or 0) - part.start
        return total

    def shard(self, number: int) -> str:
        """The path of its `number`-th shard in the folder."""
        name = f"{self.number:06}-{number:04}.arrow"
        return f"{self.source}/{name}" if self.source else name

    def record(self) -> dict[str, Any]:
        """The unit as JSON."""
        return asdict(self)

    @classmethod
    def of(cls, record: dict[str, Any]) -> Unit:
        """The unit that `record` made."""
        return cls(record["source"], record["number"], tuple(Part(**part) for part in record["parts"]))


SHARD_NAME: Final = re.compile(r"[0-9]{6}-[0-9]{4}\.arrow")
"what `Unit.shard` calls a shard within its folder"

Cutter = Callable[[Input, int], Sequence[Part]]
"""Parts of a large file, each of about so many bytes; one part where it can't be divided."""


def unit_bytes(shard_bytes: int, id_bytes: int) -> int:
    """Bytes of text in a unit: what makes about one shard."""
    return max(1, int(shard_bytes * INPUT_BYTES[id_bytes]))


def plan_units(inputs: Iterable[Input], first_numbers: dict[str, int], target_bytes: int, cut: Cutter) -> list[Unit]:
    """Units over inputs that are sorted by source; numbering of each source begins at its first number.

    A unit takes in parts until they are `target_bytes` of text; a part of that size and more is one by itself.
    """
    units: list[Unit] = []
    numbers = dict(first_numbers)
    gathered: list[Part] = []
    weight, source = 0, ""

    def close() -> None:
        nonlocal weight
        if gathered:
            units.append(Unit(source, numbers.setdefault(source, 0), tuple(gathered)))
            numbers[source] += 1
        gathered.clear()
        weight = 0

    for item in inputs:
        if item.source != source:
            close()
            source = item.source
        whole = text_bytes(item)
        parts = cut(item, target_bytes) if whole > target_bytes else [whole_part(item)]
        for part in parts:
            own = whole // len(parts)
            if gathered and weight + own > target_bytes:
                close()
            gathered.append(part)
            weight += own
    close()
    return units


def amend(units: Sequence[Unit], item: Input) -> list[Unit]:
    """Units of an input that was changed, none of which is begun: the first takes all of it as it is now."""
    amended = []
    for number, unit in enumerate(units):
        parts = [part for part in unit.parts if part.input("").name != item.name]
        if number == 0:
            place = [part.input("").name for part in unit.parts].index(item.name)
            parts.insert(place, whole_part(item))
        amended.append(replace(unit, parts=tuple(parts)))
    return amended


def whole_part(item: Input) -> Part:
    """All of a file."""
    return Part(item.root, item.path, item.size_bytes, item.mtime_ns)


def text_bytes(item: Input) -> int:
    """About how much text a file holds."""
    dense = item.path.lower().endswith((*COMPRESSED, *COLUMNS))
    return item.size_bytes * DENSE if dense else item.size_bytes


def is_lines(path: str) -> bool:
    """Whether a file is JSON lines, uncompressed, by its name."""
    return path.lower().endswith(LINES)

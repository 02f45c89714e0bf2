"""Where the text of each row of a shard is: runs of rows that follow each other in one input, in the shard's metadata.

    headrace.lineage   JSON: {"inputs": [name, …], "runs": [[input, row of the input, number of rows], …]}

The runs cover the rows of the shard in order. Rows without a document have an origin too.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final, NamedTuple

from headrace.formats.faults import CorruptError, naming
from headrace.formats.ipc.messages import FILE_MAGIC, footer_bytes, parse_footer
from headrace.formats.magic import TAIL_BYTES
from headrace.places import Place

LINEAGE_KEY: Final = "headrace.lineage"


class Origin(NamedTuple):
    """The text of a document: the input's full name, and its row, from 0; of JSON lines row 0 is line 1."""

    input: str
    row: int


@dataclass(frozen=True)
class Lineage:
    """The origin of every row of a shard; a run is (number of the input, its first row, number of rows)."""

    inputs: tuple[str, ...]
    runs: tuple[tuple[int, int, int], ...]

    def origin(self, row: int) -> Origin | None:
        """The origin of a row of the shard, from 0; None where it has no such row."""
        number = bisect_right(self._ends, row)
        if row < 0 or number == len(self.runs):
            return None
        source, first, count = self.runs[number]
        return Origin(self.inputs[source], first + row - (self._ends[number] - count))

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(count for _, _, count in self.runs))

    def encode(self) -> str:
        """The text for the metadata."""
        return json.dumps({"inputs": self.inputs, "runs": self.runs}, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def decode(cls, text: str) -> Lineage:
        """What `encode` returned; raises ValueError for anything else."""
        record = json.loads(text)
        try:
            runs = tuple((int(source), int(first), int(count)) for source, first, count in record["runs"])
            lineage = cls(tuple(map(str, record["inputs"])), runs)
        except (KeyError, TypeError) as error:
            raise ValueError(f"no lineage: {text[:60]!r}") from error
        if any(not 0 <= source < len(lineage.inputs) for source, _, _ in runs):
            raise ValueError(f"a run of an input that is not among the {len(lineage.inputs)}")
        return lineage


def joined(runs: list[tuple[int, int, int]], more: Sequence[tuple[int, int, int]]) -> None:
    """Appends runs to `runs`, one that goes on where the last one ends to that."""
    for source, first, count in more:
        if runs and runs[-1][0] == source and runs[-1][1] + runs[-1][2] == first:
            runs[-1] = (source, runs[-1][1], runs[-1][2] + count)
        else:
            runs.append((source, first, count))


def read_lineage(place: Place) -> Lineage | None:
    """The lineage that the shard at `place` carries; None for shards that others made.

    Reads its footer. Raises ShardError, naming it, where it can't be read or its lineage is damaged.
    """
    with naming(place):
        file = place.open()
        size = min(TAIL_BYTES, file.size_bytes)
        tail = file.read(file.size_bytes - size, size).tobytes()
        if not tail.endswith(FILE_MAGIC):
            return None
        size = footer_bytes(tail, file.size_bytes)
        if size > len(tail):
            tail = file.read(file.size_bytes - size, size).tobytes()
        text = parse_footer(tail[-size:]).schema.metadata.get(LINEAGE_KEY)
        try:
            return None if text is None else Lineage.decode(text)
        except ValueError as error:
            raise CorruptError(f"has a lineage that can't be read ({error})") from error

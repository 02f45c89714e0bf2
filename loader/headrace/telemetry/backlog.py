"""The records of one attempt that the control plane has not acknowledged yet, in batches."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace

from headrace.telemetry.spool import Segment, Spool


@dataclass(frozen=True, slots=True)
class Entry:
    """One record and where it ends in its segment."""

    line: bytes
    "a JSON object, without a newline"
    segment: Segment
    end: int


class Backlog:
    """Reads an attempt's segments from where they were acknowledged to; deletes those that are acknowledged in full.

    The position lives in memory: after a crash, records that were acknowledged but not deleted are read once more.
    """

    def __init__(self, spool: Spool, attempt: str) -> None:
        self._spool = spool
        self._attempt = attempt
        self._acknowledged: dict[tuple[str, int, int], int] = {}

    def batch(self, most_records: int, most_bytes: int) -> list[Entry]:
        """The oldest records that are not acknowledged, each rank's in order; the same again until `acknowledge`."""
        segments = self._spool.segments(self._attempt)
        self._acknowledged = {s.key: self._acknowledged[s.key] for s in segments if s.key in self._acknowledged}
        entries: list[Entry] = []
        room = most_bytes
        for segment in segments:
            found, to_the_end = self._read(segment, most_records - len(entries), room, most_bytes)
            entries += found
            room -= sum(len(entry.line) + 1 for entry in found)
            if len(entries) >= most_records or not to_the_end or room <= 0:
                break
        return entries

    def acknowledge(self, entries: Iterable[Entry]) -> None:
        """Never return these again."""
        for entry in entries:
            self._acknowledged[entry.segment.key] = entry.end

    def _read(self, segment: Segment, most_records: int, room: int, most_bytes: int) -> tuple[list[Entry], bool]:
        """Whole records of one segment, and whether it was read to its end.

        What is no record (a line torn by a crash, say) counts to the one before it.
        """
        start = self._acknowledged.get(segment.key, 0)
        try:
            with segment.path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(start)
                content = file.read(room)
        except FileNotFoundError:
            return [], True
        *lines, tail = content.split(b"\n")
        complete = segment.sealed and start + len(content) >= size
        if tail and (complete or (not lines and len(content) >= most_bytes)):
            lines.append(tail)
        entries: list[Entry] = []
        end = start
        for line in lines:
            end = min(end + len(line) + 1, start + len(content))
            if _is_record(line):
                if len(entries) >= most_records:
                    break
                entries.append(Entry(line, segment, end))
            elif entries:
                entries[-1] = replace(entries[-1], end=end)
            else:
                self._acknowledged[segment.key] = end
        if segment.sealed and not entries and self._acknowledged.get(segment.key, 0) >= size:
            segment.path.unlink(missing_ok=True)
        return entries, start + len(content) >= size


def _is_record(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False

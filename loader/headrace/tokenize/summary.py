"""What a run did, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.tokenize.records import Counts, Report

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Summary:
    """The folder after a run: counts of all its shards by source, and what this run added in how many seconds.

    `sources` and `shards` are by name, the empty one where inputs have no names.
    """

    folder: str
    sources: Mapping[str, Counts]
    shards: Mapping[str, int]
    reports: Sequence[Report]
    ignored: Sequence[tuple[str, str]]
    remade: Sequence[str]
    new_inputs: int
    new_shards: int
    new_tokens: int
    seconds: float

    @property
    def total(self) -> Counts:
        """All sources together."""
        total = Counts()
        for counts in self.sources.values():
            total.add(counts)
        return total

    def record(self) -> dict[str, Any]:
        """As JSON."""
        rate = self.new_tokens / self.seconds if self.seconds > 0 else 0.0
        return {
            "folder": self.folder,
            "sources": {name: {"shards": self.shards[name], **self.sources[name].record()} for name in self.sources},
            "total": {"shards": sum(self.shards.values()), **self.total.record()},
            "bad": [
                {"input": r.input, "row": r.row, "line": r.row + 1, "why": r.why, "file": r.is_file}
                for r in self.reports
            ],
            "ignored": [{"input": name, "why": why} for name, why in self.ignored],
            "remade": list(self.remade),
            "new_inputs": self.new_inputs,
            "new_shards": self.new_shards,
            "new_tokens": self.new_tokens,
            "seconds": round(self.seconds, 3),
            "tokens_per_s": round(rate, 1),
        }

    def text(self) -> str:
        """As a table with what there is to say about it."""
        lines = [f"{'source':<16}{'shards':>8}{'documents':>13}{'tokens':>17}{'bytes/token':>13}{'left out':>10}"]
        lines += [_line(name or "(all)", self.shards[name], counts) for name, counts in self.sources.items()]
        if len(self.sources) > 1:
            lines.append(_line("total", sum(self.shards.values()), self.total))
        lines += [f"left out: {what}" for what in [_left_out(self.total)] if what]
        lines += [f"  {report}" for report in self.reports[:_SHOWN]]
        if len(self.reports) > _SHOWN:
            lines.append(f"  … {len(self.reports) - _SHOWN} more in {self.folder}/manifest.json")
        if self.ignored:
            lines.append(f"ignored: {len(self.ignored)} files, such as {self.ignored[0][0]} ({self.ignored[0][1]})")
        lines += [f"made again, since it was gone or changed: {path}" for path in self.remade]
        lines.append(self._end())
        return "\n".join(lines)

    def _end(self) -> str:
        if not self.new_shards and self.new_inputs:
            return f"{self.folder}: no new shard: the {self.new_inputs:,} new inputs gave no document"
        if not self.new_shards:
            return f"{self.folder}: nothing was left to do"
        rate = self.new_tokens / self.seconds / 1e6
        return (
            f"{self.folder}: {self.new_shards:,} new shards with {self.new_tokens:,} tokens in {self.seconds:.1f} s, "
            f"{rate:.2f} M tokens/s"
        )


def _line(name: str, shards: int, counts: Counts) -> str:
    ratio = f"{counts.text_bytes / counts.tokens:.2f}" if counts.tokens else "–"
    left_out = counts.rows - counts.documents
    return f"{name[:15]:<16}{shards:>8,}{counts.documents:>13,}{counts.tokens:>17,}{ratio:>13}{left_out:>10,}"


def _left_out(counts: Counts) -> str:
    found = {
        "empty rows": counts.empty,
        "null rows": counts.null,
        "bad rows": counts.bad,
        "files not read to the end": counts.bad_files,
    }
    return ", ".join(f"{number:,} {what}" for what, number in found.items() if number)

"""What one rank did between two reports, as the record that the control plane keeps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headrace.telemetry.plain_text import plain_text
from headrace.telemetry.port import MaskedPlace, StepSample


@dataclass(slots=True)
class _SourceTotals:
    sequences: int = 0
    tokens: int = 0
    loss_sum: float = 0.0
    loss_count: int = 0


@dataclass(slots=True)
class Interval:
    """Adds up steps and losses; `record` says what they came to, and `next` starts the following interval."""

    last: StepSample | None = None
    "the last step of this interval, or of an earlier one when none ended in it"
    since: float = 0.0
    "Unix seconds at which the waiting began to count: the end of the last step before this interval"
    masked_tokens: int = 0
    "since the rank started, not only in this interval"
    masked_at: MaskedPlace | None = None
    "the last of them"
    steps: int = 0
    _tokens: int = 0
    _bytes_read: int = 0
    _waits_s: list[float] = field(default_factory=list)
    _sources: dict[str, _SourceTotals] = field(default_factory=dict)

    def add(self, sample: StepSample) -> None:
        """Count one more step."""
        self.last = sample
        self.steps += 1
        self._tokens += sample.tokens
        self._bytes_read += sample.bytes_read
        self.masked_tokens += sample.masked_tokens
        self.masked_at = sample.masked_at or self.masked_at
        self._waits_s += sample.waits_s
        for source in sample.sources:
            totals = self._sources.setdefault(source.name, _SourceTotals())
            totals.sequences += source.sequences
            totals.tokens += source.tokens

    def add_losses(self, losses: Mapping[str, tuple[float, int]]) -> list[str]:
        """Add (sum, count) by source; the names of sources whose sum is not finite, which are left out."""
        refused = []
        for name, (loss_sum, count) in losses.items():
            totals = self._sources.setdefault(name, _SourceTotals())
            total = totals.loss_sum + float(loss_sum)
            if math.isfinite(total):
                totals.loss_sum = total
                totals.loss_count += int(count)
            else:
                refused.append(name)
        return refused

    def next(self) -> Interval:
        """An empty interval that begins where this one ends."""
        since = self.last.time if self.last else self.since
        return Interval(last=self.last, since=since, masked_tokens=self.masked_tokens, masked_at=self.masked_at)

    def record(self, last: StepSample) -> dict[str, object]:
        """The contract's fields that follow from the steps alone, `last` being the latest step known."""
        waits_ms = sorted(1000.0 * max(wait_s, 0.0) for wait_s in self._waits_s)
        span_ms = max(1000.0 * (last.time - self.since), sum(waits_ms))
        return {
            "step": last.step,
            "steps": self.steps,
            "tokens": self._tokens,
            "total_tokens": last.total_tokens,
            "wait_p50_ms": _percentile(waits_ms, 0.50),
            "wait_p99_ms": _percentile(waits_ms, 0.99),
            "wait_max_ms": _percentile(waits_ms, 1.0),
            "wait_share": sum(waits_ms) / span_ms if self.steps and span_ms > 0 else 0.0,
            "queue_depth": last.queue_depth,
            "bytes_read": self._bytes_read,
            "masked_tokens": self.masked_tokens,
            "masked_at": self.masked_at and _place(self.masked_at),
            "mix_revision": last.revision,
            "mix_version": _service_version(last.revision),
            "sources": list(self._source_records(last)),
        }

    def _source_records(self, last: StepSample) -> Iterable[dict[str, object]]:
        for source in last.sources:
            totals = self._sources.get(source.name, _SourceTotals())
            yield {
                "name": source.name,
                "ordinal": source.ordinal,
                "epoch": source.epoch,
                "file": None if source.file is None else plain_text(source.file, 4096),
                "row": source.row,
                "target_ppm": source.target_ppm,
                "sequences": totals.sequences,
                "tokens": totals.tokens,
                "loss_sum": totals.loss_sum,
                "loss_count": totals.loss_count,
            }


def _place(masked: MaskedPlace) -> dict[str, object]:
    return {"source": masked.source, "file": plain_text(masked.file, 4096), "row": masked.row}


def _percentile(ascending: list[float], share: float) -> float:
    """The smallest value that at least `share` of all do not exceed; 0 of none."""
    return ascending[max(math.ceil(share * len(ascending)) - 1, 0)] if ascending else 0.0


def _service_version(revision: str) -> int | None:
    origin, _, number = revision.partition(":")
    return int(number) if origin == "service" and number.isdecimal() else None

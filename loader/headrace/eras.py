"""The eras of a run: stretches of steps under one set of sources, batch sizes and legs.

A run that goes on with something else than it had (another batch size, other sources, more shards, longer sequences,
skipped steps) begins an era. It keeps the position at which it began, so that the counts at any step of the run are
replayed from the beginning of that step's era, whatever changed before or since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.plan import BatchSizes, Ints, Position

MAX_ERAS = 16
"eras kept in a checkpoint; steps before the oldest can't be traced any more"


@dataclass(frozen=True, slots=True)
class Era:
    """A stretch of steps, up to the next era."""

    position: Position
    "before its first step; counts and accumulators are those of `names`"
    names: tuple[str, ...]
    batch_sizes: BatchSizes
    tokens: int
    "places of all sequences delivered before it"
    caps: tuple[int, ...] | None
    "sequences that each source has in all; None for a run without an end"
    changes: Mapping[str, Any]
    "what began it, as JSON: `skipped_steps`, `global_batch_size`, `seq_len`, `added`, `dropped`, `appended`, …"

    @property
    def step(self) -> int:
        """Its first step."""
        return self.position.step

    def tokens_at(self, counts: Ints, seq_len: int) -> int:
        """Places of all sequences of the run up to `counts` of this era; `counts`: int64 (K,)."""
        return self.tokens + int(counts.sum() - self.position.counts.sum()) * seq_len


def merged(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """The changes of two eras that begin at one step, since no step was taken between them, as those of one."""
    both = dict(earlier)
    for kind, value in later.items():
        before = both.get(kind)
        if before is None or kind == "configured_weights_ppm":
            both[kind] = value
        elif kind in ("seq_len", "global_batch_size"):
            both[kind] = [before[0], value[1]]
        elif isinstance(value, dict):
            both[kind] = before | {name: before.get(name, 0) + number for name, number in value.items()}
        else:
            both[kind] = before + value
    return both


def era_at(eras: Sequence[Era], step: int) -> Era | None:
    """The era of `step`; None for a step before the oldest that is known."""
    return next((era for era in reversed(eras) if era.step <= step), None)


def was_skipped(eras: Sequence[Era], step: int) -> bool:
    """Whether `step` was moved past without being delivered."""
    return any(era.step - era.changes.get("skipped_steps", 0) <= step < era.step for era in eras)

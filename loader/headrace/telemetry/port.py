"""The loader's side of telemetry: plain records and one protocol.

Nothing behind this protocol may raise into the training loop, block it, or take a lock for longer than a list append.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SourceSample:
    """One source at the end of one step, as one rank saw it."""

    name: str
    ordinal: int
    "sequences of this source in all global batches through this step"
    epoch: int
    "the epoch of the next sequence"
    file: str | None
    "shard of this rank's last sequence of it; None before the first"
    row: int | None
    "row, in `file`, of the document at the start of that sequence"
    target_ppm: int
    "weight in force at this step"
    sequences: int
    "sequences of it delivered to this rank in this step"
    tokens: int
    "tokens of it delivered to this rank in this step (sequences × seq_len); 0 on a rank that does not count"


@dataclass(frozen=True, slots=True)
class MaskedPlace:
    """A document whose tokens were replaced by padding."""

    source: str
    file: str
    "shard, relative to the source's path"
    row: int | None
    "None: in a block that can't be read"


@dataclass(frozen=True, slots=True)
class StepSample:
    """One finished step of one rank."""

    step: int
    time: float
    "Unix seconds when its last micro-batch was handed out"
    waits_s: tuple[float, ...]
    "for each micro-batch but the first of a start, seconds that the training loop waited for it"
    tokens: int
    "tokens delivered to this rank (sequences × seq_len); 0 on a rank that does not count"
    total_tokens: int
    "tokens (sequences × seq_len) in all global batches through this step"
    queue_depth: int
    "micro-batches ready when this step ended"
    bytes_read: int
    "token bytes read from shards for this step, on this rank"
    revision: str
    "the mix revision in force, `config:1`, `service:3` or `local:<attempt>:1`"
    sources: tuple[SourceSample, ...]
    masked_tokens: int = 0
    "places delivered to this rank that hold padding instead of a document's tokens; 0 on a rank that does not count"
    masked_at: MaskedPlace | None = None
    "the last document of which some were, on this rank"


@dataclass(frozen=True, slots=True)
class Proposal:
    """New weights that the control plane wants: the newest version, whatever came before."""

    revision: str
    "`service:<version>`, or the loader's own revision where this version only records that"
    weights_ppm: Mapping[str, int]
    "by source name; sums to 1,000,000"
    from_step: int | None
    "the earliest step, or None for the first that can be agreed"
    ramp_steps: int


@dataclass(frozen=True, slots=True)
class Activated:
    """A revision and the step that all ranks agreed on."""

    revision: str
    step: int
    "the first step with it"
    weights_ppm: Mapping[str, int]
    ramp_steps: int
    lineage: str | None = None
    "the lineage it belongs to; None: the one that the attempt started in"


class Telemetry(Protocol):
    """What the loader calls. Every method returns at once and never raises."""

    def step_ended(self, sample: StepSample) -> None:
        """Keep one step's figures for the next report."""

    def observe(self, step: int, losses: Mapping[str, tuple[float, int]]) -> None:
        """Add (sum, count) of losses by source name to the next report."""

    def latest_proposal(self) -> Proposal | None:
        """The newest weights the control plane wants, or None while none are known. Leader only."""

    def activated(self, activation: Activated) -> None:
        """Tell the control plane at which step a revision takes effect. Leader only."""

    def replay_record(self, lineage: str, from_step: int, wait_s: float) -> list[Activated] | None:
        """The activations of `lineage` at or after `from_step`; None if no answer came within `wait_s` seconds.

        The one call that may wait; made once, at start, by the leader, before training begins.
        """

    def finish(self, *, failed: str | None = None) -> None:
        """Send or keep what is left, within 5 s; safe to call twice."""

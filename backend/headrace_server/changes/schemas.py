"""Changes that wait, as others see them."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field, model_validator

from ..fields import Reason, Reply, Request, Step, Timestamp
from ..mix.schemas import Kind, RampSteps, RawWeights

ChangeState = Literal[
    "awaiting_approval",
    "scheduled",
    "done",
    "needs_attention",
    "rejected",
    "cancelled",
    "dismissed",
    "replaced",
    "expired",
]
Starts = Literal["at_once", "step", "time"]


class MixChangeCreate(Request):
    """A change to be made at a step or at a time (ISO 8601 with an offset, or Unix seconds).

    ``follows`` is a change that waits: this one is then made on the version that the other becomes. ``replaces`` is a
    change that needs attention and is settled by this one.
    """

    weights: RawWeights
    reason: Reason
    at_step: Step | None = None
    at: AwareDatetime | None = None
    ramp_steps: RampSteps = 0
    follows: UUID | None = None
    replaces: UUID | None = None

    @model_validator(mode="after")
    def _starts_once(self) -> "MixChangeCreate":
        if (self.at_step is None) == (self.at is None):
            raise ValueError("give at_step or at, and not both")
        return self


class ChangeDecision(Request):
    """Why a change is approved; may be left out."""

    reason: Reason | None = None


class ChangeRejection(Request):
    """Why a change is rejected."""

    reason: Reason


class MixSide(Reply):
    """A version that a change is compared with."""

    version: int
    weights_ppm: dict[str, int]
    author: str
    reason: str
    created_at: Timestamp


class SourceDifference(Reply):
    """A source on which the three sides don't agree, in ppm."""

    source: str
    base_ppm: int | None
    theirs_ppm: int
    ours_ppm: int


class MixConflict(Reply):
    """The three sides: the version the change was made for (null: it never came to be), the newest, the change."""

    base: MixSide | None
    theirs: MixSide
    difference: list[SourceDifference]


class MixChange(Reply):
    """A change that waits, or what became of it.

    ``version`` is the version it became (``done``). ``late_s`` is how long after its time that was, ``late_steps`` how
    many steps after its step the ranks agreed on. ``conflict`` is there while it needs attention; ``why`` says why.
    """

    id: UUID
    state: ChangeState
    why: str | None
    kind: Kind
    starts: Starts
    weights_ppm: dict[str, int]
    at_step: int | None
    at: Timestamp | None
    ramp_steps: int
    base_version: int | None
    follows: UUID | None
    reverts: int | None
    author: str
    reason: str
    created_at: Timestamp
    expires_at: Timestamp | None
    decided_by: str | None
    decided_at: Timestamp | None
    decision_reason: str | None
    version: int | None
    late_s: float | None
    late_steps: Annotated[int, Field(ge=0)] | None
    settled_at: Timestamp | None
    conflict: MixConflict | None


class MixChangePage(Reply):
    """Newest first; ``next_cursor`` is null on the last page."""

    items: list[MixChange]
    next_cursor: str | None

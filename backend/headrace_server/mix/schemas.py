"""The mix as others see it."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from ..fields import Finite, LoaderRequest, Name, Ppm, Reason, Reply, Request, Step, Timestamp, UnixTime
from .forecast import WarningCode
from .waiting import WaitCode

Kind = Literal["edit", "revert", "pause", "resume"]
Origin = Literal["config", "service", "local"]
LifeState = Literal["proposed", "seen", "agreed", "applied", "superseded"]
RawWeights = Annotated[dict[str, Finite], Field(min_length=1, max_length=1000)]
PpmWeights = Annotated[dict[str, Ppm], Field(min_length=1, max_length=1000)]
RampSteps = Annotated[int, Field(ge=0, le=10**9)]
Revision = Annotated[
    str,
    StringConstraints(max_length=100, pattern=r"^(config:\d{1,9}|service:\d{1,9}|local:[0-9A-Za-z-]{1,64}:\d{1,9})$"),
]


class MixWait(Reply):
    """What an open version waits for, in words, since when, and whether that is longer than it should take."""

    code: WaitCode
    message: str
    since: Timestamp
    stuck: bool


class MixLife(Reply):
    """How far a version has come: proposed → seen by the leader → agreed at a step → applied on every rank."""

    proposed_at: Timestamp
    seen_at: Timestamp | None
    agreed_step: int | None
    agreed_at: Timestamp | None
    applied_ranks: int
    total_ranks: int
    applied_at: Timestamp | None
    state: LifeState
    waiting: MixWait | None


class MixVersion(Reply):
    """A version of the weights (ppm, in job order, summing to 1,000,000).

    ``paused`` has the sources at 0, each with the weight it returns to; ``change`` is the change that became it.
    """

    version: int
    weights_ppm: dict[str, int]
    from_step: int | None
    ramp_steps: int
    author: str
    reason: str
    created_at: Timestamp
    parent: int | None
    origin: Origin
    reverts: int | None
    paused: dict[str, int]
    change: UUID | None
    approved_by: str | None
    life: MixLife


class MixVersionPage(Reply):
    """Newest first; ``next_cursor`` is null on the last page."""

    items: list[MixVersion]
    next_cursor: str | None


class MixEdit(Request):
    """A change of the mix: now, or from a step, at once or over a ramp.

    ``replaces`` is a change that needs attention and is settled by this one.
    """

    weights: RawWeights
    reason: Reason
    from_step: Step | None = None
    ramp_steps: RampSteps = 0
    replaces: UUID | None = None


class MixRevert(Request):
    """Going back to an older version's weights, by making a new version."""

    reason: Reason


class MixPause(Request):
    """A source to stop, or to return to its former weight; the others make room in proportion."""

    source: Name
    reason: Reason


class MixPreviewRequest(Request):
    """Weights to try out without changing anything."""

    weights: RawWeights
    ramp_steps: RampSteps = 0


class MixPreviewWarning(Reply):
    """Something to know first; ``source`` is null where it is about the whole change."""

    code: WarningCode
    source: str | None
    message: str


class MixPreview(Reply):
    """What the weights would mean; ``epochs_at_end`` is null when the run's end or the source's size is unknown."""

    weights_ppm: dict[str, int]
    delta_ppm: dict[str, int]
    epochs_at_end: dict[str, float | None]
    warnings: list[MixPreviewWarning]


class ActivationCreate(LoaderRequest):
    """The leader sealed a revision: ``step`` is the first with it."""

    attempt: UUID
    lineage: UUID
    revision: Revision
    step: Step
    weights_ppm: PpmWeights
    ramp_steps: RampSteps
    at: UnixTime
    reason: Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00]*$")] | None = None


class Activation(Reply):
    """A sealed revision, and the version it is."""

    attempt: UUID
    lineage: UUID
    revision: str
    step: int
    weights_ppm: dict[str, int]
    ramp_steps: int
    at: Timestamp
    reason: str | None
    version: int
    created_at: Timestamp


class ActivationList(Reply):
    """Ordered by step, then by when they were recorded."""

    items: list[Activation]


class MixProblem(Reply):
    """The 412 problem of a stale edit; ``current`` is the version to start from."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[dict[str, object]]
    request_id: str
    current: MixVersion

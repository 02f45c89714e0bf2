"""Rules, alerts and mutes as others see them."""

from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from ..fields import Finite, Name, Reason, Reply, Request, Timestamp
from ..jobs.schemas import Tags
from .kinds import Kind

AlertStateName = Literal["firing", "acknowledged", "resolved"]
Pattern = Annotated[Name, Field(description="a name with *, ? and […]; null: every job")]
Threshold = Annotated[Finite, Field(ge=0, le=1_000_000)]
Held = Annotated[Finite, Field(ge=0, le=86_400, description="seconds that it must be seen to hold")]
Window = Annotated[int, Field(ge=1, le=86_400)]
MaxEpochs = Annotated[Finite, Field(gt=0, le=1_000_000)]
# A mute ends: at most 90 days on.
MAX_MUTE_S = 90 * 86_400


class AlertRuleCreate(Request):
    """A rule. What is left out is as in the rule of this kind that a project begins with."""

    name: Name
    kind: Kind
    enabled: bool = True
    job_pattern: Pattern | None = None
    tags: Tags = Field(default_factory=dict, description="only jobs that have all of these")
    threshold: Threshold | None = None
    clear_at: Annotated[Threshold | None, Field(description="better than this, or equal, is good again")] = None
    for_s: Held | None = None
    clear_for_s: Held | None = None
    window: Annotated[Window | None, Field(description="throughput: seconds; mix drift: steps")] = None
    max_epochs: MaxEpochs | None = None


class AlertRulePatch(Request):
    """What may be changed of a rule; a field left out stays."""

    name: Name | None = None
    enabled: bool | None = None
    job_pattern: Pattern | None = None
    tags: Tags | None = None
    threshold: Threshold | None = None
    clear_at: Threshold | None = None
    for_s: Held | None = None
    clear_for_s: Held | None = None
    window: Window | None = None
    max_epochs: MaxEpochs | None = None


class AlertRule(Reply):
    """A rule: fires beyond ``threshold`` for ``for_s``, resolves at ``clear_at`` or better for ``clear_for_s``.

    ``about`` says what the figure is; it is too high unless ``fires_below``.
    """

    id: UUID
    name: str
    kind: Kind
    about: str
    fires_below: bool
    enabled: bool
    job_pattern: str | None
    tags: dict[str, str]
    threshold: float
    clear_at: float
    for_s: float
    clear_for_s: float
    window: int | None
    max_epochs: float | None
    created_by: str
    created_at: Timestamp
    updated_at: Timestamp


class AlertRuleList(Reply):
    """Every rule of a project, the oldest first."""

    items: list[AlertRule]


class Alert(Reply):
    """One alert. ``value``, ``threshold``, ``step`` and ``message`` are as they were when it fired.

    ``rule`` is null once the rule was deleted; ``announced`` says whether webhooks were told (a mute keeps it quiet).
    """

    id: UUID
    project: str
    job: UUID
    job_name: str
    attempt: int
    rule: UUID | None
    rule_name: str
    kind: Kind
    state: AlertStateName
    step: int | None
    value: float
    threshold: float
    message: str
    announced: bool
    fired_at: Timestamp
    acknowledged_at: Timestamp | None
    acknowledged_by: str | None
    comment: str | None
    resolved_at: Timestamp | None
    resolution: str | None


class AlertPage(Reply):
    """Newest first; ``next_cursor`` is null on the last page."""

    items: list[Alert]
    next_cursor: str | None


class AlertCount(Reply):
    """How many alerts are open in all projects the caller sees: those nobody has acknowledged yet, and the others."""

    firing: int
    acknowledged: int


class Acknowledgement(Request):
    """Somebody looks into it, and says what they know."""

    comment: Reason


class AlertMuteCreate(Request):
    """Keep a rule or a job quiet for a while: exactly one of the two."""

    rule: UUID | None = None
    job: UUID | None = None
    for_s: Annotated[Finite, Field(gt=0, le=MAX_MUTE_S)]
    reason: Reason

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.rule is None) == (self.job is None):
            raise ValueError("name either a rule or a job to mute")
        return self


class AlertMute(Reply):
    """Until ``until`` alerts of the rule, or of the job, are recorded but not sent."""

    id: UUID
    rule: UUID | None
    job: UUID | None
    until: Timestamp
    reason: str
    created_by: str
    created_at: Timestamp


class AlertMuteList(Reply):
    """The mutes in force, the one that ends first at the top."""

    items: list[AlertMute]

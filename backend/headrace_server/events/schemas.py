"""What the events carry."""

from uuid import UUID

from ..alerts.schemas import AlertStateName
from ..changes.schemas import ChangeState
from ..fields import Reply
from ..jobs.schemas import JobSummary
from ..mix.schemas import Activation, MixVersion


class SnapshotEvent(Reply):
    """``event: snapshot``, first and after every reconnect: everything the listener follows."""

    jobs: list[JobSummary]


class JobEvent(JobSummary):
    """``event: job``: a summary that changed, at most one a second a job."""


class MixEvent(Reply):
    """``event: mix``: a version was made or came further."""

    job: UUID
    version: MixVersion


class ActivationEvent(Reply):
    """``event: activation``: a leader sealed a revision."""

    job: UUID
    activation: Activation


class ChangeEvent(Reply):
    """``event: change``: a change of the mix that waits was made, or came to this state."""

    job: UUID
    change: UUID
    state: ChangeState


class AlertEvent(Reply):
    """``event: alert``: an alert was raised, acknowledged or resolved, or is about to be told of."""

    job: UUID
    alert: UUID
    state: AlertStateName


class VersionEvent(Reply):
    """``event: version``, to leaders: the number of the newest mix version, first and for each newer one."""

    version: int


EVENT_PAYLOADS = (SnapshotEvent, JobEvent, MixEvent, ActivationEvent, ChangeEvent, AlertEvent, VersionEvent)

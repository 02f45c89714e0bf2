"""What a committed change tells the listeners; the composer turns it into payloads. Pure."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True)
class JobChanged:
    """Something about a job's summary may have changed; told at most once a second."""

    job_id: int


@dataclass(frozen=True)
class MixChanged:
    """The mix was edited: a version was made, or decided upon. Told at once, by every replica."""

    job_id: int
    version: int


@dataclass(frozen=True)
class MixProgressed:
    """A version came further: seen, agreed, applied, superseded. Told at once here, within a second by replicas."""

    job_id: int
    version: int


@dataclass(frozen=True)
class ActivationRecorded:
    """A leader sealed a revision; told at once here, within a second by replicas."""

    job_id: int
    attempt_id: int
    attempt: UUID
    revision: str


@dataclass(frozen=True)
class ChangeMoved:
    """A change that waits was made, or came to this state; told at once here, within a second by replicas."""

    job_id: int
    change: UUID
    state: str


@dataclass(frozen=True)
class AlertMoved:
    """An alert was raised, or came to this state; told at once here, within a second by replicas."""

    job_id: int
    alert: UUID
    state: str

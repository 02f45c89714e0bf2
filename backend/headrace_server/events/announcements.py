"""What a committed change tells the listeners; the composer turns it into payloads. Pure."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True)
class JobChanged:
    """Something about a job's summary may have changed; told at most once a second."""

    job_id: int


@dataclass(frozen=True)
class MixChanged:
    """A mix version was made, or came further; told at once."""

    job_id: int
    version: int


@dataclass(frozen=True)
class ActivationRecorded:
    """A leader sealed a revision; told at once."""

    job_id: int
    attempt_id: int
    attempt: UUID
    revision: str

"""The tables. Singular names; the migrations must equal these modules."""

from .base import Base, Json, RowId, Weights
from .jobs import Attempt, Job, JobSource
from .mix import MixActivation, MixVersion
from .people import ApiKey, AuditEvent, Identity, LoginFailures, Member, Project, ServerClock, Session, User
from .reports import RankReport, RankState, SourceProgress
from .rollups import JobRollup, RankRollup, RollupDue, SourceRollup

__all__ = [
    "ApiKey",
    "Attempt",
    "AuditEvent",
    "Base",
    "Identity",
    "Job",
    "JobRollup",
    "JobSource",
    "Json",
    "LoginFailures",
    "Member",
    "MixActivation",
    "MixVersion",
    "Project",
    "RankReport",
    "RankRollup",
    "RankState",
    "RollupDue",
    "RowId",
    "ServerClock",
    "Session",
    "SourceProgress",
    "SourceRollup",
    "User",
    "Weights",
]

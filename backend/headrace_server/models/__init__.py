"""The tables. Singular names; the migrations must equal these modules."""

from .alerts import AlertClock, AlertDefault, AlertEvent, AlertMute, AlertRule, AlertState
from .base import Base, Json, RowId, Weights
from .idempotency import IdempotencyKey
from .jobs import Attempt, Job, JobSource
from .mix import LeaderPoll, MixActivation, MixChange, MixVersion
from .people import ApiKey, AuditEvent, Identity, LoginFailures, Member, Project, ServerClock, Session, User
from .reports import RankReport, RankState, SourceProgress
from .rollups import JobRollup, RankRollup, RollupDue, SourceRollup
from .webhooks import Webhook, WebhookDelivery

__all__ = [
    "AlertClock",
    "AlertDefault",
    "AlertEvent",
    "AlertMute",
    "AlertRule",
    "AlertState",
    "ApiKey",
    "Attempt",
    "AuditEvent",
    "Base",
    "IdempotencyKey",
    "Identity",
    "Job",
    "JobRollup",
    "JobSource",
    "Json",
    "LeaderPoll",
    "LoginFailures",
    "Member",
    "MixActivation",
    "MixChange",
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
    "Webhook",
    "WebhookDelivery",
    "Weights",
]

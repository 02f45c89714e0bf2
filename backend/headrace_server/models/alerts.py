"""Alert rules, how far each is with each job, and what they raised."""

from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from .base import Base, RowId, parent, row_id


def _rule(*, nullable: bool = False) -> sa.ForeignKey:
    return sa.ForeignKey("alert_rule.id", ondelete="SET NULL" if nullable else "CASCADE")


class AlertRule(Base):
    """What a project wants to be told of. Which side of ``threshold`` is bad, and its unit, follow from ``kind``."""

    __tablename__ = "alert_rule"
    __table_args__ = (sa.UniqueConstraint("project_id", "name"),)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    project_id: Mapped[int] = parent("project.id")
    name: Mapped[str]
    kind: Mapped[str]
    enabled: Mapped[bool]
    job_pattern: Mapped[str | None]
    tags: Mapped[dict[str, str]]
    threshold: Mapped[float]
    clear_at: Mapped[float]
    for_s: Mapped[float]
    clear_for_s: Mapped[float]
    window: Mapped[int | None]
    max_epochs: Mapped[float | None]
    created_by: Mapped[str]
    created_at: Mapped[float]
    updated_at: Mapped[float]


class AlertDefault(Base):
    """The project was given the rules every project begins with; it is given them once."""

    __tablename__ = "alert_default"
    project_id: Mapped[int] = mapped_column(
        RowId, sa.ForeignKey("project.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    made_at: Mapped[float]


class AlertEvent(Base):
    """One alert: raised by a rule for an attempt, perhaps acknowledged, resolved at last. Figures are as they were."""

    __tablename__ = "alert_event"
    __table_args__ = (sa.Index(None, "project_id", "id"), sa.Index(None, "job_id", "id"), sa.Index(None, "state"))
    id: Mapped[int] = row_id()
    uuid: Mapped[UUID] = mapped_column(unique=True)
    project_id: Mapped[int] = parent("project.id")
    job_id: Mapped[int] = parent("job.id")
    attempt_id: Mapped[int] = parent("attempt.id", index=True)
    rule_id: Mapped[UUID | None] = mapped_column(_rule(nullable=True), index=True)
    rule_name: Mapped[str]
    kind: Mapped[str]
    state: Mapped[str]
    step: Mapped[int | None]
    value: Mapped[float]
    threshold: Mapped[float]
    message: Mapped[str]
    announced: Mapped[bool]
    fired_at: Mapped[float]
    acknowledged_at: Mapped[float | None]
    acknowledged_by: Mapped[str | None]
    comment: Mapped[str | None]
    resolved_at: Mapped[float | None]
    resolution: Mapped[str | None]


class AlertState(Base):
    """How far a rule is with a job: firing or not, and for how long what would change that has been seen to hold.

    No row: not firing, and nothing holds.
    """

    __tablename__ = "alert_state"
    __table_args__ = ({"sqlite_with_rowid": False},)
    rule_id: Mapped[UUID] = mapped_column(_rule(), primary_key=True)
    job_id: Mapped[int] = mapped_column(
        RowId, sa.ForeignKey("job.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    attempt_id: Mapped[int] = parent("attempt.id", index=True)
    alert_id: Mapped[int | None] = mapped_column(RowId, sa.ForeignKey("alert_event.id", ondelete="CASCADE"), index=True)
    held_s: Mapped[float]
    seen_at: Mapped[float | None]


class AlertMute(Base):
    """Until ``until`` alerts of the rule, or of the job, are recorded but not sent."""

    __tablename__ = "alert_mute"
    id: Mapped[UUID] = mapped_column(primary_key=True)
    project_id: Mapped[int] = parent("project.id", index=True)
    rule_id: Mapped[UUID | None] = mapped_column(_rule())
    job_id: Mapped[int | None] = mapped_column(RowId, sa.ForeignKey("job.id", ondelete="CASCADE"))
    until: Mapped[float]
    reason: Mapped[str]
    created_by: Mapped[str]
    created_at: Mapped[float]


class AlertClock(Base):
    """One row: when rules were last looked at, and until when nothing is decided because nobody had been looking."""

    __tablename__ = "alert_clock"
    id: Mapped[int] = mapped_column(RowId, primary_key=True, autoincrement=False)
    looked_at: Mapped[float]
    suspended_until: Mapped[float]

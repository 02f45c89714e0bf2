"""Alert rules, what they raised, webhooks and their outbox.

Only new tables: a server of the version before goes on as if they weren't there.

Revision ID: 0007_alerts
Revises: 0006_mix_changes
"""

import sqlalchemy as sa
from alembic import op

revision = "0007_alerts"
down_revision = "0006_mix_changes"
branch_labels = None
depends_on = None

# SQLite gives row ids to INTEGER PRIMARY KEY only.
ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "alert_rule",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("project_id", ROW_ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("job_pattern", sa.Text(), nullable=True),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("threshold", sa.Double(), nullable=False),
        sa.Column("clear_at", sa.Double(), nullable=False),
        sa.Column("for_s", sa.Double(), nullable=False),
        sa.Column("clear_for_s", sa.Double(), nullable=False),
        sa.Column("window", sa.BigInteger(), nullable=True),
        sa.Column("max_epochs", sa.Double(), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_alert_rule_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_rule")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_alert_rule_project_id_name")),
    )

    op.create_table(
        "alert_default",
        sa.Column("project_id", ROW_ID, autoincrement=False, nullable=False),
        sa.Column("made_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_alert_default_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_alert_default")),
    )

    op.create_table(
        "alert_event",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("uuid", sa.Uuid(), nullable=False),
        sa.Column("project_id", ROW_ID, nullable=False),
        sa.Column("job_id", ROW_ID, nullable=False),
        sa.Column("attempt_id", ROW_ID, nullable=False),
        sa.Column("rule_id", sa.Uuid(), nullable=True),
        sa.Column("rule_name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=True),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("threshold", sa.Double(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("announced", sa.Boolean(), nullable=False),
        sa.Column("fired_at", sa.Double(), nullable=False),
        sa.Column("acknowledged_at", sa.Double(), nullable=True),
        sa.Column("acknowledged_by", sa.Text(), nullable=True),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("resolved_at", sa.Double(), nullable=True),
        sa.Column("resolution", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_alert_event_project_id_project"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_alert_event_job_id_job"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["attempt_id"], ["attempt.id"], name=op.f("fk_alert_event_attempt_id_attempt"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["rule_id"], ["alert_rule.id"], name=op.f("fk_alert_event_rule_id_alert_rule"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_event")),
        sa.UniqueConstraint("uuid", name=op.f("uq_alert_event_uuid")),
    )
    op.create_index(op.f("ix_alert_event_attempt_id"), "alert_event", ["attempt_id"])
    op.create_index(op.f("ix_alert_event_job_id_id"), "alert_event", ["job_id", "id"])
    op.create_index(op.f("ix_alert_event_project_id_id"), "alert_event", ["project_id", "id"])
    op.create_index(op.f("ix_alert_event_rule_id"), "alert_event", ["rule_id"])
    op.create_index(op.f("ix_alert_event_state"), "alert_event", ["state"])

    op.create_table(
        "alert_state",
        sa.Column("rule_id", sa.Uuid(), nullable=False),
        sa.Column("job_id", ROW_ID, autoincrement=False, nullable=False),
        sa.Column("attempt_id", ROW_ID, nullable=False),
        sa.Column("alert_id", ROW_ID, nullable=True),
        sa.Column("held_s", sa.Double(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["rule_id"], ["alert_rule.id"], name=op.f("fk_alert_state_rule_id_alert_rule"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_alert_state_job_id_job"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["attempt_id"], ["attempt.id"], name=op.f("fk_alert_state_attempt_id_attempt"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["alert_id"], ["alert_event.id"], name=op.f("fk_alert_state_alert_id_alert_event"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("rule_id", "job_id", name=op.f("pk_alert_state")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_alert_state_alert_id"), "alert_state", ["alert_id"])
    op.create_index(op.f("ix_alert_state_attempt_id"), "alert_state", ["attempt_id"])

    op.create_table(
        "alert_mute",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("project_id", ROW_ID, nullable=False),
        sa.Column("rule_id", sa.Uuid(), nullable=True),
        sa.Column("job_id", ROW_ID, nullable=True),
        sa.Column("until", sa.Double(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_alert_mute_project_id_project"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["rule_id"], ["alert_rule.id"], name=op.f("fk_alert_mute_rule_id_alert_rule"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_alert_mute_job_id_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_mute")),
    )
    op.create_index(op.f("ix_alert_mute_project_id"), "alert_mute", ["project_id"])

    op.create_table(
        "alert_clock",
        sa.Column("id", ROW_ID, autoincrement=False, nullable=False),
        sa.Column("looked_at", sa.Double(), nullable=False),
        sa.Column("suspended_until", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_clock")),
    )

    op.create_table(
        "webhook",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("project_id", ROW_ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("kinds", sa.JSON(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("shown_url", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_webhook_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_webhook_project_id_name")),
    )

    op.create_table(
        "webhook_delivery",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("uuid", sa.Uuid(), nullable=False),
        sa.Column("webhook_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("tries", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("next_at", sa.Double(), nullable=False),
        sa.Column("claimed_until", sa.Double(), nullable=True),
        sa.Column("tried_at", sa.Double(), nullable=True),
        sa.Column("status", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["webhook_id"], ["webhook.id"], name=op.f("fk_webhook_delivery_webhook_id_webhook"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_delivery")),
        sa.UniqueConstraint("uuid", name=op.f("uq_webhook_delivery_uuid")),
    )
    op.create_index(op.f("ix_webhook_delivery_state_next_at"), "webhook_delivery", ["state", "next_at"])
    op.create_index(op.f("ix_webhook_delivery_webhook_id_id"), "webhook_delivery", ["webhook_id", "id"])
    op.create_index(
        op.f("ix_webhook_delivery_webhook_id_state_subject"), "webhook_delivery", ["webhook_id", "state", "subject"]
    )


def downgrade() -> None:
    op.drop_table("webhook_delivery")
    op.drop_table("webhook")
    op.drop_table("alert_clock")
    op.drop_table("alert_mute")
    op.drop_table("alert_state")
    op.drop_table("alert_event")
    op.drop_table("alert_default")
    op.drop_table("alert_rule")

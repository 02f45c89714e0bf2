"""The first tables: projects, logins, jobs, attempts, reports, the mix, the audit log.

Revision ID: 0001_first_tables
Revises: nothing
"""

import sqlalchemy as sa
from alembic import op

revision = "0001_first_tables"
down_revision = None
branch_labels = None
depends_on = None

# SQLite gives row ids to INTEGER PRIMARY KEY only.
ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "project",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project")),
        sa.UniqueConstraint("name", name=op.f("uq_project_name")),
    )
    op.create_table(
        "server_clock",
        sa.Column("id", ROW_ID, autoincrement=False, nullable=False),
        sa.Column("alive_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_server_clock")),
    )
    op.create_table(
        "user",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("username", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user")),
        sa.UniqueConstraint("username", name=op.f("uq_user_username")),
    )
    op.create_table(
        "api_key",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("project_id", ROW_ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("key_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.Column("revoked_at", sa.Double(), nullable=True),
        sa.Column("last_used_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_api_key_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_key")),
        sa.UniqueConstraint("key_hash", name=op.f("uq_api_key_key_hash")),
    )
    op.create_index(op.f("ix_api_key_project_id"), "api_key", ["project_id"])

    op.create_table(
        "job",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("uuid", sa.Uuid(), nullable=False),
        sa.Column("project_id", ROW_ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("seq_len", sa.BigInteger(), nullable=False),
        sa.Column("global_batch_size", sa.BigInteger(), nullable=False),
        sa.Column("total_steps", sa.BigInteger(), nullable=True),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("packing", sa.Text(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("archived", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_job_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_job_project_id_name")),
        sa.UniqueConstraint("uuid", name=op.f("uq_job_uuid")),
    )
    op.create_table(
        "session",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("user_id", ROW_ID, nullable=False),
        sa.Column("token_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_session_user_id_user"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_session")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_session_token_hash")),
    )
    op.create_index(op.f("ix_session_expires_at"), "session", ["expires_at"])
    op.create_index(op.f("ix_session_user_id"), "session", ["user_id"])

    op.create_table(
        "attempt",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("uuid", sa.Uuid(), nullable=False),
        sa.Column("job_id", ROW_ID, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("lineage", sa.Uuid(), nullable=False),
        sa.Column("parent_lineage", sa.Uuid(), nullable=True),
        sa.Column("world_size", sa.BigInteger(), nullable=False),
        sa.Column("dp_size", sa.BigInteger(), nullable=False),
        sa.Column("resumed_from_step", sa.BigInteger(), nullable=True),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("loader_version", sa.Text(), nullable=False),
        sa.Column("hostname", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("state_reason", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_attempt_job_id_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempt")),
        sa.UniqueConstraint("job_id", "number", name=op.f("uq_attempt_job_id_number")),
        sa.UniqueConstraint("uuid", name=op.f("uq_attempt_uuid")),
    )
    op.create_table(
        "audit_event",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("project_id", ROW_ID, nullable=True),
        sa.Column("job_id", ROW_ID, nullable=True),
        sa.Column("before", sa.JSON(), nullable=True),
        sa.Column("after", sa.JSON(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_audit_event_job_id_job")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_audit_event_project_id_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_event")),
    )
    op.create_index(op.f("ix_audit_event_job_id"), "audit_event", ["job_id"])
    op.create_index(op.f("ix_audit_event_project_id"), "audit_event", ["project_id"])

    op.create_table(
        "job_source",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("job_id", ROW_ID, nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("weight_ppm", sa.BigInteger(), nullable=False),
        sa.Column("num_documents", sa.BigInteger(), nullable=False),
        sa.Column("num_tokens", sa.BigInteger(), nullable=False),
        sa.Column("num_shards", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_job_source_job_id_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_source")),
        sa.UniqueConstraint("job_id", "name", name=op.f("uq_job_source_job_id_name")),
    )
    op.create_table(
        "mix_version",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("job_id", ROW_ID, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Text(), nullable=False),
        sa.Column("weights_ppm", sa.JSON(), nullable=False),
        sa.Column("from_step", sa.BigInteger(), nullable=True),
        sa.Column("ramp_steps", sa.BigInteger(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("parent", sa.BigInteger(), nullable=True),
        sa.Column("reverts", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=True),
        sa.Column("agreed_step", sa.BigInteger(), nullable=True),
        sa.Column("agreed_at", sa.Double(), nullable=True),
        sa.Column("applied_at", sa.Double(), nullable=True),
        sa.Column("superseded_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_mix_version_job_id_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mix_version")),
        sa.UniqueConstraint("job_id", "revision", name=op.f("uq_mix_version_job_id_revision")),
        sa.UniqueConstraint("job_id", "version", name=op.f("uq_mix_version_job_id_version")),
    )
    op.create_table(
        "mix_activation",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("job_id", ROW_ID, nullable=False),
        sa.Column("attempt_id", ROW_ID, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Text(), nullable=False),
        sa.Column("lineage", sa.Uuid(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("weights_ppm", sa.JSON(), nullable=False),
        sa.Column("ramp_steps", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["attempt_id"], ["attempt.id"], name=op.f("fk_mix_activation_attempt_id_attempt"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_mix_activation_job_id_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mix_activation")),
        sa.UniqueConstraint("attempt_id", "revision", name=op.f("uq_mix_activation_attempt_id_revision")),
    )
    op.create_index(op.f("ix_mix_activation_job_id_step"), "mix_activation", ["job_id", "step"])

    op.create_table(
        "rank_report",
        sa.Column("attempt_id", ROW_ID, nullable=False),
        sa.Column("rank", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("time", sa.Double(), nullable=False),
        sa.Column("received_at", sa.Double(), nullable=False),
        sa.Column("interval_s", sa.Double(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("steps", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("total_tokens", sa.BigInteger(), nullable=False),
        sa.Column("wait_p50_ms", sa.Double(), nullable=False),
        sa.Column("wait_p99_ms", sa.Double(), nullable=False),
        sa.Column("wait_max_ms", sa.Double(), nullable=False),
        sa.Column("wait_share", sa.Double(), nullable=False),
        sa.Column("queue_depth", sa.Double(), nullable=False),
        sa.Column("rss_bytes", sa.BigInteger(), nullable=False),
        sa.Column("bytes_read", sa.BigInteger(), nullable=False),
        sa.Column("dropped", sa.BigInteger(), nullable=False),
        sa.Column("mix_version", sa.BigInteger(), nullable=True),
        sa.Column("mix_revision", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["attempt_id"], ["attempt.id"], name=op.f("fk_rank_report_attempt_id_attempt"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("attempt_id", "rank", "seq", name=op.f("pk_rank_report")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "rank_state",
        sa.Column("attempt_id", ROW_ID, nullable=False),
        sa.Column("rank", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("time", sa.Double(), nullable=False),
        sa.Column("received_at", sa.Double(), nullable=False),
        sa.Column("advanced_at", sa.Double(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("total_tokens", sa.BigInteger(), nullable=False),
        sa.Column("tokens_per_s", sa.Double(), nullable=False),
        sa.Column("interval_s", sa.Double(), nullable=False),
        sa.Column("wait_p50_ms", sa.Double(), nullable=False),
        sa.Column("wait_p99_ms", sa.Double(), nullable=False),
        sa.Column("wait_max_ms", sa.Double(), nullable=False),
        sa.Column("wait_share", sa.Double(), nullable=False),
        sa.Column("queue_depth", sa.Double(), nullable=False),
        sa.Column("rss_bytes", sa.BigInteger(), nullable=False),
        sa.Column("bytes_read", sa.BigInteger(), nullable=False),
        sa.Column("dropped", sa.BigInteger(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("local_rank", sa.BigInteger(), nullable=False),
        sa.Column("dp_rank", sa.BigInteger(), nullable=False),
        sa.Column("mix_version", sa.BigInteger(), nullable=True),
        sa.Column("mix_revision", sa.Text(), nullable=False),
        sa.Column("sources", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["attempt_id"], ["attempt.id"], name=op.f("fk_rank_state_attempt_id_attempt"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("attempt_id", "rank", name=op.f("pk_rank_state")),
    )
    op.create_table(
        "source_progress",
        sa.Column("attempt_id", ROW_ID, nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("source_id", ROW_ID, nullable=False),
        sa.Column("time", sa.Double(), nullable=False),
        sa.Column("ordinal", sa.BigInteger(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("target_ppm", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("loss_sum", sa.Double(), nullable=False),
        sa.Column("loss_count", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["attempt_id"], ["attempt.id"], name=op.f("fk_source_progress_attempt_id_attempt"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["job_source.id"], name=op.f("fk_source_progress_source_id_job_source"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("attempt_id", "step", "source_id", name=op.f("pk_source_progress")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("source_progress")
    op.drop_table("rank_state")
    op.drop_table("rank_report")
    op.drop_index(op.f("ix_mix_activation_job_id_step"), "mix_activation")

    op.drop_table("mix_activation")
    op.drop_table("mix_version")
    op.drop_table("job_source")
    op.drop_index(op.f("ix_audit_event_project_id"), "audit_event")
    op.drop_index(op.f("ix_audit_event_job_id"), "audit_event")

    op.drop_table("audit_event")
    op.drop_table("attempt")
    op.drop_index(op.f("ix_session_user_id"), "session")
    op.drop_index(op.f("ix_session_expires_at"), "session")

    op.drop_table("session")
    op.drop_table("job")
    op.drop_index(op.f("ix_api_key_project_id"), "api_key")

    op.drop_table("api_key")
    op.drop_table("user")
    op.drop_table("server_clock")
    op.drop_table("project")

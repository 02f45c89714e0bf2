"""One-minute rollups, and on PostgreSQL reports in daily partitions.

What was reported so far becomes the default partition as it is, without a copy; the server moves its days into
partitions of their own. Every minute in it becomes due for the rollups. A server of the version before can go on
writing: it names the same columns and no constraint.

Revision ID: 0002_rollups
Revises: 0001_first_tables
"""

import sqlalchemy as sa
from alembic import op

revision = "0002_rollups"
down_revision = "0001_first_tables"
branch_labels = None
depends_on = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
IDENTITY = ["attempt_id", "rank", "seq"]
METRICS = ("tokens_per_s", "wait_p50_ms", "wait_p99_ms", "wait_max_ms", "wait_share", "queue_depth", "rss_bytes")


def on_postgresql() -> bool:
    return op.get_bind().dialect.name == "postgresql"


def rolled() -> list[sa.Column[object]]:
    kept = [(metric, f"{metric}_{of}") for metric in METRICS for of in ("min", "max", "mean", "last")]
    return [
        *numbers("num_reports", "num_waits", "step_first", "step"),
        sa.Column("time", sa.Double(), nullable=False),
        *(sa.Column(name, sa.Double(), nullable=metric.startswith("wait_")) for metric, name in kept),
    ]


def key(table: str, *columns: str) -> list[sa.Constraint]:
    return [
        sa.ForeignKeyConstraint(
            ["attempt_id"], ["attempt.id"], name=op.f(f"fk_{table}_attempt_id_attempt"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint(*columns, name=op.f(f"pk_{table}")),
    ]


def numbers(*names: str) -> list[sa.Column[object]]:
    return [sa.Column(name, ROW_ID if name.endswith("_id") else sa.BigInteger(), nullable=False) for name in names]


def partition_reports() -> None:
    """The table as it is becomes the default partition of a partitioned one."""
    op.execute("ALTER TABLE rank_report RENAME TO rank_report_default")
    op.execute("ALTER TABLE rank_report_default DROP CONSTRAINT pk_rank_report")
    op.execute("ALTER TABLE rank_report_default DROP CONSTRAINT fk_rank_report_attempt_id_attempt")
    op.create_primary_key("pk_rank_report_default", "rank_report_default", [*IDENTITY, "time"])
    op.execute("CREATE TABLE rank_report (LIKE rank_report_default) PARTITION BY RANGE (time)")
    op.create_primary_key("pk_rank_report", "rank_report", [*IDENTITY, "time"])
    op.execute("ALTER TABLE rank_report ATTACH PARTITION rank_report_default DEFAULT")
    op.create_foreign_key(
        op.f("fk_rank_report_attempt_id_attempt"), "rank_report", "attempt", ["attempt_id"], ["id"], ondelete="CASCADE"
    )


def upgrade() -> None:
    if on_postgresql():
        op.execute("SET LOCAL lock_timeout = '10s'")
        partition_reports()
    op.create_index(op.f("ix_rank_report_attempt_id_time"), "rank_report", ["attempt_id", "time"])
    op.create_index(op.f("ix_source_progress_attempt_id_time"), "source_progress", ["attempt_id", "time"])
    op.create_table(
        "rank_rollup_1m",
        *numbers("attempt_id", "rank", "minute"),
        *rolled(),
        *key("rank_rollup_1m", "attempt_id", "rank", "minute"),
        sqlite_with_rowid=False,
        postgresql_partition_by="RANGE (minute)",
    )
    if on_postgresql():
        op.execute("CREATE TABLE rank_rollup_1m_default PARTITION OF rank_rollup_1m DEFAULT")
    op.create_table(
        "job_rollup_1m",
        *numbers("attempt_id", "minute"),
        *rolled(),
        *numbers("num_ranks", "num_rounds"),
        *key("job_rollup_1m", "attempt_id", "minute"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "source_rollup_1m",
        *numbers("attempt_id", "minute", "source_id", "num_steps", "step"),
        sa.Column("time", sa.Double(), nullable=False),
        *numbers("ordinal", "epoch", "target_ppm", "tokens"),
        sa.Column("loss_sum", sa.Double(), nullable=False),
        *numbers("loss_count"),
        *(sa.Column(name, sa.Double(), nullable=True) for name in ("loss_min", "loss_max", "loss_last")),
        sa.ForeignKeyConstraint(
            ["source_id"], ["job_source.id"], name=op.f("fk_source_rollup_1m_source_id_job_source"), ondelete="CASCADE"
        ),
        *key("source_rollup_1m", "attempt_id", "minute", "source_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "rollup_due",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("attempt_id", ROW_ID, nullable=False),
        *numbers("minute"),
        sa.ForeignKeyConstraint(
            ["attempt_id"], ["attempt.id"], name=op.f("fk_rollup_due_attempt_id_attempt"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rollup_due")),
    )
    op.create_index(op.f("ix_rollup_due_minute"), "rollup_due", ["minute"])
    minute = "CAST(floor(time / 60) AS bigint) * 60" if on_postgresql() else "CAST(time / 60 AS integer) * 60"
    for table in ("rank_report", "source_progress"):
        op.execute(f"INSERT INTO rollup_due (attempt_id, minute) SELECT DISTINCT attempt_id, {minute} FROM {table}")


def downgrade() -> None:
    for table in ("rollup_due", "source_rollup_1m", "job_rollup_1m", "rank_rollup_1m"):
        op.drop_table(table)
    op.drop_index(op.f("ix_source_progress_attempt_id_time"), "source_progress")
    op.drop_index(op.f("ix_rank_report_attempt_id_time"), "rank_report")
    if on_postgresql():
        op.execute("CREATE TABLE reports (LIKE rank_report)")
        op.execute("INSERT INTO reports SELECT * FROM rank_report")
        op.drop_table("rank_report")
        op.execute("ALTER TABLE reports RENAME TO rank_report")
        op.create_primary_key("pk_rank_report", "rank_report", IDENTITY)
        op.create_foreign_key(
            op.f("fk_rank_report_attempt_id_attempt"),
            "rank_report",
            "attempt",
            ["attempt_id"],
            ["id"],
            ondelete="CASCADE",
        )

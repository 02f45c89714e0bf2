"""Changes of the mix that wait for a step, a time or an approval; when leaders asked; replies to repeated requests.

A server of the version before can go on writing: its rows have none of the new values. What it pauses meanwhile is
listed without the weight to return to.

Revision ID: 0006_mix_changes
Revises: 0005_people
"""

import sqlalchemy as sa
from alembic import op

revision = "0006_mix_changes"
down_revision = "0005_people"
branch_labels = None
depends_on = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def nullable(kind: type[sa.types.TypeEngine[object]], *names: str) -> list[sa.Column[object]]:
    return [sa.Column(name, kind(), nullable=True) for name in names]


def given(kind: type[sa.types.TypeEngine[object]], *names: str) -> list[sa.Column[object]]:
    return [sa.Column(name, kind(), nullable=False) for name in names]


def make_mix_change() -> None:
    op.create_table(
        "mix_change",
        sa.Column("id", ROW_ID, nullable=False),
        *given(sa.Uuid, "uuid"),
        sa.Column("job_id", ROW_ID, nullable=False),
        *given(sa.Text, "state", "kind", "starts", "reason", "author", "author_person"),
        *given(sa.JSON, "weights_ppm"),
        *given(sa.BigInteger, "ramp_steps"),
        *given(sa.Double, "created_at"),
        *nullable(sa.Text, "why", "decided_by", "decision_reason"),
        *nullable(sa.BigInteger, "from_step", "base_version", "reverts", "version"),
        *nullable(sa.Double, "at_time", "expires_at", "decided_at", "late_s", "settled_at"),
        sa.Column("follows", ROW_ID, nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_mix_change_job_id_job"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["follows"], ["mix_change.id"], name=op.f("fk_mix_change_follows_mix_change")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mix_change")),
        sa.UniqueConstraint("uuid", name=op.f("uq_mix_change_uuid")),
    )
    op.create_index(op.f("ix_mix_change_job_id_id"), "mix_change", ["job_id", "id"])
    op.create_index(op.f("ix_mix_change_state"), "mix_change", ["state"])
    op.create_index(op.f("ix_mix_change_follows"), "mix_change", ["follows"])


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("SET LOCAL lock_timeout = '10s'")
    op.add_column("project", sa.Column("requires_approval", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("job_source", sa.Column("end_ordinal", sa.BigInteger(), nullable=True))
    for column in (*nullable(sa.JSON, "paused"), *nullable(sa.Uuid, "change"), *nullable(sa.Text, "approved_by")):
        op.add_column("mix_version", column)
    make_mix_change()
    op.create_table(
        "leader_poll",
        sa.Column("job_id", ROW_ID, nullable=False),
        *given(sa.Double, "polled_at"),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_leader_poll_job_id_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_leader_poll")),
    )
    op.create_table(
        "idempotency_key",
        *given(sa.Text, "caller", "key"),
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        *nullable(sa.BigInteger, "status"),
        *nullable(sa.JSON, "headers"),
        *nullable(sa.LargeBinary, "body"),
        *given(sa.Double, "created_at"),
        sa.PrimaryKeyConstraint("caller", "key", name=op.f("pk_idempotency_key")),
    )
    op.create_index(op.f("ix_idempotency_key_created_at"), "idempotency_key", ["created_at"])


def downgrade() -> None:
    for table in ("idempotency_key", "leader_poll", "mix_change"):
        op.drop_table(table)
    for name in ("approved_by", "change", "paused"):
        op.drop_column("mix_version", name)
    op.drop_column("job_source", "end_ordinal")
    op.drop_column("project", "requires_approval")

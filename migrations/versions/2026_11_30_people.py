"""Roles and members, administrators, identities of a provider, keys for one job, sessions that rotate, failed logins.

A server of the version before can go on writing: new columns are nullable or have a default. Who could sign in so far
could do everything, and stays an administrator; whom the version before adds meanwhile has no rights until given some.

Revision ID: 0005_people
Revises: 0004_audit_append_only
"""

import sqlalchemy as sa
from alembic import op

revision = "0005_people"
down_revision = "0004_audit_append_only"
branch_labels = None
depends_on = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def foreign(table: str, column: str, target: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{column}_{target}")
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=name, ondelete="CASCADE")


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("SET LOCAL lock_timeout = '10s'")
    op.add_column("project", sa.Column("archived_at", sa.Double(), nullable=True))
    op.add_column("user", sa.Column("is_admin", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("user", sa.Column("disabled_at", sa.Double(), nullable=True))
    op.execute(sa.update(sa.table("user", sa.column("is_admin", sa.Boolean()))).values(is_admin=sa.true()))
    op.add_column("api_key", sa.Column("job", sa.Text(), nullable=True))
    for name in ("seen_at", "rotated_at", "previous_until"):
        op.add_column("session", sa.Column(name, sa.Double(), nullable=True))
    op.add_column("session", sa.Column("previous_hash", sa.LargeBinary(32), nullable=True))
    op.create_index(op.f("ix_session_previous_hash"), "session", ["previous_hash"], unique=True)
    op.create_table(
        "member",
        sa.Column("project_id", ROW_ID, nullable=False),
        sa.Column("user_id", ROW_ID, nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("added_at", sa.Double(), nullable=False),
        foreign("member", "project_id", "project"),
        foreign("member", "user_id", "user"),
        sa.PrimaryKeyConstraint("project_id", "user_id", name=op.f("pk_member")),
    )
    op.create_index(op.f("ix_member_user_id"), "member", ["user_id"])
    op.create_table(
        "identity",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("user_id", ROW_ID, nullable=False),
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        foreign("identity", "user_id", "user"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_identity")),
        sa.UniqueConstraint("issuer", "subject", name=op.f("uq_identity_issuer_subject")),
    )
    op.create_index(op.f("ix_identity_user_id"), "identity", ["user_id"])
    op.create_table(
        "login_failures",
        sa.Column("who", sa.LargeBinary(32), nullable=False),
        sa.Column("num", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("who", name=op.f("pk_login_failures")),
    )
    op.create_index(op.f("ix_login_failures_since"), "login_failures", ["since"])


def downgrade() -> None:
    for table in ("login_failures", "identity", "member"):
        op.drop_table(table)
    op.drop_index(op.f("ix_session_previous_hash"), "session")
    for name in ("previous_hash", "previous_until", "rotated_at", "seen_at"):
        op.drop_column("session", name)
    op.drop_column("api_key", "job")
    op.drop_column("user", "disabled_at")
    op.drop_column("user", "is_admin")
    op.drop_column("project", "archived_at")

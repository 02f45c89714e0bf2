"""Indexes by which the audit log is searched: who, and when.

A server of the version before is not affected.

Revision ID: 0010_audit_search
Revises: 0009_delivery
"""

from alembic import op

revision = "0010_audit_search"
down_revision = "0009_delivery"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("SET LOCAL lock_timeout = '10s'")
    op.create_index(op.f("ix_audit_event_actor_id"), "audit_event", ["actor", "id"])
    op.create_index(op.f("ix_audit_event_at"), "audit_event", ["at"])


def downgrade() -> None:
    op.drop_index(op.f("ix_audit_event_at"), "audit_event")
    op.drop_index(op.f("ix_audit_event_actor_id"), "audit_event")

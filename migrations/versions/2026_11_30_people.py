"""Members and roles, keys for one job, identities of a provider.

Revision ID: 0005_people
Revises: 0004_audit_append_only
"""

revision = "0005_people"
down_revision = "0004_audit_append_only"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass

"""Changes that wait for a time, a step or an approval; idempotency keys.

Revision ID: 0006_mix_changes
Revises: 0005_people
"""

revision = "0006_mix_changes"
down_revision = "0005_people"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass

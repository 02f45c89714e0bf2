"""Alert rules, what they raised, webhooks and their outbox.

Revision ID: 0007_alerts
Revises: 0006_mix_changes
"""

revision = "0007_alerts"
down_revision = "0006_mix_changes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass

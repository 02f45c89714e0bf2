"""What of a job changed at a resume.

Revision ID: 0008_eras
Revises: 0007_alerts
"""

revision = "0008_eras"
down_revision = "0007_alerts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass

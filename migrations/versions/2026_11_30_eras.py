"""What of a job changed at a resume.

Revision ID: 0008_eras
Revises: 0007_alerts
"""

import sqlalchemy as sa
from alembic import op

revision = "0008_eras"
down_revision = "0007_alerts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The previous version leaves it out, and a start without it is one that changed nothing but the mix.
    op.add_column("attempt", sa.Column("beginning", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("attempt", "beginning")

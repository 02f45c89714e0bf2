"""How far reports are stretched under load, beside when a server was last up.

A server of the version before can go on writing: its rows get the default, no stretch.

Revision ID: 0009_delivery
Revises: 0008_eras
"""

import sqlalchemy as sa
from alembic import op

revision = "0009_delivery"
down_revision = "0008_eras"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("server_clock", sa.Column("stretch", sa.Double(), server_default="1", nullable=False))


def downgrade() -> None:
    op.drop_column("server_clock", "stretch")

"""What a rank had to replace by padding: how many tokens, and the last place.

A server of the version before can go on writing: new rows have none.

Revision ID: 0003_masked_tokens
Revises: 0002_rollups
"""

import sqlalchemy as sa
from alembic import op

revision = "0003_masked_tokens"
down_revision = "0002_rollups"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("rank_state", sa.Column("masked_tokens", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("rank_state", sa.Column("masked_at", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("rank_state", "masked_at")
    op.drop_column("rank_state", "masked_tokens")

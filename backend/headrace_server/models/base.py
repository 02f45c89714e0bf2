"""What every table shares: types, one naming convention for constraints, and row ids.

Times are Unix seconds (double precision, UTC), named ``…_at`` when the server took them and ``time`` when a rank did.
Weights are parts per million that sum to 1,000,000.
"""

from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

# SQLite gives row ids to INTEGER PRIMARY KEY only.
RowId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Weights = dict[str, int]
Json = dict[str, Any]


class Base(DeclarativeBase):
    """Every table."""

    metadata = sa.MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012
        int: sa.BigInteger(),
        float: sa.Double(),
        str: sa.Text(),
        UUID: sa.Uuid(),
        Weights: sa.JSON(),
        Json: sa.JSON(),
        list[str]: sa.JSON(),
        list[Json]: sa.JSON(),
        dict[str, str]: sa.JSON(),
    }


def row_id() -> Mapped[int]:
    """A primary key that counts up."""
    return mapped_column(RowId, primary_key=True)


def parent(target: str, *, index: bool = False) -> Mapped[int]:
    """A row id of another table; rows go when theirs goes."""
    return mapped_column(RowId, sa.ForeignKey(target, ondelete="CASCADE"), index=index)

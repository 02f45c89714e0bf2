"""Replies that are given again when a request is repeated."""

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from .base import Base


class IdempotencyKey(Base):
    """The reply to a caller's request under the key it chose; ``digest`` is the request's SHA-256."""

    __tablename__ = "idempotency_key"
    caller: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    digest: Mapped[bytes] = mapped_column(sa.LargeBinary(32))
    # Null only inside the transaction that makes it.
    status: Mapped[int | None]
    headers: Mapped[dict[str, str] | None]
    body: Mapped[bytes | None] = mapped_column(sa.LargeBinary)
    created_at: Mapped[float] = mapped_column(index=True)

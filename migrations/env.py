"""Runs the migrations: on the server's connection, or on the configured database for the alembic command."""

import asyncio

from alembic import context
from headrace_server.db import build_engine
from headrace_server.models import Base
from headrace_server.settings import Settings
from sqlalchemy import Connection


def run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=connection.dialect.name == "sqlite",
        compare_type=True,
    )
    with context.begin_transaction():
        context.run_migrations()


async def run_configured() -> None:
    engine = build_engine(Settings())
    async with engine.begin() as connection:
        await connection.run_sync(run)
    await engine.dispose()


handed_over = context.config.attributes.get("connection")
if handed_over is not None:
    run(handed_over)
else:
    asyncio.run(run_configured())

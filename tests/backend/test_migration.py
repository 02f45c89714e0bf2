"""The migrations: equal to the models on both databases, safe to repeat, and clear about what doesn't fit (V04)."""

import asyncio
import subprocess
import sys
import uuid
import zipfile
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command as alembic
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from headrace_server import migration
from headrace_server.db import Database
from headrace_server.errors import StartRefusedError
from headrace_server.models import Base
from headrace_server.rollups import service as rollups
from headrace_server.settings import Settings

from tests.backend.builders import record
from tests.backend.postgres import PostgresServer
from tests.backend.process import serving
from tests.backend.world import running_world

BACKEND = Path(__file__).parents[2] / "backend"
BEGIN = 1_700_000_040.0
JOB: dict[str, object] = {
    "uuid": uuid.uuid4(),
    "project_id": 1,
    "name": "old",
    "owner": "ada",
    "seq_len": 128,
    "global_batch_size": 100,
    "total_steps": 100,
    "seed": 1,
    "packing": "concat",
    "tags": {},
    "archived": False,
    "created_at": BEGIN,
}
SOURCE: dict[str, object] = {
    "job_id": 1,
    "position": 0,
    "name": "web",
    "weight_ppm": 1_000_000,
    "num_documents": 1,
    "num_tokens": 1,
    "num_shards": 1,
}
ATTEMPT: dict[str, object] = {
    "uuid": uuid.uuid4(),
    "job_id": 1,
    "number": 1,
    "lineage": uuid.uuid4(),
    "world_size": 2,
    "dp_size": 2,
    "started_at": BEGIN,
    "loader_version": "0.1.0",
    "hostname": "node-0",
    "state": "live",
    "created_at": BEGIN,
}


def report(rank: int, seq: int) -> dict[str, object]:
    whole = record(rank, seq, seq)
    names = {column.name for column in Base.metadata.tables["rank_report"].columns}
    kept = {name: value for name, value in whole.items() if name in names}
    return {**kept, "attempt_id": 1, "time": BEGIN + 2 * seq, "received_at": BEGIN + 2 * seq}


def progress(step: int) -> dict[str, object]:
    counts = {"ordinal": step, "epoch": 0, "target_ppm": 1_000_000, "tokens": 1, "loss_sum": 1.0, "loss_count": 1}
    return {"attempt_id": 1, "step": step, "source_id": 1, "time": BEGIN + 2 * step, **counts}


async def in_database(settings: Settings, act):  # type: ignore[no-untyped-def]
    database = Database(settings)
    try:
        async with database.engine.begin() as connection:
            return await connection.run_sync(act)
    finally:
        await database.close()


async def test_the_models_are_what_the_migrations_make(settings: Settings) -> None:
    def differences(connection: sa.Connection) -> list[object]:
        def not_a_partition(_object: object, name: str | None, kind: str, *_: object) -> bool:
            return kind != "table" or name not in ("rank_report_default", "rank_rollup_1m_default")

        opts = {"compare_type": True, "include_object": not_a_partition}
        context = MigrationContext.configure(connection, opts=opts)
        return list(compare_metadata(context, Base.metadata))

    assert await in_database(settings, differences) == []


async def test_constraints_follow_one_convention(settings: Settings) -> None:
    def names(connection: sa.Connection) -> list[str | None]:
        inspector = sa.inspect(connection)
        found: list[str | None] = []
        for table in Base.metadata.tables:
            found += [key["name"] for key in inspector.get_foreign_keys(table)]
            found += [key["name"] for key in inspector.get_unique_constraints(table)]
            found.append(inspector.get_pk_constraint(table)["name"])
        return found

    found = await in_database(settings, names)
    assert len(found) > 30
    assert all(name is not None and name[:3] in ("fk_", "uq_", "pk_") for name in found), found


async def test_migrating_twice_and_by_two_at_once_is_safe(empty_settings: Settings) -> None:
    results = await asyncio.gather(*(migration.migrate(empty_settings) for _ in range(3)))
    assert {after for _, after in results} == {migration.head()}
    assert sum(before is None for before, _ in results) == 1
    assert await migration.migrate(empty_settings) == (migration.head(), migration.head())


async def test_data_survives_another_start(settings: Settings) -> None:
    def fill(connection: sa.Connection) -> None:
        connection.execute(sa.insert(Base.metadata.tables["project"]).values(name="kept", created_at=1.0))

    await in_database(settings, fill)
    await migration.migrate(settings)
    kept = await in_database(settings, lambda c: c.scalar(sa.text("SELECT count(*) FROM project")))
    assert kept == 1


async def test_an_upgrade_from_the_first_version_keeps_every_row(empty_settings: Settings) -> None:
    """Filled under the first revision, and shown as before under the newest (case V04)."""

    def fill(connection: sa.Connection) -> None:
        alembic.upgrade(migration.alembic_config(connection), "0001_first_tables")
        rows: dict[str, list[dict[str, object]]] = {
            "project": [{"name": "default", "created_at": 1.0}],
            "job": [JOB],
            "job_source": [SOURCE],
            "attempt": [ATTEMPT],
            "rank_report": [report(rank, seq) for rank in range(2) for seq in range(40)],
            "source_progress": [progress(step) for step in range(40)],
        }
        for name, values in rows.items():
            connection.execute(sa.insert(Base.metadata.tables[name]), values)

    def counted(connection: sa.Connection) -> list[int]:
        tables = ("project", "job", "attempt", "rank_report", "source_progress", "rollup_due")
        return [connection.scalar(sa.text(f"SELECT count(*) FROM {table}")) or 0 for table in tables]

    await in_database(empty_settings, fill)
    await migration.migrate(empty_settings)
    await in_database(
        empty_settings, lambda c: c.execute(sa.insert(Base.metadata.tables["rank_report"]), [report(0, 40)])
    )
    assert await in_database(empty_settings, counted) == [1, 1, 1, 81, 40, 4]
    async with running_world(empty_settings) as world:
        # The clock is the reports' own: nothing is too old to be kept.
        world.clock.now = BEGIN + 600
        assert await rollups.roll_up(world.runtime) == 2
        await rollups.housekeeping(world.runtime)
        job = f"/api/v1/jobs/{JOB['uuid']}"
        points = (await world.get(f"{job}/series", metric="queue_depth", max_points=2000))["points"]
        assert [point["x"] for point in points] == list(range(41))
    assert await in_database(empty_settings, counted) == [1, 1, 1, 81, 40, 0]


async def test_a_database_of_a_newer_server_is_refused(settings: Settings) -> None:
    await in_database(settings, lambda c: c.execute(sa.text("UPDATE alembic_version SET version_num = '9999_future'")))
    for refuse in (migration.prepare, migration.migrate):
        with pytest.raises(StartRefusedError, match=r"9999_future.*newer"):
            await refuse(settings)


async def test_postgres_behind_is_refused_with_the_command(postgres: PostgresServer, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, database_url=postgres.uri_of(postgres.create()))
    with pytest.raises(StartRefusedError, match="Run: headrace-server migrate"):
        await migration.prepare(settings)
    await migration.migrate(settings)
    await migration.prepare(settings)


async def test_an_unreachable_database_is_refused_without_its_password(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, database_url="postgresql://u:hunter2@127.0.0.1:1/x")
    for command in (migration.prepare, migration.migrate):
        with pytest.raises(StartRefusedError, match="can't reach the database") as refused:
            await command(settings)
        assert "hunter2" not in str(refused.value)


async def test_a_failed_migration_leaves_nothing_half_done(
    empty_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill in the middle rolls back as this does: all of it is one transaction."""
    upgrade = migration._upgrade

    def broken(connection: sa.Connection) -> None:
        upgrade(connection)
        raise RuntimeError("power cut")

    monkeypatch.setattr(migration, "_upgrade", broken)
    with pytest.raises(RuntimeError, match="power cut"):
        await migration.migrate(empty_settings)
    tables = await in_database(empty_settings, lambda c: sa.inspect(c).get_table_names())
    assert tables == []
    monkeypatch.undo()
    assert await migration.migrate(empty_settings) == (None, migration.head())


def build(source: Path, kind: str, into: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(into)],
        cwd=source,
        check=True,
        capture_output=True,
    )
    [built] = into.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


def test_wheels_carry_the_migrations_and_serve_with_them(tmp_path: Path) -> None:
    """From the checkout, and from the sdist, which no longer has the checkout around it."""
    import tarfile

    direct = build(BACKEND, "wheel", tmp_path / "direct")
    with tarfile.open(build(BACKEND, "sdist", tmp_path / "sdist")) as sdist:
        sdist.extractall(tmp_path / "unpacked", filter="data")
    [unpacked] = (tmp_path / "unpacked").iterdir()
    second = build(unpacked, "wheel", tmp_path / "second")
    names = [sorted(zipfile.ZipFile(wheel).namelist()) for wheel in (direct, second)]
    assert names[0] == names[1]
    assert "headrace_server/_migrations/env.py" in names[0]
    assert any(name.startswith("headrace_server/_migrations/versions/") for name in names[0])

    site = tmp_path / "site"
    zipfile.ZipFile(second).extractall(site)
    data = tmp_path / "data"
    data.mkdir()
    code = "from headrace_server.migration import migrations_dir; print(migrations_dir())"
    where = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(site)}, capture_output=True, text=True, check=True
    )
    assert Path(where.stdout.strip()) == site / "headrace_server" / "_migrations"
    with serving(data, pythonpath="") as server:
        assert server.ready["url"]

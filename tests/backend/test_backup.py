"""Backups of real data, made while it is written to, restored into new servers that say the same (case V05)."""

from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from headrace_server import migration
from headrace_server.settings import Settings

from tests.backend.builders import record
from tests.backend.leader import Leader
from tests.backend.postgres import PostgresServer
from tests.backend.process import Server, command, new_key, serving
from tests.backend.world import running_world

METRICS = ("tokens_per_s", "wait_p99_ms", "loss", "share")


def asked(server: Server, token: str, job: str, last_step: int) -> dict[str, Any]:
    """Everything that a restored server must still know."""
    headers = {"Authorization": f"Bearer {token}"}
    found: dict[str, Any] = {}
    with httpx.Client(base_url=f"{server.url}/api/v1", headers=headers, trust_env=False, timeout=60) as http:
        for path in (f"jobs/{job}/attempts", f"jobs/{job}/mix/versions", f"jobs/{job}/activations"):
            found[path] = http.get(path).raise_for_status().json()
        for metric in METRICS:
            query: dict[str, Any] = {"metric": metric, "max_points": 2000, "to": last_step}
            found[metric] = http.get(f"jobs/{job}/series", params=query).raise_for_status().json()
        found["audit"] = http.get("audit", params={"job": job, "limit": 200}).raise_for_status().json()
        stored = {"what": "reports", "format": "csv", "to": "2100-01-01"}
        rows = http.get(f"jobs/{job}/export", params=stored).raise_for_status().text.splitlines()
        found["reports"] = [row for row in rows[1:] if int(row.split(",")[7]) <= last_step]
    return found


def edited(server: Server, token: str, job: str) -> None:
    headers = {"Authorization": f"Bearer {token}", "If-Match": '"v1"'}
    body = {"weights": {"web": 1, "code": 1, "legal": 2}, "reason": "a test"}
    answer = httpx.put(f"{server.url}/api/v1/jobs/{job}/mix", json=body, headers=headers, trust_env=False)
    assert answer.status_code == 200, answer.text


def test_sqlite_is_backed_up_while_it_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    backup = tmp_path / "backup.db"
    with serving(tmp_path / "old") as server:
        token = new_key(server.data_dir)
        leader = Leader(server.url, token, "llama")
        edited(server, token, leader.id)
        with leader:
            for number in range(3):
                made = command(server.data_dir, "backup", str(tmp_path / f"{number}.db"))
                assert made.returncode == 0, made.stderr
        (tmp_path / "2.db").rename(backup)
        assert backup.stat().st_mode & 0o077 == 0
        again = command(server.data_dir, "backup", str(backup))
        assert (again.returncode, "is there already" in again.stderr) == (1, True)
        before = asked(server, token, leader.id, 99)
        login = server.ready
    assert len(before["reports"]) == 40
    backup.rename(tmp_path / "new" / "headrace.db")
    with serving(tmp_path / "new") as server:
        assert "password" not in server.ready, "the users are there: no first login is made"
        after = asked(server, token, leader.id, 99)
        known = ("jobs/" + leader.id + "/attempts", "reports", *METRICS)
        assert {name: after[name] for name in known} == {name: before[name] for name in known}
        assert after["audit"]["items"] == before["audit"]["items"][-len(after["audit"]["items"]) :]
        assert {"job.create", "mix.edit"} <= {event["action"] for event in after["audit"]["items"]}
        credentials = {"username": login["username"], "password": login["password"]}
        answer = httpx.post(f"{server.url}/api/v1/session", json=credentials, trust_env=False)
        assert answer.status_code == 200
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.db", "1.db", "new", "old"]


def test_a_backup_is_refused_with_the_reason(tmp_path: Path) -> None:
    none = command(tmp_path, "backup", str(tmp_path / "x.db"))
    assert (none.returncode, "there is no database at" in none.stderr) == (1, True)
    postgres = command(tmp_path, "backup", str(tmp_path / "x.db"), database_url="postgresql://u@127.0.0.1:1/x")
    assert (postgres.returncode, "pg_dump" in postgres.stderr) == (1, True)
    (tmp_path / "headrace.db").write_bytes(b"not a database at all" * 1000)
    damaged = command(tmp_path, "backup", str(tmp_path / "x.db"))
    assert (damaged.returncode, "can't back up" in damaged.stderr) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == ["headrace.db"]


def test_postgres_is_dumped_while_it_is_written_to(postgres: PostgresServer, tmp_path: Path) -> None:
    old, new = postgres.uri_of(postgres.create()), postgres.uri_of(postgres.create())
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    assert command(tmp_path / "old", "migrate", database_url=old).returncode == 0
    with serving(tmp_path / "old", database_url=old) as server:
        token = new_key(tmp_path / "old", database_url=old)
        leader = Leader(server.url, token, "llama")
        edited(server, token, leader.id)
        with leader:
            postgres.run("pg_dump", "--format=custom", f"--file={tmp_path / 'headrace.dump'}", old)
        before = asked(server, token, leader.id, 99)
    postgres.run("pg_restore", "--no-owner", "--exit-on-error", f"--dbname={new}", str(tmp_path / "headrace.dump"))
    assert command(tmp_path / "new", "migrate", database_url=new).returncode == 0
    with serving(tmp_path / "new", database_url=new) as server:
        after = asked(server, token, leader.id, 99)
        known = ("jobs/" + leader.id + "/attempts", "reports", *METRICS)
        assert {name: after[name] for name in known} == {name: before[name] for name in known}
        assert after["audit"]["items"] == before["audit"]["items"][-len(after["audit"]["items"]) :]
        headers = {"Authorization": f"Bearer {token}", "If-Match": '"v2"'}
        body = {"weights": {"web": 1, "code": 0, "legal": 0}, "reason": "goes on"}
        answer = httpx.put(f"{server.url}/api/v1/jobs/{leader.id}/mix", json=body, headers=headers, trust_env=False)
        assert answer.json()["version"] == 3, "row ids go on where they were"


@pytest.mark.parametrize("how", ["UPDATE audit_event SET actor = 'x'", "DELETE FROM audit_event"])
async def test_a_restored_audit_log_is_still_append_only(postgres: PostgresServer, tmp_path: Path, how: str) -> None:
    old, new = postgres.uri_of(postgres.create()), postgres.uri_of(postgres.create())
    settings = Settings(data_dir=tmp_path, database_url=old)
    await migration.migrate(settings)
    async with running_world(settings) as world:
        job, attempt = await world.running_job()
        await world.report(job, attempt, record(0))
    postgres.run("pg_dump", "--format=custom", f"--file={tmp_path / 'headrace.dump'}", old)
    postgres.run("pg_restore", "--no-owner", "--exit-on-error", f"--dbname={new}", str(tmp_path / "headrace.dump"))
    connection = await asyncpg.connect(new)
    try:
        with pytest.raises(asyncpg.PostgresError):
            await connection.execute(how)
    finally:
        await connection.close()

"""The command line: what it prints, what it refuses, and that no secret stays anywhere (cases A02, A04)."""

import sqlite3
import stat
from pathlib import Path

import httpx
import pytest

from tests.backend.postgres import PostgresServer
from tests.backend.process import command, new_key, serving


def test_a_first_start_prints_the_login_once_and_keeps_it_nowhere(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        password = server.ready["password"]
        assert server.ready["username"] == "admin"
        assert len(password) >= 20
        assert server.log.count(password) == 1
        assert stat.S_IMODE(server.ready_file.stat().st_mode) == 0o600
        assert stat.S_IMODE((tmp_path / "headrace.db").stat().st_mode) == 0o600
        login = {"username": "admin", "password": password}
        reply = httpx.post(f"{server.url}/api/v1/session", json=login)
        assert reply.status_code == 200
        cookie = reply.cookies["headrace_session"]
        key = new_key(tmp_path)
        assert httpx.get(f"{server.url}/metrics", headers={"Authorization": f"Bearer {key}"}).status_code == 200
        assert password not in Path(f"/proc/{server.process.pid}/cmdline").read_text()
        assert server.stop() < 10
        first_log = server.log.replace(password, "", 1)
    server.ready_file.unlink()
    with serving(tmp_path) as server:
        assert "password" not in server.ready
        assert httpx.post(f"{server.url}/api/v1/session", json=login).status_code == 200
        server.stop()
        kept = b"".join(file.read_bytes() for file in tmp_path.iterdir() if not file.name.startswith("log"))
        for secret in (password, key, cookie):
            assert secret not in server.log
            assert secret not in first_log
            assert secret.encode() not in kept


def test_a_public_bind_is_refused_with_the_flag_to_pass(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::"):
        refused = command(tmp_path, "serve", "--host", host, "--port", "0")
        assert refused.returncode == 1
        assert "--public" in refused.stderr and "TLS" in refused.stderr
    assert not (tmp_path / "headrace.db").exists(), "refused before anything was made"


def test_a_taken_port_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        refused = command(tmp_path, "serve", "--port", server.url.rpartition(":")[2])
        assert refused.returncode == 1
        assert "can't bind" in refused.stderr and "--port" in refused.stderr


def test_keys_and_users(tmp_path: Path) -> None:
    key = new_key(tmp_path, "read")
    assert key.startswith("hr_")
    for args in (
        ("key", "create", "--name", "x", "--scopes", "admin"),
        ("key", "create", "--name", "x", "--project", "nowhere"),
        ("user", "create", "ada"),
    ):
        refused = command(tmp_path, *args, stdin="")
        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr.startswith("headrace-server: ")
    made = command(tmp_path, "user", "create", "ada", "--generate")
    assert len(made.stdout.strip()) >= 20
    assert command(tmp_path, "user", "create", "ada", "--generate").returncode == 1
    short = command(tmp_path, "user", "password", "ada", "--password-stdin", stdin="short\n")
    assert (short.returncode, "at least 12" in short.stderr) == (1, True)
    changed = command(tmp_path, "user", "password", "ada", "--password-stdin", stdin="long enough, surely\n")
    assert (changed.returncode, changed.stdout) == (0, "")
    with serving(tmp_path) as server:
        assert "password" not in server.ready, "there is a user already"
        login = {"username": "ada", "password": "long enough, surely"}
        assert httpx.post(f"{server.url}/api/v1/session", json=login).status_code == 200


def test_postgres_is_migrated_by_hand_then_serves(tmp_path: Path, postgres: PostgresServer) -> None:
    url = postgres.uri_of(postgres.create())
    refused = command(tmp_path, "serve", "--port", "0", database_url=url)
    assert refused.returncode == 1
    assert "headrace-server migrate" in refused.stderr
    for _ in range(2):
        migrated = command(tmp_path, "migrate", database_url=url)
        assert migrated.returncode == 0, migrated.stderr
    with serving(tmp_path, database_url=url) as server:
        assert httpx.get(f"{server.url}/readyz").json() == {"status": "ready", "reason": None}
        assert server.ready["username"] == "admin"


@pytest.mark.parametrize(
    ("setting", "value"), [("port", "70000"), ("report_every_s", "0"), ("report_every_s", "x"), ("database_url", "x")]
)
def test_wrong_settings_are_named(tmp_path: Path, setting: str, value: str) -> None:
    refused = command(tmp_path, "serve", **{setting: value})
    assert refused.returncode == 1
    assert setting in refused.stderr.lower()
    assert "Traceback" not in refused.stderr


def test_the_copied_database_is_whole(tmp_path: Path) -> None:
    new_key(tmp_path)
    with sqlite3.connect(tmp_path / "headrace.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()

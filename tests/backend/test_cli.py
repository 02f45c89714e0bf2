"""The command line: what it prints, what it refuses, and that no secret stays anywhere (cases A02, A04)."""

import io
import socket
import sqlite3
import stat
from pathlib import Path

import httpx
import pytest
from headrace_server import cli, migration

from tests.backend.postgres import PostgresServer
from tests.backend.process import new_key, serving


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


class CommandLine:
    """The command line, run in this process: (exit code, output, errors)."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], data_dir: Path) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys
        self.set(data_dir=str(data_dir))

    def set(self, **settings: str) -> None:
        """Settings in the environment."""
        for name, value in settings.items():
            self.monkeypatch.setenv(f"HEADRACE_SERVER_{name.upper()}", value)

    def __call__(self, *args: str, stdin: str = "") -> tuple[int, str, str]:
        self.monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = cli.main(args)
        said = self.capsys.readouterr()
        return code, said.out, said.err


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> CommandLine:
    return CommandLine(monkeypatch, capsys, tmp_path)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_a_public_bind_is_refused_with_the_flag_to_pass(run: CommandLine, tmp_path: Path, host: str) -> None:
    code, _, errors = run("serve", "--host", host, "--port", "0")
    assert code == 1
    assert "--public" in errors and "TLS" in errors
    assert list(tmp_path.iterdir()) == [], "refused before anything was made"


def test_a_taken_port_is_refused(run: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, errors = run("serve", "--port", str(taken.getsockname()[1]))
    assert code == 1
    assert "can't bind" in errors and "--port" in errors


def test_keys_are_printed_once(run: CommandLine) -> None:
    code, key, _ = run("key", "create", "--name", "ci", "--scopes", "read, operate", "--expires-days", "1")
    assert code == 0
    assert key.startswith("hr_") and len(key.strip()) > 40
    assert run("key", "create", "--name", "x", "--scopes", "admin")[0] == 1
    code, output, errors = run("key", "create", "--name", "x", "--project", "nowhere")
    assert (code, output) == (1, "")
    assert "no project 'nowhere'" in errors


def test_users_and_their_passwords(run: CommandLine) -> None:
    assert "--generate" in run("user", "create", "ada")[2]
    code, password, _ = run("user", "create", "ada", "--generate")
    assert (code, len(password.strip()) >= 20) == (0, True)
    assert run("user", "create", "ada", "--generate")[0] == 1
    code, _, errors = run("user", "password", "ada", "--password-stdin", stdin="short\n")
    assert (code, "at least 12" in errors) == (1, True)
    assert run("user", "password", "ada", "--password-stdin", stdin="long enough, surely\n") == (0, "", "")
    assert "no user 'bob'" in run("user", "password", "bob", "--generate")[2]


@pytest.mark.parametrize(
    ("setting", "value"), [("port", "70000"), ("report_every_s", "0"), ("report_every_s", "x"), ("database_url", "x")]
)
def test_wrong_settings_are_named(run: CommandLine, setting: str, value: str) -> None:
    run.set(**{setting: value})
    code, _, errors = run("serve")
    assert code == 1
    assert setting in errors.lower()


def test_postgres_is_migrated_by_hand_then_serves(run: CommandLine, tmp_path: Path, postgres: PostgresServer) -> None:
    url = postgres.uri_of(postgres.create())
    run.set(database_url=url)
    code, _, errors = run("serve", "--port", "0")
    assert (code, "headrace-server migrate" in errors) == (1, True)
    for output in ("from empty", f"at {migration.head()}\n"):
        code, said, _ = run("migrate")
        assert (code, output in said) == (0, True)
    with serving(tmp_path, database_url=url) as server:
        assert httpx.get(f"{server.url}/readyz").json() == {"status": "ready", "reason": None}
        assert server.ready["username"] == "admin"


def test_the_database_is_in_wal_mode_and_whole(run: CommandLine, tmp_path: Path) -> None:
    run("key", "create", "--name", "x")
    connection = sqlite3.connect(tmp_path / "headrace.db")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()

"""After a run of the real server with keys, sessions and a provider: no secret is anywhere (case A04)."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import psycopg
import pytest

from tests.backend.oidc.provider import CLIENT_ID, CLIENT_SECRET, running_provider
from tests.backend.postgres import PostgresServer
from tests.backend.process import Server, command, new_key, serving

PASSWORD = "a password that is looked for"


def process_list() -> str:
    """The command line of every process that can be looked at, as ps shows it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
            except OSError:
                continue  # it has ended
    return "\n".join(found)


def everything_stored(folder: Path, uri: str | None) -> bytes:
    """The database's files, or every row of every table as text."""
    stored = b"".join(file.read_bytes() for file in folder.glob("headrace.db*"))
    if uri is None:
        return stored
    with psycopg.connect(uri) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (table,) in tables:
            stored += repr(connection.execute(f'SELECT t::text FROM "{table}" t').fetchall()).encode()
    return stored


def use(server: Server, key: str) -> list[str]:
    """Sign in with a password and with the provider, use a key, err with each; returns what was secret."""
    with httpx.Client(base_url=server.url) as browser:
        login = {"username": "ada", "password": PASSWORD}
        csrf = browser.post("/api/v1/session", json=login).json()["csrf_token"]
        session = browser.cookies["headrace_session"]
        assert browser.get(f"/api/v1/projects?token={key}").status_code == 200
        browser.post("/api/v1/session", json={**login, "password": PASSWORD + "!", "token": key})
    with httpx.Client(base_url=server.url) as browser:
        away = browser.get("/api/v1/session/oidc/login").headers["location"]
        attempt = browser.cookies["headrace_login"]
        back = httpx.get(away).headers["location"]
        assert browser.get(back).status_code == 303
        by_provider = browser.cookies["headrace_session"]
        assert browser.get(back).status_code == 403
    asked, answered = parse_qs(urlsplit(away).query), parse_qs(urlsplit(back).query)
    headers = {"Authorization": f"Bearer {key}"}
    assert httpx.get(f"{server.url}/api/v1/projects", headers=headers).status_code == 200
    assert httpx.post(f"{server.url}/api/v1/projects/{key}/jobs", headers=headers, json={key: key}).status_code == 404
    passing = [asked["nonce"][0], answered["state"][0], answered["code"][0]]
    return [PASSWORD, csrf, session, attempt, by_provider, CLIENT_SECRET, *passing, *session.split(".")]


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_secrets_stay_nowhere(
    database: str, tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    chosen: dict[str, str] = {}
    if database == "postgresql":
        chosen["database_url"] = postgres.uri_of(postgres.create())
        assert command(tmp_path, "migrate", **chosen).returncode == 0
    made = command(tmp_path, "user", "create", "ada", "--admin", "--password-stdin", stdin=PASSWORD, **chosen)
    assert made.returncode == 0, made.stderr
    key = new_key(tmp_path, **chosen)
    with running_provider() as provider:
        oidc = {"oidc_issuer": provider.issuer, "oidc_client_id": CLIENT_ID, "oidc_client_secret": CLIENT_SECRET}
        with serving(tmp_path, **chosen, **oidc) as server:
            provider.redirect_uri = f"{server.url}/api/v1/session/oidc/callback"
            secrets = use(server, key)
            running = process_list()
            server.stop()
            stored, log = everything_stored(tmp_path, chosen.get("database_url")), server.log
    assert "headrace_server" in running and "session.open" in stored.decode("utf-8", "replace")
    for secret in secrets:
        for place in (log, running, stored.decode("utf-8", "replace")):
            assert secret not in place
    # What a caller puts into a path is logged: keys belong in a header, and don't get into the database either way.
    assert key not in running and key.encode() not in stored


def test_a_forwarded_address_counts_from_a_trusted_proxy_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {"username": "ada", "password": "wrong"}

    def statuses(server: Server) -> list[int]:
        found = []
        for i in range(7):
            headers = {"X-Forwarded-For": f"192.0.2.{i}"}
            found.append(httpx.post(f"{server.url}/api/v1/session", json=wrong, headers=headers).status_code)
        return found

    with serving(tmp_path) as server:
        assert statuses(server) == [401] * 7, "seven clients behind the proxy on this machine"
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "192.0.2.200")
    with serving(tmp_path) as server:
        assert statuses(server) == [401] * 5 + [429] * 2, "one client that makes addresses up"

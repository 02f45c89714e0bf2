"""Settings are safe by default and say what is wrong with them."""

from pathlib import Path

import pytest
from headrace_server.errors import StartRefusedError
from headrace_server.settings import Settings, is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]"])
def test_loopback_needs_no_flag(host: str) -> None:
    assert is_loopback(host)
    Settings(host=host).refuse_unsafe_bind()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "example.org", "localhost.evil.example", "128.0.0.1"])
def test_a_public_bind_needs_the_flag_and_is_told_which(host: str) -> None:
    with pytest.raises(StartRefusedError, match="--public"):
        Settings(host=host).refuse_unsafe_bind()
    Settings(host=host, public=True).refuse_unsafe_bind()


def test_several_workers_need_postgres_and_are_told_why() -> None:
    with pytest.raises(StartRefusedError, match="one writer at a time"):
        Settings(workers=2).refuse_workers_on_sqlite()
    Settings(workers=1).refuse_workers_on_sqlite()
    Settings(workers=2, database_url="postgresql://u@h/db").refuse_workers_on_sqlite()


def test_the_cookie_is_secure_where_tls_is_in_front() -> None:
    assert not Settings().secure_cookie
    assert Settings(public=True).secure_cookie
    assert not Settings(public=True, cookie_secure=False).secure_cookie


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("postgresql://u@h/db", "postgresql+asyncpg://u@h/db"),
        ("postgres://u@h/db", "postgresql+asyncpg://u@h/db"),
        ("postgresql+asyncpg://u@h/db", "postgresql+asyncpg://u@h/db"),
        ("sqlite:////tmp/x.db", "sqlite+aiosqlite:////tmp/x.db"),
    ],
)
def test_database_urls_become_async_ones(given: str, url: str) -> None:
    assert Settings(database_url=given).url == url


@pytest.mark.parametrize("given", ["mysql://u:secret@h/db", "secret", "sqlite://", "sqlite:///:memory:"])
def test_other_databases_are_refused_without_showing_the_url(given: str) -> None:
    with pytest.raises(StartRefusedError) as refused:
        _ = Settings(database_url=given).url
    assert "secret" not in str(refused.value)


def test_hosts_come_comma_separated_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADRACE_SERVER_ALLOWED_HOSTS", "headrace.example, Other.Example ")
    monkeypatch.setenv("HEADRACE_SERVER_DATA_DIR", str(tmp_path))
    settings = Settings()
    assert settings.known_hosts == {"headrace.example", "other.example", "localhost", "127.0.0.1", "::1"}
    assert settings.data_dir == tmp_path

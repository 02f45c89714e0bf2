"""Object storage for the tests that need it: one server for all of them, started by the first."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.loader.object_store import ENVIRONMENT, Store, moto


@pytest.fixture(scope="session")
def s3_server() -> Iterator[Store]:
    with moto() as store:
        yield store


@pytest.fixture
def store(s3_server: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The server, with credentials for it in the environment and a cache folder of the test's own."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return s3_server

"""One real server for the client's tests."""

from collections.abc import Iterator

import pytest

from tests.backend.process import Server, new_key, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server process over SQLite."""
    with serving(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module")
def token(server: Server) -> str:
    """A key that may do everything a key may."""
    return new_key(server.data_dir)

"""A service that signs people in with a provider on loopback."""

from collections.abc import AsyncIterator, Iterator

import pytest
from headrace_server.settings import Settings

from tests.backend.oidc.provider import CLIENT_ID, CLIENT_SECRET, Provider, running_provider
from tests.backend.world import World, running_world


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """The provider."""
    # For the provider's own side: it is on loopback, without TLS.
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    with running_provider() as running:
        yield running


@pytest.fixture
async def world(settings: Settings, provider: Provider, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """The running service, with the settings of the test's ``oidc`` mark."""
    mark = request.node.get_closest_marker("oidc")
    chosen: dict[str, object] = {
        "data_dir": settings.data_dir,
        "database_url": settings.database_url,
        "oidc_issuer": provider.issuer,
        "oidc_client_id": CLIENT_ID,
        "oidc_client_secret": CLIENT_SECRET,
        **({} if mark is None else mark.kwargs),
    }
    async with running_world(Settings.model_validate(chosen)) as running:
        yield running

"""Only known Host names are answered."""

import pytest
from headrace_server.middleware.hosts import host_name

from tests.backend.world import World


@pytest.mark.parametrize(
    ("header", "name"),
    [("localhost", "localhost"), ("LOCALHOST:8400", "localhost"), ("127.0.0.1:1", "127.0.0.1"), ("[::1]:8400", "::1")],
)
def test_the_port_is_not_part_of_the_name(header: str, name: str) -> None:
    assert host_name(header) == name


async def test_a_rebound_name_gets_nothing(world: World) -> None:
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8400", ""):
        reply = await world.viewer.get("/api/v1/projects", headers={"Host": host})
        assert (reply.status_code, reply.json()["code"]) == (400, "host_refused")
        assert (await world.stranger.get("/", headers={"Host": host})).status_code == 400


async def test_probes_come_by_any_name(world: World) -> None:
    for path in ("/healthz", "/readyz"):
        assert (await world.stranger.get(path, headers={"Host": "10.1.2.3:8400"})).status_code == 200

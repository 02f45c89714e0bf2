"""Every response, good or bad, carries the security headers and a request id; the log never holds a secret."""

import logging

import pytest

from tests.backend.world import PASSWORD, World


async def test_headers_are_on_everything(world: World) -> None:
    for reply in (
        await world.viewer.get("/api/v1/projects"),
        await world.stranger.get("/api/v1/projects"),
        await world.stranger.get("/"),
        await world.stranger.get("/healthz"),
        await world.viewer.get("/api/v1/nothing"),
        await world.stranger.get("/", headers={"Host": "evil"}),
    ):
        policy = reply.headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert len(reply.headers["x-request-id"]) == 16


async def test_answers_of_the_api_are_not_cached(world: World) -> None:
    assert (await world.viewer.get("/api/v1/projects")).headers["cache-control"] == "no-store"


async def test_the_log_names_the_request_and_no_secret(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    key = await world.key("read")
    reply = await world.client(Authorization=f"Bearer {key}").get("/api/v1/audit", params={"cursor": "secret-query"})
    await world.person()
    # httpx is the client here; its lines are not the server's.
    said = "\n".join(line.getMessage() for line in caplog.records if line.name != "httpx")
    assert reply.headers["x-request-id"] in said
    for secret in (key, PASSWORD, "secret-query"):
        assert secret not in said

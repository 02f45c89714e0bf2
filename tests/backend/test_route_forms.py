"""What is not what a parameter should be: traversal in every form, NUL, length, other encodings. 4xx, never 5xx."""

import asyncio
from typing import Any
from urllib.parse import quote, unquote

import pytest
from headrace_server.principal import KEY_SCOPES

from tests.backend.routes import operations
from tests.backend.world import World

# As they stand in the request line: percent-encoded once, or twice, or not at all.
FORMS = [
    "..",
    "../../../../etc/passwd",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "..%2f..%2fetc%2fpasswd",
    "%252e%252e%252f",
    "..%5c..%5cwindows",
    "%c0%ae%c0%ae%c0%af",
    "%uff0e%uff0e",
    "%00",
    "x%00.json",
    "%0d%0aSet-Cookie:%20x=1",
    "%ff%fe",
    "%ed%a0%80",
    "file:%2f%2f%2fetc%2fpasswd",
    "a" * 5000,
    quote("💥" * 60),
    "%20",
    "-1",
    "1e999",
    "'%20OR%201=1--",
]


async def call(world: World, method: str, raw_path: str, query: str, token: str) -> tuple[int, bytes]:
    """A request just as written: no client tidies the path."""
    sent: list[dict[str, Any]] = []
    body = [{"type": "http.request", "body": b"{}", "more_body": False}]

    async def receive() -> dict[str, Any]:
        return body.pop() if body else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = {"host": "localhost", "authorization": f"Bearer {token}", "content-type": "application/json"}
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(raw_path),
        "raw_path": raw_path.encode("ascii", "replace"),
        "query_string": query.encode("ascii", "replace"),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
        "root_path": "",
    }
    try:
        async with asyncio.timeout(10):
            await world.app(scope, receive, send)
    except TimeoutError:
        pass  # a stream that goes on
    start = next(message for message in sent if message["type"] == "http.response.start")
    return start["status"], b"".join(message.get("body", b"") for message in sent[1:])


@pytest.fixture
async def token(world: World) -> str:
    """A key that may do what keys may, so that its requests get as far as they can."""
    world.runtime.broker.close()
    return await world.key(*KEY_SCOPES)


async def test_no_form_in_a_path_leads_anywhere(world: World, token: str) -> None:
    job = (await world.job()).rpartition("/")[2]
    known = {"project": "default", "job": job, "name": "mix", "version": "1"}
    walked = 0
    for operation in operations():
        for parameter in operation.names("path"):
            for form in FORMS:
                values = {name: known.get(name, "x") for name in operation.names("path")}
                path = operation.filled(**{**values, parameter: form})
                status, reply = await call(world, operation.method, path, "", token)
                assert 400 <= status < 500, (operation.method, path[:200], status)
                assert b"root:" not in reply
                walked += 1
    assert walked >= 800


async def test_no_form_in_a_query_makes_the_server_fail(world: World, token: str) -> None:
    job = (await world.job()).rpartition("/")[2]
    known = {"project": "default", "job": job, "name": "mix", "version": "1"}
    walked = 0
    for operation in operations():
        for parameter in operation.names("query"):
            for form in FORMS:
                path = operation.filled(**{name: known.get(name, "x") for name in operation.names("path")})
                status, reply = await call(world, operation.method, path, f"{parameter}={form}", token)
                assert status < 500, (operation.method, path, parameter, form[:100], status)
                assert b"root:" not in reply
                walked += 1
    assert walked > 500

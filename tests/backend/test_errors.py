"""One error, one status, one code; problems are valid JSON whatever the value and never show a secret."""

import json
from typing import Any

import pytest
from headrace_server import errors
from headrace_server.errors import HeadraceError, InvalidError
from headrace_server.problems import problem_body, shown_value, validation_items
from hypothesis import given
from hypothesis import strategies as st

from tests.backend.world import World


def every_error(kind: type[HeadraceError] = HeadraceError) -> list[type[HeadraceError]]:
    return [kind, *(sub for direct in kind.__subclasses__() for sub in every_error(direct))]


def test_codes_are_unique_and_drawn_in_the_tree() -> None:
    kinds = every_error()
    assert len({kind.code for kind in kinds}) == len(kinds)
    for kind in kinds[1:]:
        assert f"{kind.__name__} {kind.status}" in (errors.__doc__ or ""), kind.__name__


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists))
def test_any_value_can_be_shown(value: Any) -> None:
    shown = shown_value(value)
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    error = InvalidError("no", errors=[{"loc": ["body", "x"], "msg": "bad", "value": shown}])
    assert json.loads(problem_body(error, "id"))["errors"][0]["msg"] == "bad"


@pytest.mark.parametrize("field", ["password", "api_key", "csrf_token"])
def test_a_secret_is_never_echoed(field: str) -> None:
    [item] = validation_items([{"loc": ("body", field), "type": "string_type", "msg": "m", "input": "hunter2"}])
    assert "value" not in item


async def test_a_failure_of_the_server_is_a_problem_without_details(world: World) -> None:
    await world.runtime.database.engine.dispose()

    async def broken() -> None:
        raise RuntimeError("the secret is in here")

    world.app.router.routes.insert(0, world.app.router.routes.pop())
    world.app.add_api_route("/api/v1/broken", broken)
    world.app.router.routes.insert(0, world.app.router.routes.pop())
    reply = await world.viewer.get("/api/v1/broken")
    assert reply.status_code == 500
    assert reply.json()["code"] == "internal"
    assert reply.json()["request_id"] == reply.headers["x-request-id"]
    assert "secret" not in reply.text


async def test_json_that_json_would_not_print_is_refused_clearly(world: World) -> None:
    job = await world.job()
    for text in ('{"weights": {"web": NaN}, "reason": "r"}', '{"weights": {"web": 1e999}, "reason": "r"}'):
        reply = await world.operator.post(
            f"{job}/mix/preview", content=text, headers={"content-type": "application/json"}
        )
        assert reply.status_code == 422, reply.text
    lone = await world.operator.put(
        f"{job}/mix",
        content='{"weights": {"web": 1}, "reason": "\\ud800"}',
        headers={"content-type": "application/json", "If-Match": '"v1"'},
    )
    assert lone.status_code in (400, 422), lone.text
    for text in ("", "[", "\xff", "nul", '"x"', "[]", "{}", "[" * 100_000):
        reply = await world.operator.post(
            f"{job}/mix/preview", content=text.encode("latin-1"), headers={"content-type": "application/json"}
        )
        assert reply.status_code in (400, 422), (text[:10], reply.text)
        assert reply.json()["code"] in ("malformed_body", "invalid")

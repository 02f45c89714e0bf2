"""Every operation × every kind of caller: what the description of the API says is what happens.

Nothing here names a route: one that is added is walked too, and one that says nothing can't be described.
"""

import asyncio
import uuid
from dataclasses import dataclass
from typing import Annotated

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI
from headrace_server.openapi import declared_scopes
from headrace_server.principal import EVERYTHING, KEY_SCOPES, ROLE_SCOPES, ROLES, Scope
from headrace_server.work import calling

from tests.backend.routes import Operation, operations
from tests.backend.world import World

# What is reached other than by its project or its job: a name, or an id that is checked where it is found.
OTHER_IDS = {
    "attempt",
    "version",
    "name",
    "key_id",
    "username",
    "change",
    "rule",
    "alert",
    "webhook",
    "delivery",
    "mute",
    "rank",
    "metric",
}


@dataclass
class Caller:
    """Somebody with scopes in the project that paths lead to; ``general`` ones hold beside projects."""

    client: httpx.AsyncClient
    here: frozenset[str]
    general: frozenset[str]
    sees_here: bool
    is_person: bool

    def expected(self, operation: Operation) -> str:
        """``admitted``, ``refused`` (403) or ``unseen`` (404)."""
        if operation.in_a_project and operation.scopes & EVERYTHING - {"person", "server"}:
            if not self.is_person and not operation.scopes & self.general:
                return "refused"
            if not self.sees_here:
                return "unseen"
            return "admitted" if operation.scopes & self.here else "refused"
        if self.is_person and operation.scopes - {"person", "server"}:
            return "admitted"
        return "admitted" if operation.scopes & self.general else "refused"


async def callers(world: World) -> dict[str, Caller]:
    """One of each kind."""
    scopes = frozenset(KEY_SCOPES)
    foreign = await world.caller(*KEY_SCOPES, project="other")
    found = {"key of another project": Caller(foreign, frozenset(), scopes, False, False)}
    for scope in KEY_SCOPES:
        held = frozenset({scope})
        found[f"key {scope}"] = Caller(await world.caller(scope), held, held, True, False)
    person = frozenset({"person"})
    stranger = await world.person("stranger", other="admin")
    found["admin of another project"] = Caller(stranger, frozenset(), person, False, True)
    for role in ROLES:
        client = await world.person(role, default=role)
        found[role] = Caller(client, frozenset(ROLE_SCOPES[role]), person, True, True)
    root = await world.person("root")
    found["administrator"] = Caller(root, frozenset(EVERYTHING), frozenset(EVERYTHING), True, True)
    return found


def verdict(reply: httpx.Response | None) -> str:
    """What a reply says about the caller, whatever it says about the request."""
    if reply is None or reply.status_code < 400:
        return "admitted"
    assert reply.status_code < 500, reply.text
    problem = reply.json()
    if reply.status_code in (401, 403):
        return "refused" if problem["code"] == "insufficient_scope" else problem["code"]
    unseen = reply.status_code == 404 and problem["detail"].startswith(("no job", "no project"))
    return "unseen" if unseen else "admitted"


async def ask(client: httpx.AsyncClient, operation: Operation, path: str) -> httpx.Response | None:
    """The reply; None for a stream that goes on. Bodies are empty: what is decided here comes before they matter."""
    body = {} if operation.method in ("POST", "PUT", "PATCH") else None
    query = {
        parameter["name"]: "x"
        for parameter in operation.parameters
        if parameter["in"] == "query" and parameter.get("required")
    }
    try:
        async with asyncio.timeout(5):
            return await client.request(operation.method, path, json=body, params=query)
    except TimeoutError:
        return None


async def ids(world: World) -> dict[str, str]:
    """A project and a job that exist; the rest is unknown, so that nothing is done to it."""
    job = await world.job()
    known = {"name": "mix", "version": "1", "rank": "1", "metric": "loss"}
    unknown = {name: str(uuid.uuid4()) for name in OTHER_IDS} | known
    return {"project": "default", "job": job.rpartition("/")[2], **unknown}


async def test_every_operation_by_every_caller(world: World) -> None:
    """Ends every stream at once, so that those who are let in can be told from those who wait."""
    values = await ids(world)
    everybody = await callers(world)
    world.runtime.broker.close()
    walked = [operation for operation in operations() if operation.scopes != {"public"}]
    assert len(walked) >= 40
    wrong = []
    for operation in walked:
        path = operation.filled(**values)
        assert verdict(await ask(world.stranger, operation, path)) == "unauthenticated", operation
        for who, caller in everybody.items():
            ends_session = operation.method == "DELETE" and operation.scopes == {"person"}
            if ends_session and caller.is_person:
                continue  # shown below, each with a session of its own
            found, expected = verdict(await ask(caller.client, operation, path)), caller.expected(operation)
            if found != expected:
                wrong.append((operation.method, operation.path, who, found, expected))
    assert wrong == []


async def test_everybody_may_end_their_own_sessions_and_keys_have_none(world: World) -> None:
    for operation in operations():
        if operation.method == "DELETE" and operation.scopes == {"person"}:
            person = await world.person(str(uuid.uuid4()), default="viewer")
            assert (await person.request("DELETE", operation.path)).status_code == 204
            assert (await world.operator.request("DELETE", operation.path)).status_code == 403


async def test_public_operations_know_no_caller(world: World) -> None:
    public = {(operation.method, operation.path) for operation in operations() if operation.scopes == {"public"}}
    assert ("POST", "/api/v1/session") in public and ("GET", "/healthz") in public
    for method, path in public:
        reply = await world.stranger.request(method, path, json={} if method == "POST" else None)
        assert reply.status_code != 401 or reply.json()["code"] != "unauthenticated", path


def test_scopes_in_the_description_are_scopes() -> None:
    for operation in operations():
        assert operation.scopes
        assert operation.scopes == {"public"} or operation.scopes <= EVERYTHING, operation


@pytest.mark.parametrize("scopes", [(), ("read",)])
def test_a_route_that_does_not_say_once_who_may_call_it_cannot_be_described(scopes: tuple[Scope, ...]) -> None:
    router = APIRouter()
    twice = [calling(*scopes), calling(*scopes)] if scopes else [Depends(lambda: None)]

    @router.get("/api/v1/new")
    async def new(first: Annotated[object, twice[0]], last: Annotated[object, twice[-1]]) -> None:
        return None

    app = FastAPI()
    app.include_router(router)
    if scopes:
        assert twice[0] is not twice[1]
    with pytest.raises(AssertionError, match="must say once who may call it"):
        declared_scopes(app)

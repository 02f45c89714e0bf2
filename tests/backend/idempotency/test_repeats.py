"""Idempotency-Key: carried out once, answered alike, by anybody but its own caller never."""

import asyncio
import uuid
from typing import Any

import httpx
import sqlalchemy as sa
from headrace_server import caretaker, models
from headrace_server.settings import Settings

from tests.backend.builders import job_body
from tests.backend.world import World, running_world

HALVES = {"web": 1, "code": 1, "legal": 0}


async def put(world: World, job: str, key: str, base: int = 1, client: Any = None, **body: Any) -> httpx.Response:
    headers = {"Idempotency-Key": key, "If-Match": f'"v{base}"'}
    given = {"weights": HALVES, "reason": "once", **body}
    reply: httpx.Response = await (client or world.operator).put(f"{job}/mix", json=given, headers=headers)
    return reply


async def num_versions(world: World, job: str) -> int:
    return len((await world.get(f"{job}/mix/versions"))["items"])


async def test_a_repeated_edit_is_made_once_and_answered_alike(world: World) -> None:
    job = await world.job()
    key = str(uuid.uuid4())
    first = await put(world, job, key)
    assert (first.status_code, first.json()["version"]) == (200, 2)
    assert "idempotency-replayed" not in first.headers
    await world.edit(job, {"web": 1, "code": 2, "legal": 3}, 2)
    again = await put(world, job, key)
    assert (again.status_code, again.content) == (200, first.content)
    assert (again.headers["etag"], again.headers["content-type"]) == ('"v2"', "application/json")
    assert again.headers["idempotency-replayed"] == "true"
    assert await num_versions(world, job) == 3


async def test_another_request_under_the_key_is_refused(world: World) -> None:
    job, other = await world.job(), await world.job("other")
    await put(world, job, "k")
    replies = [
        await put(world, job, "k", reason="another"),
        await put(world, job, "k", 2),
        await put(world, other, "k"),
        await world.operator.post(
            f"{job}/mix/versions/1/revert",
            json={"reason": "once"},
            headers={"Idempotency-Key": "k", "If-Match": '"v2"'},
        ),
    ]
    assert {(reply.status_code, reply.json()["code"]) for reply in replies} == {(422, "idempotency_key_reused")}
    assert (await num_versions(world, job), await num_versions(world, other)) == (2, 1)


async def test_of_sixteen_twins_one_is_made_and_all_are_told_of_it(world: World) -> None:
    job = await world.job()
    replies = await asyncio.gather(*(put(world, job, "twins") for _ in range(16)))
    assert {(reply.status_code, reply.text) for reply in replies} == {(200, replies[0].text)}
    assert sum("idempotency-replayed" not in reply.headers for reply in replies) == 1
    assert await num_versions(world, job) == 2


async def test_twins_on_two_processes_are_one(settings: Settings) -> None:
    async with running_world(settings) as world, running_world(settings) as other:
        job = await world.job()
        # One key of the API on both apps: the same caller.
        elsewhere = other.client(Authorization=world.operator.headers["Authorization"])
        replies = await asyncio.gather(
            *(put(world, job, "twins", client=client) for client in (world.operator, elsewhere) for _ in range(4))
        )
        assert {(reply.status_code, reply.text) for reply in replies} == {(200, replies[0].text)}
        assert await num_versions(world, job) == 2


async def test_a_failure_is_not_kept(world: World) -> None:
    job = await world.job()
    assert (await put(world, job, "k", 7)).status_code == 412
    assert (await put(world, job, "k", reason=" ")).status_code == 422
    assert (await put(world, job, "k")).status_code == 200, "nothing had been made under it"
    async with world.runtime.database.read() as session:
        assert await session.scalar(sa.select(sa.func.count()).select_from(models.IdempotencyKey)) == 1


async def test_a_key_is_its_callers_own(world: World) -> None:
    job = await world.job()
    mine = await put(world, job, "k")
    theirs = await put(world, job, "k", client=await world.caller("read", "operate"))
    assert (mine.status_code, theirs.status_code) == (200, 412), "two keys of one name are two callers"
    assert (await put(world, job, "k", client=world.viewer)).status_code == 403


async def test_a_reply_is_kept_for_a_day(world: World) -> None:
    job = await world.job()
    await put(world, job, "k")
    world.clock.advance(24 * 3600 - 1)
    assert (await put(world, job, "k")).headers["idempotency-replayed"] == "true"
    world.clock.advance(2)
    assert (await put(world, job, "k")).status_code == 412
    await put(world, job, "later", 2)
    world.clock.advance(24 * 3600 + 1)
    await caretaker.tick(world.runtime, key_uses=True)
    async with world.runtime.database.read() as session:
        assert await session.scalar(sa.select(sa.func.count()).select_from(models.IdempotencyKey)) == 0


async def test_everything_of_the_mix_and_jobs_may_be_repeated(world: World) -> None:
    headers = {"Idempotency-Key": "made", "If-Match": '"v1"'}
    made = [
        await world.loader.post("/api/v1/projects/default/jobs", json=job_body("twice"), headers=headers)
        for _ in range(2)
    ]
    job = await world.job()
    path = f"{job}/mix"
    later = world.clock.now + 60
    calls: list[tuple[str, dict[str, Any]]] = [
        (f"{path}/changes", {"weights": HALVES, "reason": "r", "at": later}),
        (f"{path}/pause", {"source": "web", "reason": "r"}),
        (f"{path}/versions/1/revert", {"reason": "r"}),
    ]
    pairs = [made]
    for number, (url, body) in enumerate(calls):
        headers = {"Idempotency-Key": f"call-{number}", "If-Match": f'"v{max(1, number)}"'}
        pairs.append([await world.operator.post(url, json=body, headers=headers) for _ in range(2)])
    for first, second in pairs:
        assert first.status_code in (200, 201), first.text
        assert (second.status_code, second.text) == (first.status_code, first.text)
        assert second.headers["idempotency-replayed"] == "true"
    assert len((await world.get(f"{path}/changes"))["items"]) == 1
    assert await num_versions(world, job) == 3


async def test_a_key_that_can_not_be_one_is_refused(world: World) -> None:
    job = await world.job()
    for key in ("", "a b", "x" * 256, "a\tb"):
        reply = await put(world, job, key)
        assert (reply.status_code, reply.json()["code"]) == (422, "invalid"), key
        assert reply.json()["errors"][0]["loc"] == ["header", "Idempotency-Key"]


async def test_a_new_key_of_the_api_is_never_kept(world: World) -> None:
    """Its reply is the only place that holds the secret."""
    ada = await world.person()
    headers = {"Idempotency-Key": "k"}
    body = {"name": "ci", "scopes": ["read"]}
    replies = [await ada.post("/api/v1/projects/default/keys", json=body, headers=headers) for _ in range(2)]
    assert replies[0].json()["key"] != replies[1].json()["key"]
    async with world.runtime.database.read() as session:
        assert await session.scalar(sa.select(sa.func.count()).select_from(models.IdempotencyKey)) == 0

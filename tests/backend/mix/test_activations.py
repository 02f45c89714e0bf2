"""Activations: once by (attempt, revision), local ones become versions, superseded attempts have no say."""

import asyncio
import uuid
from typing import Any

from tests.backend.builders import DEFAULT_SOURCES, Body, activation_body, attempt_body
from tests.backend.world import World

HALVES = {"web": 1, "code": 1, "legal": 0}


async def activate(world: World, job: str, attempt: Body, revision: str, **changes: Any) -> Any:
    return await world.loader.post(f"{job}/activations", json=activation_body(attempt, revision, **changes))


async def test_the_same_activation_is_recorded_once(world: World) -> None:
    job, attempt = await world.running_job()
    await world.edit(job, HALVES, 1)
    replies = await asyncio.gather(*(activate(world, job, attempt, "service:2") for _ in range(8)))
    assert {reply.status_code for reply in replies} == {200}
    assert len({reply.text for reply in replies}) == 1
    assert len((await world.get(f"{job}/activations"))["items"]) == 1


async def test_configured_weights_are_version_one(world: World) -> None:
    job, attempt = await world.running_job()
    reply = await activate(world, job, attempt, "config:1", step=0)
    assert reply.json()["version"] == 1
    changed = {"web": 400_000, "code": 400_000, "legal": 200_000}
    second = await world.attempt(job)
    other = (await activate(world, job, second, "config:1", step=0, weights_ppm=changed)).json()
    assert other["version"] == 2
    version = await world.get(f"{job}/mix")
    assert (version["origin"], version["author"], version["weights_ppm"]) == ("config", "config", changed)


async def test_a_local_change_is_imported_once_over_attempts(world: World) -> None:
    job, first = await world.running_job()
    weights = {"web": 900_000, "code": 100_000, "legal": 0}
    reply = await activate(world, job, first, "local:abcd1234:1", weights_ppm=weights, reason="loss spike")
    assert reply.json()["version"] == 2
    version = await world.get(f"{job}/mix")
    assert (version["origin"], version["weights_ppm"], version["reason"]) == ("local", weights, "loss spike")
    second = await world.attempt(job, resumed_from_step=5, lineage=first["lineage"])
    assert (await activate(world, job, second, "local:abcd1234:1", weights_ppm=weights)).json()["version"] == 2
    assert (await world.get(f"{job}/mix"))["version"] == 2


async def test_a_superseded_attempt_gets_409(world: World) -> None:
    job, first = await world.running_job()
    await world.edit(job, HALVES, 1)
    await activate(world, job, first, "config:1", step=0)
    await world.attempt(job)
    reply = await activate(world, job, first, "service:2")
    assert (reply.status_code, reply.json()["code"]) == (409, "attempt_superseded")
    # What it said while it was live is still its word.
    assert (await activate(world, job, first, "config:1", step=0)).status_code == 200


async def test_wrong_activations_are_refused(world: World) -> None:
    job, attempt = await world.running_job()
    wrong: list[dict[str, Any]] = [
        {"revision": "service:99"},
        {"revision": "service:0x"},
        {"revision": "http://evil"},
        {"revision": "service:2", "weights_ppm": {"web": 1}},
        {"revision": "service:2", "weights_ppm": {**DEFAULT_SOURCES, "nowhere": 0}},
        {"revision": "service:2", "weights_ppm": {}},
        {"revision": "config:1", "step": -1},
        {"revision": "config:1", "at": float("1e12")},
        {"revision": "config:1", "reason": "a\u0000b"},
    ]
    for change in wrong:
        reply = await world.loader.post(f"{job}/activations", json=activation_body(attempt, **change))
        assert (reply.status_code, reply.json()["code"]) == (422, "invalid"), (change, reply.text)
    assert (await activate(world, job, attempt_body(), "config:1")).status_code == 404
    assert (await world.get(f"{job}/activations"))["items"] == []


async def test_they_are_listed_in_the_order_they_take_effect(world: World) -> None:
    job, attempt = await world.running_job()
    for number, step in ((1, 30), (2, 10), (3, 10), (4, 20)):
        await activate(world, job, attempt, f"local:aaaa:{number}", step=step)
    listed = (await world.get(f"{job}/activations"))["items"]
    assert [(a["step"], a["revision"][-1]) for a in listed] == [(10, "2"), (10, "3"), (20, "4"), (30, "1")]
    later = (await world.get(f"{job}/activations", from_step=20))["items"]
    assert [a["step"] for a in later] == [20, 30]
    assert (await world.get(f"{job}/activations", lineage=str(uuid.uuid4())))["items"] == []
    assert len((await world.get(f"{job}/activations", lineage=attempt["lineage"]))["items"]) == 4

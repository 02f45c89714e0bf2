"""Finding jobs: filters, and pages that are complete whatever is written meanwhile."""

import asyncio
from typing import Any

import pytest
from headrace_server.jobs import service

from tests.backend.builders import record
from tests.backend.world import World

JOBS = "/api/v1/projects/default/jobs"


async def names(world: World, **query: Any) -> list[str]:
    return [job["name"] for job in (await world.get(JOBS, **query))["items"]]


async def pages(world: World, **query: Any) -> list[str]:
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = await world.get(JOBS, **query, **cursor)
        found += [job["name"] for job in page["items"]]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


async def test_tags_owners_and_times_narrow_it(world: World) -> None:
    await world.job("a", tags={"team": "x", "size": "7b"})
    world.clock.advance(100)
    middle = world.clock()
    await world.job("b", tags={"team": "x"})
    world.clock.advance(100)
    await world.job("c", tags={"team": "y", "x": "team"})
    assert await names(world, tag="team=x") == ["b", "a"]
    assert await names(world, tag="team") == ["c", "b", "a"]
    assert await names(world, tag=["team=x", "size"]) == ["a"]
    assert await names(world, tag="team=") == []
    assert await names(world, created_from=middle - 1, created_to=middle + 1) == ["b"]
    assert await names(world, created_from="2000-01-01", created_to="2000-01-02T00:00:00Z") == []
    [owner] = {job["owner"] for job in [await world.get(await world.job("a"))]}
    assert await names(world, owner=owner, q="A") == ["a"]
    assert await names(world, owner=owner.upper()) == []
    for wrong in (
        {"tag": ""},
        {"tag": "\x00"},
        {"created_from": "soon"},
        {"state": "odd"},
        {"limit": 0},
        {"tag": ["x"] * 11},
    ):
        assert (await world.viewer.get(JOBS, params=wrong)).status_code == 422, wrong


@pytest.mark.parametrize("name", ['quo"te', "$.a", "a.b", "[0]", "it's", "back\\slash", "名", "%", "a b"])
async def test_a_tag_may_be_called_anything(world: World, name: str) -> None:
    await world.job("tagged", tags={name: "v=1"})
    await world.job("other", tags={"v": name})
    assert await names(world, tag=f"{name}=v=1") == ["tagged"]
    assert await names(world, tag=name) == ["tagged"]


async def test_tags_are_replaced_and_found_at_once(world: World) -> None:
    job = await world.job("a", tags={"team": "x"})
    changed = await world.operator.patch(job, json={"tags": {"team": "y"}})
    assert changed.json()["tags"] == {"team": "y"}
    assert (await names(world, tag="team=x"), await names(world, tag="team=y")) == ([], ["a"])
    assert (await world.operator.patch(job, json={"archived": True})).status_code == 200
    assert (await names(world, tag="team"), await names(world, tag="team", archived=True)) == ([], ["a"])
    assert not (await world.operator.patch(job, json={"archived": False})).json()["archived"]
    assert await names(world) == ["a"]


async def test_pages_are_complete_while_others_write(world: World) -> None:
    """Jobs are made, tagged, archived and brought back while a reader pages: who is there throughout is seen once."""
    steady = [f"steady {number}" for number in range(25)]
    coming = {f"coming {number}": await world.job(f"coming {number}") for number in range(6)}
    for name in steady:
        await world.job(name)
    done = asyncio.Event()

    async def write() -> int:
        number = 0
        while not done.is_set() or number < 10:
            await world.job(f"new {number}")
            path = coming[f"coming {number % 6}"]
            await world.operator.patch(path, json={"archived": number % 2 == 0})
            await world.operator.patch(path, json={"tags": {"number": str(number)}})
            number += 1
        return number

    writers = [asyncio.create_task(write()) for _ in range(2)]
    reads = [await pages(world, limit=3) for _ in range(4)]
    reads.append(await pages(world, limit=2, state="waiting"))
    done.set()
    assert min(await asyncio.gather(*writers)) >= 10
    for found in reads:
        assert len(found) == len(set(found))
        assert [name for name in found if name.startswith("steady")] == steady[::-1]


async def test_a_rare_state_is_looked_for_so_far_and_then_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_SCAN", 3)
    monkeypatch.setattr(service, "_MAX_SCANS", 2)
    job, attempt = await world.running_job()
    await world.report(job, attempt, record(0), record(1))
    for number in range(20):
        await world.job(f"idle {number}")
    first = await world.get(JOBS, state="running", limit=5)
    assert (first["items"], first["next_cursor"] is None) == ([], False)
    assert await pages(world, state="running", limit=5) == ["llama"]
    assert await pages(world, state="waiting", limit=5) == [f"idle {number}" for number in reversed(range(20))]

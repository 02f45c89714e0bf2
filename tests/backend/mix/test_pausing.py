"""Pausing a source: weight 0 at once, the rest in proportion, and back to its former weight."""

from typing import Any

import httpx

from tests.backend.world import World


async def pause(world: World, job: str, source: str, what: str = "pause", **headers: str) -> httpx.Response:
    body = {"source": source, "reason": f"{what} {source}"}
    return await world.operator.post(f"{job}/mix/{what}", json=body, headers=headers)


def weights(reply: httpx.Response) -> Any:
    assert reply.status_code == 200, reply.text
    return reply.json()["weights_ppm"]


async def test_a_paused_source_returns_to_its_former_weight(world: World) -> None:
    job = await world.job()
    first = await pause(world, job, "web")
    assert weights(first) == {"web": 0, "code": 600_000, "legal": 400_000}
    assert first.headers["etag"] == '"v2"'
    assert first.json()["paused"] == {"web": 500_000}
    second = await pause(world, job, "code")
    assert weights(second) == {"web": 0, "code": 0, "legal": 1_000_000}
    assert second.json()["paused"] == {"web": 500_000, "code": 600_000}
    assert weights(await pause(world, job, "code", "resume")) == {"web": 0, "code": 600_000, "legal": 400_000}
    last = await pause(world, job, "web", "resume")
    assert weights(last) == {"web": 500_000, "code": 300_000, "legal": 200_000}
    assert (last.json()["paused"], last.json()["version"]) == ({}, 5)
    events = (await world.get("/api/v1/audit", job=job[-36:]))["items"]
    assert [(e["action"], e["reason"]) for e in events[:4]] == [
        ("mix.resume", "resume web"),
        ("mix.resume", "resume code"),
        ("mix.pause", "pause code"),
        ("mix.pause", "pause web"),
    ]


async def test_a_weight_of_odd_parts_comes_back_exactly(world: World) -> None:
    job = await world.job()
    await world.edit(job, {"web": 0.123457, "code": 0.7, "legal": 0.176543}, 1)
    before = (await world.get(f"{job}/mix"))["weights_ppm"]
    await pause(world, job, "web")
    after = weights(await pause(world, job, "web", "resume"))
    assert after["web"] == before["web"] == 123_457
    assert all(abs(after[name] - before[name]) <= 1 for name in before)


async def test_a_source_stopped_by_an_edit_is_listed_too(world: World) -> None:
    job = await world.job()
    edited = await world.edit(job, {"web": 1, "code": 1, "legal": 0}, 1)
    assert edited.json()["paused"] == {"legal": 200_000}
    assert (await world.get(f"{job}/mix"))["paused"] == {"legal": 200_000}
    other = await world.edit(job, {"web": 1, "code": 3, "legal": 0}, 2)
    assert other.json()["paused"] == {"legal": 200_000}, "until it has a weight again"
    assert weights(await pause(world, job, "legal", "resume")) == {"web": 200_000, "code": 600_000, "legal": 200_000}


async def test_the_last_source_is_not_paused_nor_one_twice(world: World) -> None:
    job = await world.job()
    refused = [await pause(world, job, "web", "resume"), await pause(world, job, "nowhere")]
    await world.edit(job, {"web": 1, "code": 0, "legal": 0}, 1)
    refused += [await pause(world, job, "web"), await pause(world, job, "code")]
    await world.edit(job, {"web": 0, "code": 1, "legal": 0}, 2)
    refused.append(await pause(world, job, "web", "resume"))
    assert [(reply.status_code, reply.json()["code"]) for reply in refused] == [
        (409, "conflict"),
        (422, "invalid"),
        (409, "conflict"),
        (409, "conflict"),
        (409, "conflict"),
    ]
    assert "only source" in refused[2].json()["detail"]
    assert (await world.get(f"{job}/mix"))["version"] == 3
    assert (await world.operator.post(f"{job}/mix/pause", json={"source": "code"})).status_code == 422


async def test_a_pause_needs_no_if_match_but_heeds_one(world: World) -> None:
    job = await world.job()
    stale = await pause(world, job, "web", **{"If-Match": '"v7"'})
    assert (stale.status_code, stale.json()["current"]["version"]) == (412, 1)
    assert (await pause(world, job, "web", **{"If-Match": '"v1"'})).status_code == 200
    assert (await pause(world, job, "web", "resume", **{"If-Match": '"v1"'})).status_code == 412

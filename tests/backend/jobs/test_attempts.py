"""Starts of a job: once by id, the newest is live, and how they end."""

import asyncio
import uuid
from typing import Any

import pytest

from tests.backend.builders import attempt_body, record
from tests.backend.world import World


async def test_a_start_is_registered_once_however_often_it_is_sent(world: World) -> None:
    job = await world.job()
    body = attempt_body()
    replies = await asyncio.gather(*(world.loader.post(f"{job}/attempts", json=body) for _ in range(16)))
    assert {reply.status_code for reply in replies} == {200}
    assert {(r.json()["id"], r.json()["number"]) for r in replies} == {(body["id"], 1)}


async def test_a_newer_start_supersedes_the_older(world: World) -> None:
    job, first = await world.running_job()
    second = await world.attempt(job, resumed_from_step=7)
    attempts = (await world.get(f"{job}/attempts"))["items"]
    assert [(a["number"], a["state"]) for a in attempts] == [(1, "superseded"), (2, "live")]
    assert attempts[1]["resumed_from_step"] == 7
    assert (await world.loader.post(f"{job}/attempts", json=first)).json()["state"] == "superseded"
    assert (await world.get(job))["attempt"] == 2
    assert second["id"] == attempts[1]["id"]


async def test_starts_at_once_are_numbered_without_gaps_and_one_is_live(world: World) -> None:
    job = await world.job()
    bodies = [attempt_body(started_at=1000.0 + i) for i in range(8)]
    replies = await asyncio.gather(*(world.loader.post(f"{job}/attempts", json=body) for body in bodies))
    assert sorted(reply.json()["number"] for reply in replies) == list(range(1, 9))
    states = {a["id"]: a["state"] for a in (await world.get(f"{job}/attempts"))["items"]}
    assert [states[body["id"]] for body in bodies] == ["superseded"] * 7 + ["live"], "the last to start"


async def test_an_id_belongs_to_one_job(world: World) -> None:
    _, first = await world.running_job()
    other = await world.job("other")
    reply = await world.loader.post(f"{other}/attempts", json=first)
    assert (reply.status_code, reply.json()["code"]) == (409, "conflict")
    assert (await world.loader.patch(f"{other}/attempts/{first['id']}", json={"state": "failed"})).status_code == 404


@pytest.mark.parametrize(("state", "reason"), [("finished", None), ("failed", "out of memory on rank 3")])
async def test_the_first_end_stands(world: World, state: str, reason: str | None) -> None:
    job, attempt = await world.running_job()
    await world.report(job, attempt, record(0), record(1))
    path = f"{job}/attempts/{attempt['id']}"
    ended = await world.loader.patch(path, json={"state": state, "reason": reason})
    assert (ended.json()["state"], ended.json()["state_reason"]) == (state, reason)
    again = await world.loader.patch(path, json={"state": "failed", "reason": "later"})
    assert again.json() == ended.json()
    found = await world.get(job)
    assert found["state"] == state
    assert (reason or "finished") in found["state_reason"]
    world.clock.advance(7 * 86_400)
    assert (await world.get(job))["state"] == state


async def test_a_superseded_start_cannot_end_the_job(world: World) -> None:
    job, first = await world.running_job()
    second = await world.attempt(job)
    await world.report(job, second, record(0), record(1))
    reply = await world.loader.patch(f"{job}/attempts/{first['id']}", json={"state": "finished"})
    assert reply.json()["state"] == "superseded"
    assert (await world.get(job))["state"] == "running"


async def test_a_wrong_start_is_refused(world: World) -> None:
    job = await world.job()
    wrong: list[dict[str, Any]] = [
        {"world_size": 0},
        {"id": "x"},
        {"started_at": "now"},
        {"hostname": "a\u0000"},
        {"resumed_from_step": -1},
    ]
    for change in wrong:
        assert (await world.loader.post(f"{job}/attempts", json=attempt_body(**change))).status_code == 422
    assert (await world.loader.patch(f"{job}/attempts/{uuid.uuid4()}", json={"state": "live"})).status_code == 422


async def test_a_start_that_was_never_heard_of_comes_late_and_changes_nothing_live(world: World) -> None:
    """A node that was cut off delivers what an earlier start left behind, after a newer start has begun."""
    job = await world.job()
    newer = await world.attempt(job, started_at=2000.0, resumed_from_step=20)
    await world.report(job, newer, record(0, 0, 24), record(1, 0, 24))
    before = await world.get(job)
    late = await world.attempt(job, started_at=1000.0)
    reply = await world.report(job, late, record(0, 0, 10), record(1, 0, 10), record(0, 1, 30), record(1, 1, 30))
    assert reply["accepted"] == 4
    states = [(a["number"], a["state"]) for a in (await world.get(f"{job}/attempts"))["items"]]
    assert states == [(1, "live"), (2, "superseded")]
    assert await world.get(job) == before
    line = (await world.get(f"{job}/series", metric="queue_depth"))["points"]
    assert [point["x"] for point in line] == [10, 24], "the newer start has trained step 30 again"
    third = await world.attempt(job, started_at=3000.0)
    assert (await world.get(job))["attempt"] == 3
    assert (await world.loader.post(f"{job}/attempts", json=third)).json()["state"] == "live"


async def test_what_a_start_went_on_from_is_kept_beside_it(world: World) -> None:
    job = await world.job()
    plain = await world.attempt(job)
    begun = {"state": {"step": 7, "seed": -1, "eras": "[[0, 1], [7, 2]]"}, "skip_steps": 3}
    changed = await world.attempt(job, resumed_from_step=7, beginning=begun)
    assert await world.get(f"{job}/attempts/{plain['id']}/beginning") == {"beginning": None}
    assert await world.get(f"{job}/attempts/{changed['id']}/beginning") == {"beginning": begun}
    assert all("beginning" not in found for found in (await world.get(f"{job}/attempts"))["items"])
    other = await world.job("other")
    assert (await world.viewer.get(f"{other}/attempts/{changed['id']}/beginning")).status_code == 404


async def test_a_beginning_is_small_flat_and_plain(world: World) -> None:
    job = await world.job()
    many = {f"k{'x' * number}": "y" * 190_000 for number in range(2)}
    for state in ({"a": "\u0000"}, {"a": "名"}, {"a": 1.5}, {"a": {}}, {"A b": 1}, {"a": 2**63}, many, []):
        body = attempt_body(beginning={"state": state})
        reply = await world.loader.post(f"{job}/attempts", json=body)
        assert (reply.status_code, reply.json()["code"]) == (422, "invalid"), state

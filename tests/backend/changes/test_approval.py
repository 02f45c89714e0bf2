"""Where a project requires it, a change of the mix needs a second person, who can't be its author."""

import asyncio
from typing import Any

import httpx
import pytest
from headrace_server.changes import carrier

from tests.backend.builders import record
from tests.backend.world import World

HALVES = {"web": 1, "code": 1, "legal": 0}
HALVES_PPM = {"web": 500_000, "code": 500_000, "legal": 0}
SETTINGS = "/api/v1/projects/default/settings"


class Pair:
    """Two people in a project that requires an approval."""

    def __init__(self, world: World, ada: httpx.AsyncClient, bob: httpx.AsyncClient) -> None:
        self.world, self.ada, self.bob = world, ada, bob

    async def edit(self, who: httpx.AsyncClient, job: str, base: int = 1, **more: Any) -> Any:
        body = {"weights": HALVES, "reason": "a try", **more}
        reply = await who.put(f"{job}/mix", json=body, headers={"If-Match": f'"v{base}"'})
        assert reply.status_code == 202, reply.text
        return reply.json()

    async def decide(self, who: httpx.AsyncClient, job: str, change: Any, what: str, **body: Any) -> httpx.Response:
        return await who.post(f"{job}/mix/changes/{change['id']}/{what}", json=body)


@pytest.fixture
async def pair(world: World) -> Pair:
    ada, bob = await world.person("ada"), await world.person("bob")
    reply = await ada.patch(SETTINGS, json={"requires_approval": True})
    assert (reply.status_code, reply.json()["requires_approval"]) == (200, True)
    return Pair(world, ada, bob)


async def test_an_edit_waits_until_somebody_else_approves_it(world: World, pair: Pair) -> None:
    job = await world.job()
    waits = await pair.edit(pair.ada, job, from_step=50, ramp_steps=5)
    assert (waits["state"], waits["author"], waits["starts"]) == ("awaiting_approval", "ada", "at_once")
    assert (await world.get(f"{job}/mix"))["version"] == 1
    own = await pair.decide(pair.ada, job, waits, "approve")
    assert (own.status_code, own.json()["code"]) == (403, "own_change")
    reply = await pair.decide(pair.bob, job, waits, "approve", reason="looks right")
    assert (reply.status_code, reply.json()["state"], reply.json()["version"]) == (200, "done", 2)
    assert (reply.json()["decided_by"], reply.json()["decision_reason"]) == ("bob", "looks right")
    version = await world.get(f"{job}/mix")
    assert (version["author"], version["approved_by"], version["change"]) == ("ada", "bob", waits["id"])
    assert (version["weights_ppm"], version["from_step"], version["ramp_steps"]) == (HALVES_PPM, 50, 5)
    again = await pair.decide(pair.bob, job, waits, "approve")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    events = (await world.get("/api/v1/audit", job=job[-36:]))["items"]
    assert [(e["actor"], e["action"]) for e in reversed(events) if e["action"].startswith("mix.")] == [
        ("key:ingest", "mix.configure"),
        ("ada", "mix.change.create"),
        ("bob", "mix.change.approve"),
        ("bob", "mix.edit"),
    ]
    assert events[0]["after"]["author"] == "ada" and events[0]["after"]["approved_by"] == "bob"


async def test_a_key_approves_nothing_and_its_maker_not_what_it_changed(world: World, pair: Pair) -> None:
    job = await world.job()
    made = await pair.ada.post("/api/v1/projects/default/keys", json={"name": "ci", "scopes": ["read", "operate"]})
    machine = world.client(Authorization=f"Bearer {made.json()['key']}")
    waits = await pair.edit(machine, job)
    assert waits["author"] == "key:ci"
    for key in (machine, world.operator):
        refused = await pair.decide(key, job, waits, "approve")
        assert (refused.status_code, refused.json()["code"]) == (403, "insufficient_scope")
        assert (await pair.decide(key, job, waits, "reject", reason="no")).status_code == 403
    own = await pair.decide(pair.ada, job, waits, "approve")
    assert (own.status_code, own.json()["code"]) == (403, "own_change")
    assert (await pair.decide(pair.bob, job, waits, "approve")).status_code == 200


async def test_an_approval_of_what_has_moved_changes_nothing(world: World, pair: Pair) -> None:
    job = await world.job()
    first, second = (
        await pair.edit(pair.ada, job),
        await pair.edit(pair.bob, job, weights={"web": 1, "code": 0, "legal": 0}),
    )
    replies = await asyncio.gather(
        pair.decide(pair.bob, job, first, "approve"), pair.decide(pair.ada, job, second, "approve")
    )
    assert sorted(reply.json()["state"] for reply in replies) == ["done", "needs_attention"]
    assert (await world.get(f"{job}/mix"))["version"] == 2
    [lost] = [reply.json() for reply in replies if reply.json()["state"] == "needs_attention"]
    assert (lost["conflict"]["base"]["version"], lost["conflict"]["theirs"]["version"]) == (1, 2)


async def test_a_rejection_has_a_reason_and_is_final(world: World, pair: Pair) -> None:
    job = await world.job()
    waits = await pair.edit(pair.ada, job)
    assert (await pair.decide(pair.bob, job, waits, "reject")).status_code == 422
    reply = await pair.decide(pair.bob, job, waits, "reject", reason="too much code")
    assert (reply.json()["state"], reply.json()["decision_reason"]) == ("rejected", "too much code")
    assert (await pair.decide(pair.bob, job, waits, "approve")).status_code == 409
    assert (await world.get(f"{job}/mix"))["version"] == 1


async def test_what_nobody_approves_expires(world: World, pair: Pair) -> None:
    job, attempt = await world.running_job()
    waits = await pair.edit(pair.ada, job)
    headers = {"If-Match": '"v1"'}
    body = {"weights": HALVES, "reason": "r"}
    path = f"{job}/mix/changes"
    timed = (await pair.ada.post(path, json={**body, "at": world.clock.now + 60}, headers=headers)).json()
    stepped = (await pair.ada.post(path, json={**body, "at_step": 10}, headers=headers)).json()
    assert {timed["state"], stepped["state"]} == {"awaiting_approval"}
    await world.report(job, attempt, record(0, 0, 12), record(1, 0, 12))
    world.clock.advance(61)
    assert (await pair.decide(pair.bob, job, timed, "approve")).status_code == 409, "its time has come without it"
    await carrier.tick(world.runtime)
    world.clock.advance(world.runtime.settings.approval_expires_s)
    await carrier.tick(world.runtime)
    items = (await world.get(path))["items"]
    assert {one["state"] for one in items} == {"expired"}
    assert {one["why"] for one in items} == {"nobody approved it in time", "nobody approved it before step 10"}
    assert [one["id"] for one in items] == [stepped["id"], timed["id"], waits["id"]]
    assert (await world.get(f"{job}/mix"))["version"] == 1


async def test_reverts_returns_and_scheduled_changes_wait_too_a_pause_does_not(world: World, pair: Pair) -> None:
    job = await world.job()
    stop = await pair.ada.post(f"{job}/mix/pause", json={"source": "web", "reason": "garbage in web"})
    assert (stop.status_code, stop.json()["version"]) == (200, 2)
    back = await pair.ada.post(f"{job}/mix/resume", json={"source": "web", "reason": "clean"})
    revert = await pair.ada.post(f"{job}/mix/versions/1/revert", json={"reason": "back"}, headers={"If-Match": '"v2"'})
    at = world.clock.now + 60
    timed = await pair.ada.post(
        f"{job}/mix/changes", json={"weights": HALVES, "reason": "r", "at": at}, headers={"If-Match": '"v2"'}
    )
    assert (back.status_code, revert.status_code, timed.status_code) == (202, 202, 201)
    assert {reply.json()["state"] for reply in (back, revert, timed)} == {"awaiting_approval"}
    assert (revert.json()["kind"], revert.json()["reverts"]) == ("revert", 1)
    scheduled = (await pair.decide(pair.bob, job, timed.json(), "approve")).json()
    assert (scheduled["state"], scheduled["version"], scheduled["decided_by"]) == ("scheduled", None, "bob")
    world.clock.advance(61)
    await carrier.tick(world.runtime)
    version = await world.get(f"{job}/mix")
    assert (version["version"], version["author"], version["approved_by"]) == (3, "ada", "bob")
    late = (await pair.decide(pair.bob, job, revert.json(), "approve")).json()
    assert late["state"] == "needs_attention"


async def test_what_was_scheduled_before_the_rule_needs_attention(world: World) -> None:
    ada = await world.person("ada")
    job = await world.job()
    body = {"weights": HALVES, "reason": "r", "at": world.clock.now + 60}
    planned = (await ada.post(f"{job}/mix/changes", json=body, headers={"If-Match": '"v1"'})).json()
    await ada.patch(SETTINGS, json={"requires_approval": True})
    world.clock.advance(61)
    await carrier.tick(world.runtime)
    found = await world.get(f"{job}/mix/changes/{planned['id']}")
    assert found["state"] == "needs_attention" and "requires an approval" in found["why"]
    assert (await world.get(f"{job}/mix"))["version"] == 1


async def test_the_rule_is_set_by_people_and_recorded(world: World, pair: Pair) -> None:
    assert (await world.viewer.get(SETTINGS)).json()["requires_approval"] is True
    for key in (world.operator, world.viewer, world.loader):
        assert (await key.patch(SETTINGS, json={"requires_approval": False})).status_code == 403
    assert (await pair.bob.patch(SETTINGS, json={})).json()["requires_approval"] is True
    assert (await pair.bob.patch(SETTINGS, json={"requires_aproval": False})).status_code == 422
    events = (await world.get("/api/v1/audit", project="default"))["items"]
    [event] = [event for event in events if event["action"] == "project.settings"]
    assert (event["actor"], event["before"], event["after"]) == (
        "ada",
        {"requires_approval": False},
        {"requires_approval": True},
    )

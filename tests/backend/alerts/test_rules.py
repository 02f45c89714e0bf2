"""Rules: what a project begins with, what may be asked for, and who may ask."""

from typing import Any

import pytest
from headrace_server.alerts import watch
from headrace_server.alerts.kinds import KINDS
from headrace_server.alerts.rules import MAX_RULES
from headrace_server.alerts.scope import concerns
from headrace_server.projects import repository as projects

from tests.backend.alerts.looking import RULES, first_look
from tests.backend.world import World


async def names(world: World) -> list[str]:
    return [rule["name"] for rule in (await world.get(RULES))["items"]]


async def test_a_project_begins_with_a_rule_of_each_kind_once(world: World) -> None:
    await first_look(world)
    found = (await world.get(RULES))["items"]
    assert {rule["kind"] for rule in found} == set(KINDS)
    assert all(rule["enabled"] and rule["about"] and rule["created_by"] == "headrace" for rule in found)
    admin = await world.person()
    for rule in found[1:]:
        assert (await admin.delete(f"{RULES}/{rule['id']}")).status_code == 204
    world.clock.advance(10)
    await watch.look_once(world.runtime)
    assert await names(world) == [found[0]["name"]], "what was deleted stays deleted"
    async with world.runtime.database.write() as session:
        await projects.ensure(session, "later", world.clock())
    world.clock.advance(10)
    await watch.look_once(world.runtime)
    later = await world.caller("read", project="later")
    assert len((await later.get("/api/v1/projects/later/alerts/rules")).json()["items"]) == len(KINDS)


async def test_a_rule_is_made_changed_and_deleted_and_all_of_it_is_audited(world: World) -> None:
    admin = await world.person()
    body = {"name": "Wait <b>", "kind": "data_wait", "threshold": 0.5, "job_pattern": "llama-*", "tags": {"a": "b"}}
    made = (await admin.post(RULES, json=body)).json()
    assert made["clear_at"] == 0.25, "in the proportion of the kind's own rule"
    assert (made["for_s"], made["window"], made["fires_below"]) == (300, None, False)
    patch = {"for_s": 10, "job_pattern": None, "window": None}
    changed = (await admin.patch(f"{RULES}/{made['id']}", json=patch)).json()
    assert (changed["for_s"], changed["job_pattern"], changed["threshold"]) == (10, None, 0.5)
    assert (await admin.delete(f"{RULES}/{made['id']}")).status_code == 204
    assert (await admin.delete(f"{RULES}/{made['id']}")).status_code == 404
    log = [e for e in (await world.get("/api/v1/audit"))["items"] if e["action"].startswith("alert_rule.")]
    assert [e["action"].partition(".")[2] for e in log] == ["delete", "change", "create"]
    assert (log[1]["before"]["for_s"], log[1]["after"]["for_s"], log[1]["actor"]) == (300, 10, "ada")


@pytest.mark.parametrize(
    ("body", "where", "says"),
    [
        ({"kind": "data_wait", "threshold": 1.5}, "threshold", "at most 1"),
        ({"kind": "data_wait", "threshold": 0.2, "clear_at": 0.3}, "clear_at", "must be at most the threshold, 0.2"),
        ({"kind": "throughput_drop", "clear_at": 0.3}, "clear_at", "must be at least the threshold, 0.5"),
        ({"kind": "data_wait", "window": 60}, "window", "has no window"),
        ({"kind": "mix_drift", "window": 5000}, "window", "it must be 10 to 2000"),
        ({"kind": "mix_drift", "max_epochs": 2}, "max_epochs", "has no max_epochs"),
        ({"kind": "mix_drift", "for_s": -1}, "for_s", "greater than or equal to 0"),
        ({"kind": "mix_drift", "threshold": "NaN"}, "threshold", "finite"),
        ({"kind": "weather"}, "kind", "Input should be"),
        ({"kind": "data_wait", "nmae": 1}, "nmae", "Extra inputs"),
    ],
)
async def test_nonsense_is_refused_with_the_value_and_what_is_allowed(
    world: World, body: dict[str, Any], where: str, says: str
) -> None:
    reply = await (await world.person()).post(RULES, json={"name": "x", **body})
    assert reply.status_code == 422, reply.text
    [item] = reply.json()["errors"]
    assert where in item["loc"]
    assert says in item["msg"]


async def test_a_name_is_taken_once_and_rules_are_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    admin = await world.person()
    body = {"name": "x", "kind": "data_wait"}
    assert (await admin.post(RULES, json=body)).status_code == 200
    again = await admin.post(RULES, json=body)
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    monkeypatch.setattr("headrace_server.alerts.rules.MAX_RULES", 1)
    assert MAX_RULES == 100
    assert (await admin.post(RULES, json={**body, "name": "y"})).status_code == 409


async def test_only_people_make_rules_and_only_in_projects_they_see(world: World) -> None:
    for client in (world.viewer, world.operator, world.loader):
        assert (await client.post(RULES, json={"name": "x", "kind": "data_wait"})).status_code == 403
    assert (await world.loader.get(RULES)).status_code == 403
    other = await world.caller("read", "operate", project="other")
    for path in ("rules", "mutes"):
        assert (await other.get(f"/api/v1/projects/default/alerts/{path}")).status_code == 404


def test_patterns_and_tags() -> None:
    assert concerns(None, {}, "llama", {})
    assert concerns("llama-?b*", {}, "llama-7b-2", {})
    assert not concerns("llama-?b", {}, "LLAMA-7b", {})
    assert concerns("[ab]*", {"t": "1"}, "a", {"t": "1", "u": "2"})
    assert not concerns(None, {"t": "1"}, "a", {"t": "2"})
    # Many stars are no way to keep the server busy.
    assert not concerns("*a" * 100, {}, "a" * 99 + "b" * 100, {})

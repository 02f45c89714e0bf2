"""Alerts by REST: listed whole, acknowledged, muted; other projects' alerts don't exist."""

import uuid

from headrace_server.alerts import watch

from tests.backend.alerts.looking import ALERTS, MUTES, Watched, watched
from tests.backend.builders import record
from tests.backend.world import World


async def fired(world: World) -> Watched:
    """A job with one alert that fires."""
    job = await watched(world)
    await job.rule("rank_lost", for_s=0)
    await job.look(40, 0)
    return job


async def test_an_alert_is_acknowledged_with_a_comment_and_resolves_all_the_same(world: World) -> None:
    job = await fired(world)
    [alert] = await job.alerts()
    path = f"{ALERTS}/{alert['id']}"
    assert (await world.get(path)) == alert
    assert (await world.viewer.post(f"{path}/acknowledge", json={"comment": "x"})).status_code == 403
    assert (await world.operator.post(f"{path}/acknowledge", json={"comment": ""})).status_code == 422
    reply = await world.operator.post(f"{path}/acknowledge", json={"comment": "node-0 is being replaced"})
    shown = reply.json()
    assert 'headrace_alerts_open{project="default",kind="rank_lost"} 1' in (await world.viewer.get("/metrics")).text
    assert (shown["state"], shown["comment"]) == ("acknowledged", "node-0 is being replaced")
    assert shown["acknowledged_by"] == "key:read-operate"
    assert [a["id"] for a in await job.alerts(state=["firing", "acknowledged"])] == [alert["id"]]
    [event] = [e for e in (await world.get("/api/v1/audit"))["items"] if e["action"] == "alert.acknowledge"]
    assert (event["reason"], event["after"]["message"]) == ("node-0 is being replaced", alert["message"])
    await job.look(90, 0, 1)
    assert [(a["state"], a["comment"]) for a in await job.alerts()] == [("resolved", "node-0 is being replaced")]
    assert "headrace_alerts_open{" not in (await world.viewer.get("/metrics")).text
    late = await world.operator.post(f"{path}/acknowledge", json={"comment": "x"})
    assert (late.status_code, late.json()["code"]) == (409, "conflict")


async def test_pages_are_complete_and_filters_narrow(world: World) -> None:
    job = await fired(world)
    for _ in range(4):
        await job.look(90, 0, 1)
        await job.look(40, 0)
    other = await world.job("mistral")
    attempt = await world.attempt(other)
    await world.report(other, attempt, record(0))
    await job.look(40, 0)
    whole = await job.alerts()
    assert len(whole) == 6
    seen, cursor = [], None
    while True:
        page = await world.get(ALERTS, limit=2, **({"cursor": cursor} if cursor else {}))
        seen += [a["id"] for a in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [a["id"] for a in whole]
    assert [a["job_name"] for a in await job.alerts(job=other.rpartition("/")[2])] == ["mistral"]
    assert len(await job.alerts(state="resolved", project="default")) == 4
    assert (await world.operator.get(ALERTS, params={"state": "lost"})).status_code == 422
    assert (await world.operator.get(ALERTS, params={"cursor": "x"})).status_code == 422


async def test_other_projects_alerts_do_not_exist(world: World) -> None:
    job = await fired(world)
    [alert] = await job.alerts()
    other = await world.caller("read", "operate", project="other")
    assert (await other.get(ALERTS)).json()["items"] == []
    for path in (f"{ALERTS}/{alert['id']}", f"{ALERTS}/{uuid.uuid4()}", f"{ALERTS}/x"):
        assert (await other.get(path)).status_code == 404
        assert (await other.post(f"{path}/acknowledge", json={"comment": "x"})).status_code == 404
    assert (await other.get(ALERTS, params={"project": "default"})).status_code == 404
    mute = {"job": job.job.rpartition("/")[2], "for_s": 10, "reason": "x"}
    assert (await other.post("/api/v1/projects/other/alerts/mutes", json=mute)).status_code == 404


async def test_a_job_is_muted_for_a_while_and_unmuted(world: World) -> None:
    job = await watched(world)
    rule = await job.rule("rank_lost", for_s=0)
    body = {"job": job.job.rpartition("/")[2], "for_s": 3600, "reason": "planned"}
    assert (await world.viewer.post(MUTES, json=body)).status_code == 403
    for bad in ({}, {"rule": rule["id"]}, {"for_s": 1e9}, {"for_s": 0}, {"reason": ""}):
        wrong = {**body, **bad} if bad else {"for_s": 1, "reason": "x"}
        assert (await world.operator.post(MUTES, json=wrong)).status_code == 422, bad
    unknown = {"rule": str(uuid.uuid4()), "for_s": 1, "reason": "x"}
    assert (await world.operator.post(MUTES, json=unknown)).status_code == 404
    mute = (await world.operator.post(MUTES, json=body)).json()
    assert (await world.get(MUTES))["items"] == [mute]
    await job.look(60, 0)
    [alert] = await job.alerts()
    assert not alert["announced"]
    assert (await world.operator.delete(f"{MUTES}/{mute['id']}")).status_code == 204
    assert (await world.operator.delete(f"{MUTES}/{mute['id']}")).status_code == 404
    world.clock.advance(10)
    await watch.look_once(world.runtime)
    assert [a["announced"] for a in await job.alerts()] == [True]
    actions = {e["action"] for e in (await world.get("/api/v1/audit"))["items"]}
    assert {"alert.mute", "alert.unmute"} <= actions


async def test_open_alerts_are_counted_for_those_who_see_them(world: World) -> None:
    job = await fired(world)
    count = f"{ALERTS}/count"
    assert await world.get(count) == {"firing": 1, "acknowledged": 0}
    [alert] = await job.alerts()
    await world.operator.post(f"{ALERTS}/{alert['id']}/acknowledge", json={"comment": "on it"})
    assert await world.get(count) == {"firing": 0, "acknowledged": 1}
    elsewhere = await world.person("eve", other="admin")
    of_another_job = await world.caller("read", job="another")
    for client in (elsewhere, of_another_job):
        assert (await client.get(count)).json() == {"firing": 0, "acknowledged": 0}
    await job.look(90, 0, 1)
    assert await world.get(count) == {"firing": 0, "acknowledged": 0}


async def test_alerts_are_narrowed_by_kind(world: World) -> None:
    job = await fired(world)
    [alert] = await job.alerts()
    assert await job.alerts(kind=["rank_lost", "mix_drift"]) == [alert]
    assert await job.alerts(kind="mix_drift") == []
    assert (await world.operator.get(ALERTS, params={"kind": "x"})).status_code == 422

"""What fires is told: once to the webhooks that want it, in the commit that raised it, and not while muted."""

from collections.abc import AsyncIterator

import pytest
from headrace_server.settings import Settings
from headrace_server.webhooks import delivery
from headrace_server.webhooks.delivery import Deliverer

from tests.backend.alerts.looking import ALERTS, MUTES, RULES, Watched, watched
from tests.backend.webhooks.receiver import Receiver, receiving
from tests.backend.world import World, running_world


@pytest.fixture(autouse=True)
def only_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deliveries are the test's own."""
    monkeypatch.setattr(delivery, "TICK_S", 3600.0)


@pytest.fixture
async def world(settings: Settings) -> AsyncIterator[World]:
    """The running service, whose webhooks may reach loopback."""
    async with running_world(settings.model_copy(update={"webhook_allow": ["127.0.0.1"]})) as running:
        yield running


async def hooked(world: World, receiver: Receiver, shape: str = "json") -> Watched:
    job = await watched(world)
    url = f"http://127.0.0.1:{receiver.port}/"
    kinds = ["alert.firing", "alert.acknowledged", "alert.resolved"]
    body = {"name": shape, "url": url, "kinds": kinds, "format": shape}
    reply = await job.admin.post("/api/v1/projects/default/webhooks", json=body)
    assert reply.status_code == 200, reply.text
    return job


async def told(world: World, receiver: Receiver) -> list[str]:
    """What the receiver was told since it was last asked."""
    await Deliverer(world.runtime).drain()
    found = [f"{got.json['event']} {got.json['alert']['state']}" for got in receiver.received]
    receiver.received.clear()
    return found


async def test_firing_acknowledged_and_resolved_are_each_told_once(world: World) -> None:
    async with receiving() as receiver:
        job = await hooked(world, receiver)
        await job.rule("rank_lost", for_s=0, clear_for_s=20)
        await job.look(60, 0)
        await Deliverer(world.runtime).drain()
        [got] = receiver.received
        assert got.json["text"] == (
            f"my rank_lost: llama (default), attempt 1, step {got.json['alert']['step']}: "
            "rank 1 on host node-0 of 2 ranks last reported 10 s ago"
        )
        [alert] = await job.alerts()
        assert got.json["alert"]["id"] == alert["id"]
        assert got.json["job"] == {"id": alert["job"], "name": "llama"}
        receiver.received.clear()
        path = f"{ALERTS}/{alert['id']}/acknowledge"
        assert (await world.operator.post(path, json={"comment": "on it"})).status_code == 200
        assert await told(world, receiver) == ["alert.acknowledged acknowledged"]
        await job.look(50, 0, 1)
        assert await told(world, receiver) == ["alert.resolved resolved"]


async def test_slack_gets_a_line(world: World) -> None:
    async with receiving() as receiver:
        job = await hooked(world, receiver, "slack")
        await job.rule("rank_lost", name="<!here> lost", for_s=0)
        await job.look(20, 0)
        await Deliverer(world.runtime).drain()
        [got] = receiver.received
        assert got.json["text"].startswith("&lt;!here&gt; lost: llama (default), attempt 1, step ")


async def test_what_is_muted_is_told_when_the_mute_ends_if_it_still_fires(world: World) -> None:
    async with receiving() as receiver:
        job = await hooked(world, receiver)
        rule = await job.rule("rank_lost", for_s=0, clear_for_s=0)
        mute = {"rule": rule["id"], "for_s": 200, "reason": "maintenance"}
        assert (await world.operator.post(MUTES, json=mute)).status_code == 200
        await job.look(50, 0)
        await job.look(50, 0, 1)
        assert [a["state"] for a in await job.alerts()] == ["resolved"]
        assert await told(world, receiver) == [], "neither the beginning nor the end"
        await job.look(90, 0)
        assert await told(world, receiver) == []
        await job.look(20, 0)
        assert await told(world, receiver) == ["alert.firing firing"]
        assert (await job.admin.delete(f"{RULES}/{rule['id']}")).status_code == 204
        assert await told(world, receiver) == ["alert.resolved resolved"]

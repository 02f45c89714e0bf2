"""The outbox: nothing lost, repeats under one id, in order, few at once, whoever is killed in between."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from headrace_server import models
from headrace_server.settings import Settings
from headrace_server.webhooks import delivery, outbox
from headrace_server.webhooks.backoff import GIVE_UP_AFTER_S
from headrace_server.webhooks.delivery import Deliverer

from tests.backend.builders import attempt_body, job_body
from tests.backend.postgres import PostgresServer
from tests.backend.process import command, new_key, serving
from tests.backend.webhooks.receiver import Receiver, receiving
from tests.backend.world import World, running_world

HOOKS = "/api/v1/projects/default/webhooks"


@pytest.fixture(autouse=True)
def only_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's own task looks once, at its start; deliveries are then the test's."""
    monkeypatch.setattr(delivery, "TICK_S", 3600.0)


@pytest.fixture
async def world(settings: Settings) -> AsyncIterator[World]:
    """The running service, whose webhooks may reach loopback."""
    async with running_world(settings.model_copy(update={"webhook_allow": ["127.0.0.1"]})) as running:
        yield running


async def hook(world: World, receiver: Receiver, name: str = "hook", kinds: tuple[str, ...] = ("mix.edited",)) -> str:
    """A webhook to the receiver; returns its id."""
    if not hasattr(world, "admin"):
        world.admin = await world.person()  # type: ignore[attr-defined]
    admin: httpx.AsyncClient = world.admin  # type: ignore[attr-defined]
    body = {"name": name, "url": f"http://127.0.0.1:{receiver.port}/", "kinds": list(kinds)}
    reply = await admin.post(HOOKS, json=body)
    assert reply.status_code == 200, reply.text
    made: str = reply.json()["id"]
    return made


async def put(world: World, *texts: str, subject: str = "s") -> None:
    async with world.runtime.database.write() as session:
        for text in texts:
            now = world.clock()
            await outbox.put(session, 1, "mix.edited", subject=subject, text=text, facts={}, now=now)
            await session.flush()


async def rows(world: World) -> list[Any]:
    async with world.runtime.database.read() as session:
        row = models.WebhookDelivery
        return list((await session.scalars(sa.select(row).order_by(row.id))).all())


async def test_a_failure_is_tried_again_under_the_same_id_until_it_works(world: World) -> None:
    async with receiving() as receiver:
        await hook(world, receiver)
        receiver.says(500, 429, 302, 200)
        await put(world, "hello")
        deliverer = Deliverer(world.runtime)
        for tries in range(1, 5):
            assert await deliverer.drain() == 1
            assert await deliverer.drain() == 0, "not before its time"
            [row] = await rows(world)
            assert row.tries == tries
            world.clock.now = row.next_at
        assert (row.state, row.status, row.error) == ("delivered", 200, None)
        assert len({got.headers["x-headrace-delivery"] for got in receiver.received}) == 1
        assert len({got.body for got in receiver.received}) == 1


async def test_after_a_day_it_is_given_up_and_shown_why(world: World) -> None:
    async with receiving() as receiver:
        made = await hook(world, receiver)
        receiver.answers = [(503, {}, b"come back later")]
        await put(world, "hello")
        deliverer, began = Deliverer(world.runtime), world.clock.now
        while (await rows(world))[0].state == "pending":
            assert await deliverer.drain() == 1
            world.clock.now = max(world.clock.now, (await rows(world))[0].next_at)
        assert world.clock.now - began >= GIVE_UP_AFTER_S
        assert 25 < len(receiver.received) < 60
        admin = await world.person("later")  # the first session has ended
        shown = (await admin.get(f"{HOOKS}/{made}/deliveries")).json()["items"][0]
        assert (shown["state"], shown["status"]) == ("given_up", 503)
        assert shown["error"] == "answered 503: come back later"


async def test_one_subject_keeps_its_order_and_holds_nobody_else_back(world: World) -> None:
    async with receiving() as receiver:
        await hook(world, receiver)
        receiver.says(500, 200)
        await put(world, "a firing", "a resolved", subject="a")
        await put(world, "b firing", subject="b")
        deliverer = Deliverer(world.runtime)
        await deliverer.drain()
        assert [got.json["text"] for got in receiver.received] == ["a firing", "b firing"]
        world.clock.advance(20)
        await deliverer.drain()
        assert [got.json["text"] for got in receiver.received[2:]] == ["a firing", "a resolved"]


async def test_few_are_on_their_way_at_once_and_a_slow_receiver_has_one(world: World) -> None:
    async with receiving() as receiver:
        await hook(world, receiver, "slow")
        await put(world, *"abcdefgh")
        receiver.hold = asyncio.Event()
        deliverer = Deliverer(world.runtime)
        assert await deliverer.start_due() == 1
        assert await deliverer.start_due() == 0
        assert await Deliverer(world.runtime).start_due() == 0, "nor by another process"
        receiver.hold.set()
        await asyncio.gather(*deliverer._going)
        await deliverer.drain()
        assert [got.json["text"] for got in receiver.received] == list("abcdefgh")
        assert receiver.most_at_once == 1


async def test_many_processes_send_each_delivery_once(world: World) -> None:
    async with receiving() as receiver:
        for i in range(6):
            await hook(world, receiver, f"hook {i}")
        for i in range(5):
            await put(world, str(i), subject=str(i))
        await asyncio.gather(*(Deliverer(world.runtime).drain() for _ in range(5)))
        while await Deliverer(world.runtime).drain():
            pass
        sent = [got.headers["x-headrace-delivery"] for got in receiver.received]
        assert len(sent) == len(set(sent)) == 30
        assert {row.state for row in await rows(world)} == {"delivered"}


async def test_a_claim_ends_and_the_delivery_is_sent_again(world: World) -> None:
    async with receiving() as receiver:
        await hook(world, receiver)
        await put(world, "hello")
        receiver.hold = asyncio.Event()
        dying = Deliverer(world.runtime)
        assert await dying.start_due() == 1
        [task] = dying._going
        task.cancel()
        receiver.hold.set()
        assert await Deliverer(world.runtime).drain() == 0, "it may still be on its way"
        world.clock.advance(delivery.LEASE_S)
        assert await Deliverer(world.runtime).drain() == 1
        assert [(row.state, row.tries) for row in await rows(world)] == [("delivered", 2)]


async def test_what_is_rolled_back_is_not_told_and_what_was_told_is_pruned(world: World) -> None:
    async with receiving() as receiver:
        await hook(world, receiver)
        with pytest.raises(RuntimeError, match="changed my mind"):
            async with world.runtime.database.write() as session:
                await outbox.put(session, 1, "mix.edited", subject="s", text="x", facts={}, now=world.clock())
                await session.flush()
                raise RuntimeError("changed my mind")
        assert await rows(world) == []
        await put(world, "hello")
        await Deliverer(world.runtime).drain()
        world.clock.advance(31 * 86_400)
        await Deliverer(world.runtime)._prune()
        assert await rows(world) == []


async def test_a_webhook_switched_off_gets_nothing_old_when_it_is_on_again(world: World) -> None:
    async with receiving() as receiver:
        made = await hook(world, receiver)
        await put(world, "old")
        admin: httpx.AsyncClient = world.admin  # type: ignore[attr-defined]
        for enabled in (False, True):
            assert (await admin.patch(f"{HOOKS}/{made}", json={"enabled": enabled})).status_code == 200
        await put(world, "new")
        await Deliverer(world.runtime).drain()
        assert [got.json["text"] for got in receiver.received] == ["new"]
        assert [(row.state, row.error) for row in await rows(world)] == [
            ("given_up", "the webhook was switched off"),
            ("delivered", None),
        ]


async def test_mix_edits_and_ends_of_attempts_are_told_to_who_asked(world: World) -> None:
    async with receiving() as receiver:
        await hook(world, receiver, kinds=("mix.edited", "attempt.ended"))
        job, attempt = await world.running_job()
        assert (await world.edit(job, {"web": 1, "code": 1, "legal": 2}, 1)).status_code == 200
        end = {"state": "failed", "reason": "out of memory"}
        assert (await world.loader.patch(f"{job}/attempts/{attempt['id']}", json=end)).status_code == 200
        await Deliverer(world.runtime).drain()
        edited, ended = (got.json for got in receiver.received)
        assert edited["text"] == "llama (default): key:read-operate made version 2 of the mix: a test"
        assert edited["mix"]["weights_ppm"] == {"web": 250_000, "code": 250_000, "legal": 500_000}
        assert ended["text"] == "llama (default): attempt 1 failed: out of memory"
        assert (ended["job"]["id"], ended["attempt"]["state"]) == (job.rpartition("/")[2], "failed")


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
async def test_nothing_is_lost_when_the_server_is_killed(
    tmp_path: Path, database: str, request: pytest.FixtureRequest
) -> None:
    """Committed before kill -9, delivered by the next server: at least once, never not at all."""
    more = {"webhook_allow": "127.0.0.1"}
    if database == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        more["database_url"] = server.uri_of(server.create(request.getfixturevalue("migrated_postgres")))
    async with receiving() as receiver, httpx.AsyncClient() as client:
        receiver.hold = asyncio.Event()
        with serving(tmp_path, **more) as first:
            set_password(tmp_path, **more)
            admin = await signed_in(client, first.url)
            body = {"name": "x", "url": f"http://127.0.0.1:{receiver.port}/", "kinds": ["attempt.ended"]}
            assert (await client.post(f"{first.url}{HOOKS}", json=body, headers=admin)).status_code == 200
            key = {"Authorization": f"Bearer {await asyncio.to_thread(new_key, tmp_path, **more)}"}
            job = (await client.post(f"{first.url}/api/v1/projects/default/jobs", json=job_body(), headers=key)).json()
            path = f"{first.url}/api/v1/jobs/{job['id']}/attempts"
            for _ in range(3):
                attempt = attempt_body(started_at=time.time())
                assert (await client.post(path, json=attempt, headers=key)).status_code == 200
                end = {"state": "failed", "reason": "x"}
                ended = await client.patch(f"{path}/{attempt['id']}", json=end, headers=key)
                assert ended.status_code == 200
            async with asyncio.timeout(30):
                while not receiver.received:
                    await asyncio.sleep(0.02)
            first.kill()
        receiver.hold.set()
        with serving(tmp_path, **more):
            async with asyncio.timeout(delivery.LEASE_S + 60):
                while len({got.headers["x-headrace-delivery"] for got in receiver.received}) < 3:
                    await asyncio.sleep(0.1)
        seen = [got.headers["x-headrace-delivery"] for got in receiver.received]
        assert seen.count(seen[0]) >= 2, "the one on its way when the server died was sent again"


PASSWORD = "correct horse battery staple"


def set_password(data_dir: Path, **settings: str) -> None:
    made = command(data_dir, "user", "password", "admin", "--password-stdin", stdin=f"{PASSWORD}\n", **settings)
    assert made.returncode == 0, made.stderr


async def signed_in(client: httpx.AsyncClient, url: str) -> dict[str, str]:
    body = {"username": "admin", "password": PASSWORD}
    reply = await client.post(f"{url}/api/v1/session", json=body)
    assert reply.status_code == 200, reply.text
    return {"X-CSRF-Token": reply.json()["csrf_token"]}

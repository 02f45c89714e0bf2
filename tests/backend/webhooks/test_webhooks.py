"""Webhooks by REST: for administrators, with secrets that go in and never come out."""

import hashlib
import hmac
import uuid
from collections.abc import AsyncIterator

import httpx
import pytest
import sqlalchemy as sa
from headrace_server import models
from headrace_server.settings import Settings
from headrace_server.webhooks.delivery import Deliverer
from headrace_server.webhooks.sealing import unseal

from tests.backend.webhooks.receiver import receiving
from tests.backend.world import World, running_world

HOOKS = "/api/v1/projects/default/webhooks"
SECRET_PATH = "/services/T000/B000/xyzzy-secret"


@pytest.fixture
async def world(settings: Settings) -> AsyncIterator[World]:
    """The running service, whose webhooks may reach loopback."""
    async with running_world(settings.model_copy(update={"webhook_allow": ["127.0.0.1"]})) as running:
        yield running


async def made(admin: httpx.AsyncClient, url: str, **more: object) -> dict[str, object]:
    reply = await admin.post(HOOKS, json={"name": f"hook {uuid.uuid4()}", "url": url, **more})
    assert reply.status_code == 200, reply.text
    found: dict[str, object] = reply.json()
    return found


async def test_a_test_event_arrives_signed_and_is_listed_with_its_outcome(world: World) -> None:
    admin = await world.person()
    async with receiving() as receiver:
        hook = await made(admin, f"http://127.0.0.1:{receiver.port}/in?t=1")
        asked = await admin.post(f"{HOOKS}/{hook['id']}/test")
        assert (asked.status_code, asked.json()["state"]) == (202, "pending")
        await Deliverer(world.runtime).drain()
        [got] = receiver.received
    assert (got.line, got.json["event"], got.json["project"]) == ("POST /in?t=1 HTTP/1.1", "test", "default")
    assert got.json["id"] == got.headers["x-headrace-delivery"] == asked.json()["id"]
    signed = got.headers["x-headrace-timestamp"].encode() + b"." + got.body
    expected = hmac.new(str(hook["secret"]).encode(), signed, hashlib.sha256).hexdigest()
    assert got.headers["x-headrace-signature"] == f"v1={expected}"
    [delivery] = (await admin.get(f"{HOOKS}/{hook['id']}/deliveries")).json()["items"]
    assert (delivery["state"], delivery["status"], delivery["tries"]) == ("delivered", 200, 1)
    assert delivery["error"] is delivery["next_at"] is None
    sent = 'headrace_webhook_deliveries{project="default",state="delivered"} 1'
    assert sent in (await world.viewer.get("/metrics")).text


async def test_secrets_go_in_and_never_come_out(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Neither URL nor secret is in a later reply, the audit log or the server's log (case A04)."""
    caplog.set_level("INFO")  # as the server logs
    admin = await world.person()
    async with receiving() as receiver:
        receiver.says(500)
        url = f"http://127.0.0.1:{receiver.port}{SECRET_PATH}"
        slack = await made(admin, url, format="slack")
        signed = await made(admin, url)
        for hook in (slack, signed):
            assert (await admin.post(f"{HOOKS}/{hook['id']}/test")).status_code == 202
        await Deliverer(world.runtime).drain()
        assert len(receiver.received) == 2
        assert receiver.received[0].json.keys() & {"text"}
    assert slack["secret"] is None
    assert slack["shown_url"] == f"http://127.0.0.1:{receiver.port}/…"
    pages = [HOOKS, f"{HOOKS}/{signed['id']}/deliveries", f"{HOOKS}/{slack['id']}/deliveries", "/api/v1/audit"]
    shown = "".join([(await admin.get(page)).text for page in pages] + [caplog.text])
    assert "webhook.create" in shown
    assert "xyzzy" not in shown
    assert str(signed["secret"]) not in shown


async def test_with_a_key_the_database_holds_no_secret(settings: Settings) -> None:
    key = "a sealing key of 32 characters..."
    async with running_world(settings.model_copy(update={"sealing_key": key})) as world:
        hook = await made(await world.person(), f"https://hooks.example{SECRET_PATH}")
        async with world.runtime.database.read() as session:
            [row] = (await session.scalars(sa.select(models.Webhook))).all()
        assert unseal(row.url, key).endswith(SECRET_PATH)
        assert row.secret is not None and unseal(row.secret, key) == hook["secret"]
        assert "xyzzy" not in row.url and str(hook["secret"]) not in row.secret


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://2130706433/",
        "http://0x7f.0.0.1/",
        "ftp://hooks.example/",
        "https://user:xyzzy@hooks.example/",
        "https://hooks.example:25/",
        "javascript:xyzzy",
        "xyzzy" * 1000,
        "",
    ],
)
async def test_urls_that_lead_inside_are_refused_at_once_and_not_echoed(world: World, url: str) -> None:
    reply = await (await world.person()).post(HOOKS, json={"name": "x", "url": url})
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid"), reply.text
    assert "xyzzy" not in reply.text
    assert reply.json()["errors"][0]["loc"] == ["body", "url"]


async def test_a_webhook_is_changed_switched_off_and_deleted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    admin = await world.person()
    hook = await made(admin, "https://hooks.example/x", name="pager")
    path = f"{HOOKS}/{hook['id']}"
    assert hook["kinds"] == ["alert.firing", "alert.resolved"]
    changed = (await admin.patch(path, json={"kinds": ["mix.edited", "mix.edited"], "enabled": False})).json()
    assert (changed["kinds"], changed["enabled"], changed["signed"]) == (["mix.edited"], False, True)
    assert (await admin.post(f"{path}/test")).status_code == 409
    for bad in ({"name": None}, {"kinds": []}, {"kinds": ["weather"]}, {"url": "https://x/"}, {"secret": "x"}):
        assert (await admin.patch(path, json=bad)).status_code == 422, bad
    again = await admin.post(HOOKS, json={"name": "pager", "url": "https://hooks.example/"})
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    monkeypatch.setattr("headrace_server.webhooks.service.MAX_WEBHOOKS", 1)
    assert (await admin.post(HOOKS, json={"name": "y", "url": "https://hooks.example/"})).status_code == 409
    assert (await admin.delete(path)).status_code == 204
    for method, gone in (("DELETE", path), ("PATCH", path), ("POST", f"{path}/test"), ("GET", f"{path}/deliveries")):
        reply = await admin.request(method, gone, json={} if method == "PATCH" else None)
        assert reply.status_code == 404, (method, gone)
    log = [e["action"] for e in (await admin.get("/api/v1/audit")).json()["items"]]
    assert [action for action in log if action.startswith("webhook.")] == [
        "webhook.delete",
        "webhook.change",
        "webhook.create",
    ]


async def test_webhooks_are_for_admins_of_their_project(world: World) -> None:
    admin = await world.person()
    hook = await made(admin, "https://hooks.example/x")
    operator = await world.person("bo", default="operator")
    for client in (world.viewer, world.operator, operator):
        assert (await client.get(HOOKS)).status_code == 403
        assert (await client.post(HOOKS, json={"name": "x", "url": "https://x/"})).status_code == 403
    elsewhere = await world.person("cy", other="admin")
    assert (await elsewhere.get(HOOKS)).status_code == 404
    assert (await elsewhere.get(f"/api/v1/projects/other/webhooks/{hook['id']}/deliveries")).status_code == 404

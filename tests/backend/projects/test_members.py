"""Admins of a project say who may do what in it, and one of them always can."""

import asyncio

from tests.backend.world import World

MEMBERS = "/api/v1/projects/default/members"


async def test_adding_changing_listing_and_removing(world: World) -> None:
    admin = await world.person("ada", default="admin")
    await world.add_user("bob", elsewhere="viewer")
    job = await world.job()
    bob = world.client()
    reply = await bob.post("/api/v1/session", json={"username": "bob", "password": "correct horse battery staple"})
    bob.headers["X-CSRF-Token"] = reply.json()["csrf_token"]
    assert (await bob.get(job)).status_code == 404
    assert (await admin.put(f"{MEMBERS}/bob", json={"role": "viewer"})).json()["role"] == "viewer"
    assert (await bob.get(job)).status_code == 200
    assert (await bob.patch(job, json={"archived": True})).status_code == 403
    assert (await admin.put(f"{MEMBERS}/bob", json={"role": "operator"})).status_code == 200
    assert (await bob.patch(job, json={"archived": True})).status_code == 200
    assert [(m["username"], m["role"]) for m in (await bob.get(MEMBERS)).json()["items"]] == [
        ("ada", "admin"),
        ("bob", "operator"),
    ]
    page = (await bob.get(MEMBERS, params={"limit": 1})).json()
    rest = (await bob.get(MEMBERS, params={"cursor": page["next_cursor"]})).json()
    assert [m["username"] for m in rest["items"]] == ["bob"]
    assert (await admin.delete(f"{MEMBERS}/bob")).status_code == 204
    assert (await bob.get(job)).status_code == 404
    assert (await admin.delete(f"{MEMBERS}/bob")).status_code == 404
    assert (await admin.put(f"{MEMBERS}/nobody", json={"role": "viewer"})).status_code == 404
    assert (await admin.put(f"{MEMBERS}/bob", json={"role": "owner"})).status_code == 422
    actions = [event["action"] for event in (await admin.get("/api/v1/audit")).json()["items"]]
    assert (actions.count("member.put"), actions.count("member.remove")) == (2, 1)


async def test_the_last_admin_cannot_go(world: World) -> None:
    root = await world.person("root")
    admin = await world.person("ada", default="admin")
    for reply in (
        await admin.put(f"{MEMBERS}/ada", json={"role": "viewer"}),
        await admin.delete(f"{MEMBERS}/ada"),
        await root.delete(f"{MEMBERS}/ada"),
    ):
        assert (reply.status_code, reply.json()["code"]) == (409, "conflict")
        assert "last admin" in reply.json()["detail"]


async def test_two_admins_who_remove_each_other_at_once_leave_one(world: World) -> None:
    admins = [await world.person("ada", default="admin"), await world.person("bob", default="admin")]
    replies = await asyncio.gather(
        admins[0].delete(f"{MEMBERS}/bob"), admins[1].delete(f"{MEMBERS}/ada"), return_exceptions=True
    )
    root = await world.person("root")
    left = (await root.get(MEMBERS)).json()["items"]
    assert len(left) == 1, replies


async def test_a_role_is_renewed_with_a_new_token(world: World) -> None:
    admin, bob = await world.person("ada", default="admin"), await world.person("bob", default="viewer")
    before = bob.cookies["headrace_session"]
    await admin.put(f"{MEMBERS}/bob", json={"role": "approver"})
    session = (await bob.get("/api/v1/session")).json()
    assert session["user"]["roles"] == {"default": "approver"}
    assert bob.cookies["headrace_session"] != before

"""Administrators of the server add, change and disable people; somebody always can."""

from tests.backend.world import PASSWORD, World

USERS = "/api/v1/users"


async def test_adding_listing_and_signing_in(world: World) -> None:
    root = await world.person("root")
    made = await root.post(USERS, json={"username": "bob", "password": PASSWORD})
    assert made.status_code == 200
    assert made.json()["is_admin"] is False
    assert "password" not in made.text.replace("has_password", "")
    assert (await root.post(USERS, json={"username": "bob", "password": PASSWORD})).status_code == 409
    assert (await root.post(USERS, json={"username": "eve", "password": "short"})).status_code == 422
    first = (await root.get(USERS, params={"limit": 1})).json()
    rest = (await root.get(USERS, params={"cursor": first["next_cursor"]})).json()
    assert [user["username"] for user in first["items"] + rest["items"]] == ["root", "bob"]
    assert rest["next_cursor"] is None
    login = await world.client().post("/api/v1/session", json={"username": "bob", "password": PASSWORD})
    assert login.json()["user"] == {"username": "bob", "is_admin": False, "roles": {}}


async def test_sessions_of_a_disabled_user_end_at_once_and_no_new_one_begins(world: World) -> None:
    root, bob = await world.person("root"), await world.person("bob", default="operator")
    assert (await bob.get("/api/v1/session")).status_code == 200
    reply = await root.patch(f"{USERS}/bob", json={"disabled": True})
    assert reply.json()["disabled_at"] is not None
    assert (await bob.get("/api/v1/session")).status_code == 401
    login = {"username": "bob", "password": PASSWORD}
    assert (await bob.post("/api/v1/session", json=login)).status_code == 401
    assert (await root.patch(f"{USERS}/bob", json={"disabled": False})).status_code == 200
    assert (await bob.get("/api/v1/session")).status_code == 401, "the old session stays over"
    assert (await world.client().post("/api/v1/session", json=login)).status_code == 200


async def test_the_last_administrator_stays_one(world: World) -> None:
    root = await world.person("root")
    for change in ({"disabled": True}, {"is_admin": False}):
        reply = await root.patch(f"{USERS}/root", json=change)
        assert (reply.status_code, reply.json()["code"]) == (409, "conflict")
    await world.person("other")
    assert (await root.patch(f"{USERS}/root", json={"is_admin": False})).status_code == 200
    assert (await root.get(USERS)).status_code == 403
    assert (await root.get("/api/v1/projects")).json()["items"] == []


async def test_a_change_of_powers_gives_a_new_token_and_is_recorded(world: World) -> None:
    root, bob = await world.person("root"), await world.person("bob", default="viewer")
    before = bob.cookies["headrace_session"]
    await root.patch(f"{USERS}/bob", json={"is_admin": True})
    assert (await bob.get(USERS)).status_code == 200
    assert bob.cookies["headrace_session"] != before
    await root.patch(f"{USERS}/bob", json={"password": "a new and longer password"})
    assert (await bob.get(USERS)).status_code == 401
    events = (await root.get("/api/v1/audit")).json()["items"]
    assert [event["action"] for event in events[:2]] == ["user.password", "user.change"]
    assert events[1]["before"] == {"username": "bob", "is_admin": False, "disabled": False}
    assert (await root.patch(f"{USERS}/nobody", json={"disabled": True})).status_code == 404

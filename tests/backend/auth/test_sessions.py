"""Signing in, staying in for so long, and signing out."""

import asyncio

import httpx
import sqlalchemy as sa
from headrace_server import caretaker, models
from headrace_server.auth.cookies import COOKIE
from headrace_server.security import csrf_token
from headrace_server.users import service as users

from tests.backend.world import PASSWORD, World


async def test_the_cookie_is_for_this_site_and_not_for_scripts(world: World) -> None:
    await world.add_user()
    reply = await world.stranger.post("/api/v1/session", json={"username": "ada", "password": PASSWORD})
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert reply.json()["user"] == {"username": "ada", "is_admin": True, "roles": {}}
    again = await world.stranger.get("/api/v1/session")
    assert again.json() == reply.json()


async def test_wrong_names_and_wrong_passwords_look_the_same(world: World) -> None:
    await world.add_user()
    replies = [
        await world.stranger.post("/api/v1/session", json={"username": username, "password": password})
        for username, password in (("ada", "wrong"), ("nobody", "wrong"), ("ada", PASSWORD + " "))
    ]
    assert {reply.status_code for reply in replies} == {401}
    assert len({(reply.json()["code"], reply.json()["detail"]) for reply in replies}) == 1
    assert "set-cookie" not in replies[0].headers


async def test_guessing_is_slowed_down_and_forgiven_later(world: World) -> None:
    await world.add_user()
    for _ in range(world.runtime.settings.login_failures):
        await world.stranger.post("/api/v1/session", json={"username": "ada", "password": "wrong"})
    right = {"username": "ada", "password": PASSWORD}
    slowed = await world.stranger.post("/api/v1/session", json=right)
    assert (slowed.status_code, slowed.json()["code"]) == (429, "too_many_requests")
    world.clock.advance(float(slowed.headers["retry-after"]) + 1)
    assert (await world.stranger.post("/api/v1/session", json=right)).status_code == 200


async def test_a_session_ends_by_time_by_signing_out_and_by_a_new_password(world: World) -> None:
    person = await world.person()
    assert (await person.get("/api/v1/projects")).status_code == 200
    world.clock.advance(world.runtime.settings.session_lifetime_s + 1)
    assert (await person.get("/api/v1/projects")).status_code == 401

    other = await world.person("bob")
    cookie = other.cookies["headrace_session"]
    assert (await other.delete("/api/v1/session")).status_code == 204
    stolen = world.client(Cookie=f"headrace_session={cookie}")
    assert (await stolen.get("/api/v1/projects")).status_code == 401

    third = await world.person("cleo")
    async with world.runtime.database.write() as session:
        cleo = await users.find(session, "cleo")
        password = "another long password"
        await users.set_password(session, cleo, password, by="test", now=world.clock(), request_id="test")
    assert (await third.get("/api/v1/projects")).status_code == 401


async def test_the_database_holds_only_hashes(world: World) -> None:
    person = await world.person()
    token = person.cookies["headrace_session"]
    async with world.runtime.database.read() as session:
        for table in models.Base.metadata.sorted_tables:
            for row in await session.execute(sa.select(table)):
                text = repr(tuple(row))
                for secret in (
                    token,
                    token.split(".")[1],
                    PASSWORD,
                    csrf_token(token),
                    str(world.loader.headers["authorization"])[7:],
                ):
                    assert secret not in text, table.name


async def test_a_key_has_no_session(world: World) -> None:
    assert (await world.viewer.get("/api/v1/session")).status_code == 403
    assert (await world.stranger.get("/api/v1/session")).status_code == 401


def as_browser(world: World, token: str, csrf: str = "") -> httpx.AsyncClient:
    """A client that sends this cookie whatever the server sets."""
    return world.client(Cookie=f"{COOKIE}={token}", **{"X-CSRF-Token": csrf})


async def test_a_token_is_replaced_and_the_old_one_lasts_a_moment(world: World) -> None:
    person = await world.person()
    settings, old, csrf = world.runtime.settings, person.cookies[COOKIE], person.headers["X-CSRF-Token"]
    assert "set-cookie" not in (await person.get("/api/v1/projects")).headers
    world.clock.advance(settings.session_rotate_s + 1)
    reply = await person.get("/api/v1/projects")
    assert reply.status_code == 200
    assert "HttpOnly" in reply.headers["set-cookie"] and "SameSite=strict" in reply.headers["set-cookie"]
    new = person.cookies[COOKIE]
    assert new != old
    late = as_browser(world, old, csrf)
    reply = await late.get("/api/v1/projects")
    assert (reply.status_code, "set-cookie" in reply.headers) == (200, False)
    assert (await late.post("/api/v1/projects", json={"name": "made"})).status_code == 200
    world.clock.advance(settings.session_overlap_s + 1)
    assert (await late.get("/api/v1/projects")).status_code == 401
    # What the page holds stays good: the CSRF token is the session's, not the cookie's.
    assert (await person.post("/api/v1/projects", json={"name": "made later"})).status_code == 200


async def test_requests_all_at_once_get_one_new_token(world: World) -> None:
    person = await world.person()
    old = person.cookies[COOKIE]
    world.clock.advance(world.runtime.settings.session_rotate_s + 1)
    tabs = [as_browser(world, old) for _ in range(8)]
    replies = await asyncio.gather(*(tab.get("/api/v1/projects") for tab in tabs))
    assert [reply.status_code for reply in replies] == [200] * 8
    tokens = [reply.cookies[COOKIE] for reply in replies if "set-cookie" in reply.headers]
    assert len(tokens) == 1
    assert (await as_browser(world, tokens[0]).get("/api/v1/projects")).status_code == 200


async def test_an_unused_session_ends_and_a_used_one_has_an_end_too(world: World) -> None:
    settings = world.runtime.settings
    unused, used = await world.person("bob"), await world.person("ada")
    end = world.clock() + settings.session_lifetime_s
    while world.clock() < end - settings.session_idle_s:
        world.clock.advance(settings.session_idle_s / 2)
        assert (await used.get("/api/v1/projects")).status_code == 200
    assert (await unused.get("/api/v1/projects")).status_code == 401
    world.clock.now = end + 1
    assert (await used.get("/api/v1/projects")).status_code == 401
    await caretaker.tick(world.runtime, key_uses=True)
    async with world.runtime.database.read() as session:
        assert await session.scalar(sa.select(sa.func.count()).select_from(models.Session)) == 0


async def test_a_login_replaces_the_session_that_the_browser_had(world: World) -> None:
    person = await world.person()
    before = as_browser(world, person.cookies[COOKIE])
    reply = await person.post("/api/v1/session", json={"username": "ada", "password": PASSWORD})
    assert reply.status_code == 200
    assert (await before.get("/api/v1/session")).status_code == 401
    assert (await person.get("/api/v1/session")).status_code == 200


async def test_signing_out_everywhere(world: World) -> None:
    person = await world.person()
    other = world.client()
    await other.post("/api/v1/session", json={"username": "ada", "password": PASSWORD})
    assert (await person.delete("/api/v1/me/sessions")).status_code == 204
    for client in (person, other):
        assert (await client.get("/api/v1/session")).status_code == 401


async def test_signing_out_everywhere_else(world: World) -> None:
    person, other = await world.person(), world.client()
    await other.post("/api/v1/session", json={"username": "ada", "password": PASSWORD})
    assert (await person.delete("/api/v1/me/sessions", params={"others": True})).status_code == 204
    assert (await person.get("/api/v1/session")).status_code == 200
    assert (await other.get("/api/v1/session")).status_code == 401


async def test_ones_own_password(world: World) -> None:
    person = await world.person()
    other = world.client()
    await other.post("/api/v1/session", json={"username": "ada", "password": PASSWORD})
    old, new = PASSWORD, "a new and longer password"
    for current, wanted, status in (("wrong", new, 401), (old, "short", 422), (old, new, 204)):
        body = {"current_password": current, "new_password": wanted}
        assert (await person.put("/api/v1/me/password", json=body)).status_code == status
    before = person.cookies[COOKIE]
    assert (await person.get("/api/v1/session")).status_code == 200
    assert person.cookies[COOKIE] != before, "a new token, at the next request"
    assert (await other.get("/api/v1/session")).status_code == 401
    for password, status in ((old, 401), (new, 200)):
        login = {"username": "ada", "password": password}
        assert (await world.client().post("/api/v1/session", json=login)).status_code == status
    for _ in range(world.runtime.settings.login_failures + 1):
        reply = await person.put("/api/v1/me/password", json={"current_password": "x", "new_password": new})
    assert reply.status_code == 429

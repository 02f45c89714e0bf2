"""Signing in, staying in for so long, and signing out."""

import sqlalchemy as sa
from headrace_server import models
from headrace_server.auth import service as auth
from headrace_server.security import csrf_token

from tests.backend.world import PASSWORD, World


async def test_the_cookie_is_for_this_site_and_not_for_scripts(world: World) -> None:
    await world.add_user()
    reply = await world.stranger.post("/api/v1/session", json={"username": "ada", "password": PASSWORD})
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert reply.json()["user"] == {"username": "ada"}
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
        await auth.change_password(session, "cleo", "another long password", by="test", now=world.clock())
    assert (await third.get("/api/v1/projects")).status_code == 401


async def test_the_database_holds_only_hashes(world: World) -> None:
    person = await world.person()
    token = person.cookies["headrace_session"]
    async with world.runtime.database.read() as session:
        for table in models.Base.metadata.sorted_tables:
            for row in await session.execute(sa.select(table)):
                text = repr(tuple(row))
                for secret in (token, PASSWORD, csrf_token(token), str(world.loader.headers["authorization"])[7:]):
                    assert secret not in text, table.name


async def test_a_key_has_no_session(world: World) -> None:
    assert (await world.viewer.get("/api/v1/session")).status_code == 403
    assert (await world.stranger.get("/api/v1/session")).status_code == 401

"""Browser writes need the CSRF token and our own origin; keys need neither."""

from tests.backend.world import World


async def test_a_write_needs_the_token_of_its_own_session(world: World) -> None:
    person = await world.person()
    other = (await (await world.person("bob")).get("/api/v1/session")).json()["csrf_token"]
    job = await world.job()
    token = person.headers["X-CSRF-Token"]
    for wrong in ("", "wrong", other, token[:-1], "\xfc" * 8):
        reply = await person.patch(job, json={"archived": True}, headers=[(b"X-CSRF-Token", wrong.encode())])
        assert (reply.status_code, reply.json()["code"]) == (403, "csrf_refused")
    del person.headers["X-CSRF-Token"]
    assert (await person.patch(job, json={"archived": True})).status_code == 403
    assert (await person.get(job)).status_code == 200
    person.headers["X-CSRF-Token"] = token
    assert (await person.patch(job, json={"archived": True})).status_code == 200


FOREIGN = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost.evil.example"},
    {"Origin": "http://localhost:9999"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]


async def test_another_origin_is_refused(world: World) -> None:
    person = await world.person()
    job = await world.job()
    for headers in FOREIGN:
        assert (await person.patch(job, json={"archived": True}, headers=headers)).status_code == 403
        login = await world.stranger.post("/api/v1/session", json={"username": "a", "password": "b"}, headers=headers)
        assert (login.status_code, login.json()["code"]) == (403, "csrf_refused")


async def test_our_own_origin_and_keys_pass(world: World) -> None:
    person = await world.person()
    job = await world.job()
    ours = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    assert (await person.patch(job, json={"archived": True}, headers=ours)).status_code == 200
    reply = await world.operator.patch(job, json={"archived": False}, headers={"Origin": "http://elsewhere"})
    assert reply.status_code == 200


async def test_a_key_wins_over_a_cookie_so_a_bad_key_is_not_rescued(world: World) -> None:
    person = await world.person()
    reply = await person.get("/api/v1/projects", headers={"Authorization": "Bearer hr_wrong"})
    assert reply.status_code == 401

"""Keys: shown once, kept as a hash, scoped, expiring, revocable."""

import sqlalchemy as sa
from headrace_server import caretaker, models

from tests.backend.world import World

KEYS = "/api/v1/projects/default/keys"


async def test_a_key_is_shown_once_and_works(world: World) -> None:
    person = await world.person()
    made = await person.post(KEYS, json={"name": "ci", "scopes": ["read"]})
    assert made.status_code == 200
    key = made.json()["key"]
    assert key.startswith("hr_") and len(key) > 40
    assert made.json()["prefix"] == key[:11]
    listed = (await person.get(KEYS)).json()["items"]
    assert "ci" in [item["name"] for item in listed]
    assert all("key" not in item for item in listed)
    assert key not in (await person.get(KEYS)).text
    assert (await world.client(Authorization=f"Bearer {key}").get("/api/v1/projects")).status_code == 200


async def test_revoking_works_at_once_and_twice(world: World) -> None:
    person = await world.person()
    made = (await person.post(KEYS, json={"name": "ci", "scopes": ["read"]})).json()
    client = world.client(Authorization=f"Bearer {made['key']}")
    assert (await client.get("/api/v1/projects")).status_code == 200
    for _ in range(2):
        assert (await person.delete(f"{KEYS}/{made['id']}")).status_code == 204
    assert (await client.get("/api/v1/projects")).status_code == 401
    actions = [event["action"] for event in (await world.get("/api/v1/audit"))["items"]]
    assert actions.count("key.revoke") == 1


async def test_a_key_expires(world: World) -> None:
    person = await world.person()
    made = (await person.post(KEYS, json={"name": "ci", "scopes": ["read"], "expires_in_s": 60})).json()
    client = world.client(Authorization=f"Bearer {made['key']}")
    world.clock.advance(59)
    assert (await client.get("/api/v1/projects")).status_code == 200
    world.clock.advance(2)
    assert (await client.get("/api/v1/projects")).status_code == 401


WRONG: list[dict[str, object]] = [
    {"name": "", "scopes": ["read"]},
    {"name": "x", "scopes": []},
    {"name": "x", "scopes": ["admin"]},
    {"name": "x" * 201, "scopes": ["read"]},
    {"name": "x\u0000y", "scopes": ["read"]},
    {"name": "x", "scopes": ["read"], "expires_in_s": 0},
    {"name": "x", "scopes": ["read"], "unknown": 1},
    {"scopes": ["read"]},
]


async def test_a_wrong_body_names_what_is_wrong(world: World) -> None:
    person = await world.person()
    for body in WRONG:
        reply = await person.post(KEYS, json=body)
        assert (reply.status_code, reply.json()["code"]) == (422, "invalid")
        assert reply.json()["errors"][0]["loc"][0] == "body"


async def test_use_is_noted_without_writing_in_the_request(world: World) -> None:
    async def last_used() -> float | None:
        async with world.runtime.database.read() as session:
            return await session.scalar(sa.select(models.ApiKey.last_used_at).where(models.ApiKey.name == "read"))

    await world.viewer.get("/api/v1/projects")
    assert await last_used() is None
    await caretaker.tick(world.runtime, key_uses=True)
    assert await last_used() == world.clock.now
    assert world.runtime.key_uses == {}

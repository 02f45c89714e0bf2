"""Keys: shown once, kept as a hash, scoped, expiring, revocable."""

import sqlalchemy as sa
from headrace_server import caretaker, models

from tests.backend.builders import attempt_body, job_body, record
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
    {"name": "x", "scopes": ["ingest", "read"], "job": "llama"},
    {"name": "x", "scopes": ["read"], "job": "llama"},
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


async def test_a_key_for_one_job_registers_and_reports_that_one_only(world: World) -> None:
    other, other_attempt = await world.running_job()
    person = await world.person()
    made = await person.post(KEYS, json={"name": "node", "scopes": ["ingest"], "job": "llama-7b"})
    assert made.json()["job"] == "llama-7b"
    node = world.client(Authorization=f"Bearer {made.json()['key']}")
    jobs = "/api/v1/projects/default/jobs"
    assert (await node.post(jobs, json=job_body("llama"))).status_code == 404
    assert (await node.post(jobs, json=job_body("llama-70b"))).status_code == 404
    registered = await node.post(jobs, json=job_body("llama-7b"))
    assert registered.status_code == 200, "before the job existed"
    job = f"/api/v1/jobs/{registered.json()['id']}"
    attempt = attempt_body(1)
    assert (await node.post(f"{job}/attempts", json=attempt)).status_code == 200
    batch = {"attempt": attempt["id"], "records": [record()]}
    assert (await node.post(f"{job}/reports", json=batch)).json()["accepted"] == 1
    assert (await node.get(f"{job}/mix")).status_code == 200
    foreign = {"attempt": other_attempt["id"], "records": [record()]}
    for reply in (
        await node.get(other),
        await node.get(f"{other}/mix"),
        await node.post(f"{other}/attempts", json=attempt_body(1)),
        await node.post(f"{other}/reports", json=foreign),
        await node.post(f"{job}/reports", json=foreign),
    ):
        assert (reply.status_code, reply.json()["code"]) == (404, "not_found")
    assert (await node.get(jobs)).status_code == 403


async def test_keys_page_newest_first(world: World) -> None:
    person = await world.person()
    for name in "abcd":
        world.clock.advance(1)
        await person.post(KEYS, json={"name": name, "scopes": ["read"]})
    await person.post(KEYS, json={"name": "e", "scopes": ["read"]})  # in the same moment as d
    names: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await person.get(KEYS, params={"limit": 2, **cursor})).json()
        names += [key["name"] for key in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert sorted(names[:2]) == ["d", "e"] and names[2:5] == ["c", "b", "a"]
    assert len(names) == len(set(names)) == 8
    for wrong in ("x", "aWQ6MQ", "bmFuLDA"):
        assert (await person.get(KEYS, params={"cursor": wrong})).status_code == 422


async def test_only_admins_of_the_project_manage_its_keys(world: World) -> None:
    for role, status in (("viewer", 403), ("approver", 403), ("admin", 200)):
        person = await world.person(role, default=role)  # type: ignore[arg-type]
        assert (await person.get(KEYS)).status_code == status
        assert (await person.post(KEYS, json={"name": "x", "scopes": ["read"]})).status_code == status
    admin_elsewhere = await world.person("eve", other="admin")
    made = await world.key("read", project="default")
    assert made
    listed = (await (await world.person("root")).get(KEYS)).json()["items"]
    revoke = f"/api/v1/projects/other/keys/{listed[0]['id']}"
    assert (await admin_elsewhere.delete(revoke)).status_code == 404

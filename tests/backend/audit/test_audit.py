"""Every change is in the log, newest first, to those of its project."""

from tests.backend.world import World


async def test_changes_are_logged_with_their_request(world: World) -> None:
    job = await world.job()
    reply = await world.edit(job, {"web": 1, "code": 1, "legal": 1}, 1)
    newest = (await world.get("/api/v1/audit"))["items"][0]
    assert newest["action"] == "mix.edit"
    assert newest["request_id"] == reply.headers["x-request-id"]
    assert (newest["project"], newest["job"]) == ("default", job[-36:])


async def test_pages_hold_every_event_once(world: World) -> None:
    job = await world.job()
    for base in range(1, 8):
        await world.edit(job, {"web": base, "code": 1, "legal": 1}, base)
    seen = []
    cursor: dict[str, str] = {}
    while True:
        page = await world.get("/api/v1/audit", job=job[-36:], limit=2, **cursor)
        seen += [event["id"] for event in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == sorted(set(seen), reverse=True)
    assert len(seen) == 9


async def test_a_key_reads_its_own_project_whatever_it_asks_for(world: World) -> None:
    job = await world.job()
    other = await world.caller("read", project="other")
    assert all(e["project"] == "other" for e in (await other.get("/api/v1/audit")).json()["items"])
    assert (await other.get("/api/v1/audit", params={"job": job[-36:]})).status_code == 404


async def test_nothing_logged_is_a_secret(world: World) -> None:
    person = await world.person()
    made = await person.post("/api/v1/projects/default/keys", json={"name": "ci", "scopes": ["read"]})
    text = (await person.get("/api/v1/audit", params={"limit": 200})).text
    assert "key.create" in text and "session.open" in text
    assert made.json()["key"] not in text

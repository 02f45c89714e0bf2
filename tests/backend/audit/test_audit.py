"""Every change is in the log, newest first, to those of its project."""

from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from headrace_server import migration
from headrace_server.audit import repository
from headrace_server.rollups import service as rollups
from headrace_server.settings import Settings

from tests.backend.builders import record
from tests.backend.postgres import PostgresServer
from tests.backend.world import World, running_world


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


async def test_the_database_lets_nobody_change_the_log(world: World) -> None:
    await world.job()
    for statement in ("UPDATE audit_event SET actor = 'nobody'", "DELETE FROM audit_event"):
        with pytest.raises(sa.exc.DBAPIError, match="append-only"):
            async with world.runtime.database.write() as session:
                await session.execute(sa.text(statement))
    actors = {event["actor"] for event in (await world.get("/api/v1/audit"))["items"]}
    assert actors == {"key:ingest", "test"}


async def test_on_postgres_the_owner_of_the_log_has_no_permission_to_change_it(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """The server's own role, as in use: it owns the tables and is no superuser."""
    name = postgres.create()
    with psycopg.connect(postgres.uri_of(name), autocommit=True) as admin:
        admin.execute("CREATE ROLE headrace LOGIN")
        admin.execute(f"GRANT ALL ON DATABASE {name} TO headrace")
        admin.execute("GRANT ALL ON SCHEMA public TO headrace")
    uri = postgres.uri_of(name).replace("//postgres:@", "//headrace:@")
    settings = Settings(data_dir=tmp_path, database_url=uri)
    await migration.migrate(settings)
    async with running_world(settings) as world:
        job, attempt = await world.running_job()
        await world.report(job, attempt, record(time=world.clock.now))
        await rollups.housekeeping(world.runtime)
        for verb in ("UPDATE audit_event SET actor = 'nobody'", "DELETE FROM audit_event", "TRUNCATE audit_event"):
            with pytest.raises(sa.exc.DBAPIError, match="permission denied for table audit_event"):
                async with world.runtime.database.write() as session:
                    await session.execute(sa.text(verb))
        assert (await world.get("/api/v1/audit"))["items"]
    postgres.drop(name)
    with psycopg.connect(postgres.uri, autocommit=True) as admin:
        admin.execute("DROP ROLE headrace")


async def found(world: World, **query: str | int | float) -> list[str]:
    """What a search finds, oldest first: the actions of every page."""
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = await world.get("/api/v1/audit", **query, **cursor)
        seen += [event["action"] for event in page["items"]]
        if page["next_cursor"] is None:
            return seen[::-1]
        cursor = {"cursor": page["next_cursor"]}


async def test_the_log_is_searched_by_who_what_a_text_and_when(world: World) -> None:
    job = await world.job()
    await world.edit(job, {"web": 1, "code": 1, "legal": 0}, 1, reason="Lift 100 % of it_all")
    between = world.clock() + 5
    world.clock.advance(10)
    await world.operator.post(f"{job}/mix/pause", json={"source": "code", "reason": "bad files"})
    assert await found(world, actor="key:read-operate") == ["mix.edit", "mix.pause"]
    assert await found(world, actor="key:read") == []
    assert await found(world, action="mix.pause") == ["mix.pause"]
    assert {"mix.edit", "mix.pause"} <= set(await found(world, action="mix"))
    assert await found(world, action="mi") == []
    assert await found(world, q="LIFT 100 %") == ["mix.edit"]
    assert await found(world, q="lift_100") == [], "an underscore is a letter here"
    assert "mix.edit" in await found(world, q="weights_ppm"), "what was before and after is searched too"
    assert await found(world, **{"from": between}) == ["mix.pause"]
    assert "mix.pause" not in await found(world, to=between)
    assert await found(world, action="mix", q="bad", **{"from": between}) == ["mix.pause"]
    assert await found(world, **{"from": "2001-01-01", "to": "2001-01-02T00:00:00+01:00"}) == []


async def test_a_search_looks_at_so_many_events_a_page_and_goes_on_from_there(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "MAX_LOOKED_AT", 3)
    job = await world.job()
    await world.edit(job, {"web": 1, "code": 1, "legal": 0}, 1, reason="the needle")
    for base in range(2, 9):
        await world.edit(job, {"web": base, "code": 1, "legal": 1}, base)
    page = await world.get("/api/v1/audit", job=job[-36:], q="the needle")
    assert page["items"] == []
    assert page["searched_back_to"] is not None
    assert await found(world, job=job[-36:], q="the needle") == ["mix.edit"]
    full = await world.get("/api/v1/audit", job=job[-36:], action="mix", limit=2)
    assert (len(full["items"]), full["searched_back_to"]) == (2, None)
    assert len(await found(world, job=job[-36:], action="mix.edit", limit=2)) == 8


async def test_a_search_that_makes_no_sense_is_refused(world: World) -> None:
    for query in ({"action": "drop table"}, {"q": "x" * 201}, {"q": "a\x00b"}, {"from": "yesterday"}, {"actor": ""}):
        assert (await world.viewer.get("/api/v1/audit", params=query)).status_code == 422, query


async def test_a_search_finds_nothing_in_projects_of_others(world: World) -> None:
    job = await world.job()
    await world.edit(job, {"web": 1, "code": 1, "legal": 0}, 1, reason="the needle")
    other = await world.caller("read", project="other")
    for query in ({"q": "needle"}, {"action": "mix"}, {"actor": "key:read-operate"}):
        items = (await other.get("/api/v1/audit", params=query)).json()["items"]
        assert [event for event in items if event["project"] != "other"] == []

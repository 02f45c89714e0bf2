"""Registering jobs, once by name; finding, changing and listing them."""

import asyncio
from typing import Any

from tests.backend.builders import job_body, record
from tests.backend.world import World

JOBS = "/api/v1/projects/default/jobs"


async def test_sixteen_who_create_the_same_job_get_the_same_one(world: World) -> None:
    for round_ in range(6):
        body = job_body(f"job {round_}")
        replies = await asyncio.gather(*(world.loader.post(JOBS, json=body) for _ in range(16)))
        assert {reply.status_code for reply in replies} == {200}
        assert len({reply.json()["id"] for reply in replies}) == 1
    assert len((await world.get(JOBS))["items"]) == 6


async def test_a_new_job_waits_with_its_configured_mix(world: World) -> None:
    job = await world.get(await world.job())
    assert (job["state"], job["attempt"], job["step"]) == ("waiting", None, None)
    assert [source["name"] for source in job["sources"]] == ["web", "code", "legal"]
    assert [share["target_ppm"] for share in job["mix"]] == [500_000, 300_000, 200_000]
    assert (job["mix_version"], job["pending_change"]) == (1, None)


async def test_the_second_registration_refreshes_sizes_and_adds_sources(world: World) -> None:
    path = await world.job()
    sources = job_body()["sources"]
    sources[0]["num_tokens"] = 99
    extra = {"name": "maths", "weight_ppm": 0, "num_documents": 1, "num_tokens": 5, "num_shards": 1}
    assert await world.job(sources=[extra, *sources], total_steps=None) == path
    job = await world.get(path)
    assert [(s["name"], s["num_tokens"]) for s in job["sources"]][:1] == [("web", 99)]
    assert job["sources"][-1]["name"] == "maths"
    assert job["total_steps"] is None
    mix = await world.get(f"{path}/mix")
    assert (mix["version"], mix["author"], mix["origin"]) == (2, "config", "config")
    assert mix["weights_ppm"] == {"web": 500_000, "code": 300_000, "legal": 200_000, "maths": 0}
    assert await world.job() == path
    assert (await world.get(path))["mix_version"] == 2


async def test_a_run_with_other_sources_brings_the_mix_it_made_of_them(world: World) -> None:
    path = await world.job()
    web, code, legal = job_body()["sources"]
    extra = {"name": "maths", "weight_ppm": 400_000, "num_documents": 1, "num_tokens": 5, "num_shards": 1}
    now = [{**web, "weight_ppm": 375_000}, {**code, "weight_ppm": 225_000}, extra]
    assert await world.job(sources=now) == path
    mix = await world.get(f"{path}/mix")
    assert mix["weights_ppm"] == {"web": 375_000, "code": 225_000, "legal": 0, "maths": 400_000}
    assert (mix["version"], mix["origin"], mix["reason"]) == (2, "config", "the run has other sources: +maths, −legal")
    assert await world.job(sources=now) == path
    assert (await world.get(f"{path}/mix"))["version"] == 2
    assert await world.job(sources=[web, code, legal]) == path
    assert (await world.get(f"{path}/mix"))["reason"] == "the run has other sources: −maths"


WRONG: list[dict[str, Any]] = [
    {"name": ""},
    {"name": "a\u0000b"},
    {"name": "x" * 201},
    {"seq_len": 0},
    {"seq_len": 2**60},
    {"global_batch_size": -1},
    {"total_steps": 0},
    {"packing": "magic"},
    {"seed": 2**63},
    {"sources": []},
    {"sources": [{**job_body()["sources"][0], "weight_ppm": 999_999}]},
    {"sources": [{**job_body()["sources"][0], "weight_ppm": 500_000}] * 2},
    {"tags": {"a": 1}},
    {"tags": {"a\n": "b"}},
]


async def test_a_wrong_job_is_refused_and_says_where(world: World) -> None:
    for change in WRONG:
        reply = await world.loader.post(JOBS, json=job_body(**change))
        assert (reply.status_code, reply.json()["code"]) == (422, "invalid"), reply.text
        assert reply.json()["errors"][0]["loc"][0] == "body"


HOSTILE = ["<script>alert(1)</script>", "=cmd()", "{{7*7}}", "../../etc/passwd", "%", "_", "'; DROP TABLE job;--", "名"]


async def test_hostile_names_are_only_names(world: World) -> None:
    await world.job("plain")
    for name in HOSTILE:
        path = await world.job(name)
        assert (await world.get(path))["name"] == name
        found = (await world.get(JOBS, q=name))["items"]
        assert [job["name"] for job in found] == [name]


async def test_pages_hold_every_job_once_newest_first(world: World) -> None:
    for i in range(7):
        await world.job(f"job {i}")
    names: list[str] = []
    cursor = None
    while True:
        page = await world.get(JOBS, limit=3, **({} if cursor is None else {"cursor": cursor}))
        names += [job["name"] for job in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert names == [f"job {i}" for i in reversed(range(7))]


async def test_jobs_are_found_by_state(world: World) -> None:
    for i in range(5):
        await world.job(f"idle {i}")
    job, attempt = await world.running_job()
    await world.report(job, attempt, record(0), record(1))
    assert [j["name"] for j in (await world.get(JOBS, state="running"))["items"]] == ["llama"]
    waiting = await world.get(JOBS, state="waiting", limit=2)
    assert [j["name"] for j in waiting["items"]] == ["idle 4", "idle 3"]
    rest = await world.get(JOBS, state="waiting", limit=9, cursor=waiting["next_cursor"])
    assert [j["name"] for j in rest["items"]] == ["idle 2", "idle 1", "idle 0"]


async def test_changes_are_partial_audited_and_strict(world: World) -> None:
    path = await world.job(tags={"team": "a"})
    changed = await world.operator.patch(path, json={"total_steps": 5000})
    assert changed.json()["total_steps"] == 5000
    assert changed.json()["tags"] == {"team": "a"}
    assert (await world.operator.patch(path, json={"archived": True})).json()["archived"]
    assert (await world.get(JOBS))["items"] == []
    assert len((await world.get(JOBS, archived=True))["items"]) == 1
    for wrong in ({"name": "x"}, {"archived": None}, {"total_steps": "many"}):
        assert (await world.operator.patch(path, json=wrong)).status_code == 422
    events = [e for e in (await world.get("/api/v1/audit"))["items"] if e["action"] == "job.change"]
    assert [(e["before"], e["after"]) for e in events] == [
        ({"archived": False}, {"archived": True}),
        ({"total_steps": 1000}, {"total_steps": 5000}),
    ]


async def test_a_made_up_cursor_is_refused(world: World) -> None:
    for cursor in ("x", "aWQ6LTE", "=", "aWQ6" + "9" * 40, "☃"):
        assert (await world.viewer.get(JOBS, params={"cursor": cursor})).status_code == 422, cursor

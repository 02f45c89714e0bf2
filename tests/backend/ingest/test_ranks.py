"""The rank table: the latest of each rank, by rank, with its lag and its liveness."""

from headrace_server.ingest.schemas import RankList

from tests.backend.builders import record
from tests.backend.world import World


async def test_ranks_are_listed_with_lag_and_cursors(world: World) -> None:
    job, attempt = await world.running_job(3)
    await world.report(job, attempt, record(2, 0, 9), record(0, 0, 12, host="a"), record(1, 0, 12, dropped=3))
    listed = await world.get(f"{job}/ranks")
    assert listed["attempt"] == 1
    assert [(r["rank"], r["step"], r["step_lag"]) for r in listed["items"]] == [(0, 12, 0), (1, 12, 0), (2, 9, 3)]
    assert listed["items"][1]["dropped"] == 3
    assert listed["items"][0]["host"] == "a"
    assert listed["items"][0]["sources"][0] == {
        "name": "web",
        "ordinal": 650,
        "epoch": 0,
        "file": "web/part-0.arrow",
        "row": 12,
    }


async def test_liveness_follows_the_servers_clock(world: World) -> None:
    job, attempt = await world.running_job()
    await world.report(job, attempt, record(0), record(1))
    seen = []
    for step in (0.0, 4.5, 1.0, 1.0):
        world.clock.advance(step)
        seen.append({rank["state"] for rank in (await world.get(f"{job}/ranks"))["items"]})
    assert seen == [{"live"}, {"late"}, {"stale"}, {"lost"}]


async def test_a_finished_attempt_has_finished_ranks(world: World) -> None:
    job, attempt = await world.running_job()
    await world.report(job, attempt, record(0), record(1))
    await world.loader.patch(f"{job}/attempts/{attempt['id']}", json={"state": "finished"})
    world.clock.advance(1000)
    assert {rank["state"] for rank in (await world.get(f"{job}/ranks"))["items"]} == {"finished"}


async def test_before_the_first_start_there_are_none(world: World) -> None:
    assert await world.get(f"{await world.job()}/ranks") == {"items": [], "attempt": None, "next_cursor": None}


async def test_the_page_is_as_described(world: World) -> None:
    """Its JSON is made without the schema, which would take longer than everything else; so it is compared with it."""
    job, attempt = await world.running_job(3)
    place = {"source": "web", "file": "a.arrow", "row": None}
    await world.report(job, attempt, record(0, 0, 5), record(1, 0, 4, masked_tokens=3, masked_at=place))
    page = await world.get(f"{job}/ranks")
    assert [rank["rank"] for rank in page["items"]] == [0, 1]
    assert page["items"][1]["masked_at"] == place
    assert RankList.model_validate(page).model_dump(mode="json") == page


async def test_one_rank_with_the_ranks_to_look_at_next(world: World) -> None:
    job, attempt = await world.running_job(5)
    await world.report(job, attempt, record(0, 0, 12), record(2, 0, 12), record(4, 0, 9), record(3, 0, 9))
    slow = {"wait_p99_ms": 99.0}
    await world.report(job, attempt, record(4, 1, 9, **slow))
    found = await world.get(f"{job}/ranks/2")
    listed = (await world.get(f"{job}/ranks"))["items"]
    assert {name: found[name] for name in listed[1]} == listed[1]
    assert (found["attempt"], found["previous_rank"], found["next_rank"], found["slowest_rank"]) == (1, 0, 3, 4)
    edge = await world.get(f"{job}/ranks/4")
    assert (edge["previous_rank"], edge["next_rank"], edge["step_lag"]) == (3, None, 3)


async def test_a_rank_that_has_not_reported_is_not_found_by_name(world: World) -> None:
    job = await world.job()
    reply = await world.viewer.get(f"{job}/ranks/0")
    assert reply.status_code == 404
    assert "no attempt has started yet" in reply.json()["detail"]
    attempt = await world.attempt(job)
    await world.report(job, attempt, record(1))
    reply = await world.viewer.get(f"{job}/ranks/0")
    assert reply.status_code == 404
    assert reply.json()["detail"].startswith("rank 0 has not reported in attempt 1")

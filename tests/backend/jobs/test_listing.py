"""What a list says of each job beyond its summary, in two statements however many jobs are on the page."""

import sqlalchemy as sa
from headrace_server import models
from headrace_server.events.schemas import JobEvent
from headrace_server.jobs.schemas import JobListed
from headrace_server.rollups import service as rollups

from tests.backend.builders import Body, record
from tests.backend.world import World

JOBS = "/api/v1/projects/default/jobs"
BEGIN = 1_700_000_040.0


async def listed(world: World, name: str) -> Body:
    [job] = (await world.get(JOBS, q=name))["items"]
    found: Body = job
    return found


async def minute(world: World, job: str, attempt: Body, number: int, tokens: int) -> None:
    """A report in a minute, of so many tokens in two seconds."""
    await world.report(job, attempt, record(0, number, number, time=BEGIN + 60 * number, tokens=tokens))


async def test_a_line_of_the_last_hour_goes_on_over_restarts_and_shows_gaps(world: World) -> None:
    world.clock.now = BEGIN + 300
    job = await world.job("llama")
    first = await world.attempt(job, 1, started_at=BEGIN)
    assert (await listed(world, "llama"))["tokens_per_s_by_minute"] == []
    await minute(world, job, first, 0, 2000)
    await minute(world, job, first, 1, 4000)
    second = await world.attempt(job, 1, started_at=BEGIN + 200, resumed_from_step=2)
    await minute(world, job, second, 3, 6000)
    world.clock.advance(600)
    await rollups.roll_up(world.runtime)
    assert (await listed(world, "llama"))["tokens_per_s_by_minute"] == [1000.0, 2000.0, None, 3000.0]


async def test_a_long_run_gives_sixty_points(world: World) -> None:
    job, _ = await world.running_job(1)
    async with world.runtime.database.write() as session:
        attempt_id = await session.scalar(sa.select(models.Attempt.id))
        columns = models.JobRollup.__table__.columns
        whole = {c.name: 1 for c in columns if isinstance(c.type, sa.Integer)}
        rest = {c.name: 123456.789 for c in columns if c.name not in whole}
        rows = [{**whole, **rest, "attempt_id": attempt_id, "minute": 60 * n} for n in range(1000, 1500)]
        await session.execute(sa.insert(models.JobRollup), rows)
    assert (await listed(world, "llama"))["tokens_per_s_by_minute"] == [123_500.0] * 60
    assert (await world.get(f"{job}"))["name"] == "llama"


async def test_owner_tags_and_waiting_changes_are_in_the_list(world: World) -> None:
    job = await world.job("llama", tags={"team": "x"})
    await world.attempt(job, 1)
    body = {"weights": {"web": 1, "code": 1, "legal": 1}, "reason": "later", "at_step": 10_000}
    reply = await world.operator.post(f"{job}/mix/changes", json=body, headers={"If-Match": '"v1"'})
    assert reply.status_code == 201, reply.text
    found = await listed(world, "llama")
    assert (found["tags"], found["owner"], found["changes_waiting"]) == ({"team": "x"}, "key:ingest", 1)
    await world.job("other")
    assert (await listed(world, "other"))["changes_waiting"] == 0


async def test_a_list_costs_the_same_statements_for_two_jobs_and_for_forty(world: World) -> None:
    statements = 0

    def count(*_: object) -> None:
        nonlocal statements
        statements += 1

    for number in range(2):
        await world.attempt(await world.job(f"few-{number}"), 1)
    engine = world.runtime.database.engine.sync_engine
    sa.event.listen(engine, "before_cursor_execute", count)

    async def cost(num: int) -> int:
        """The least of a few, as others run beside."""
        nonlocal statements
        found = []
        for _ in range(3):
            statements = 0
            assert len((await world.get(JOBS, limit=200))["items"]) == num
            found.append(statements)
        return min(found)

    few = await cost(2)
    for number in range(38):
        await world.attempt(await world.job(f"more-{number}"), 1)
    # Each version of the mix that is still open costs some of its own; these are the configured ones.
    assert await cost(40) <= few + 1


def test_an_event_of_a_job_never_holds_what_only_lists_carry() -> None:
    """The dashboard merges an event into what it has: a field that events had, emptied, would erase it."""
    assert set(JobListed.model_fields) - set(JobEvent.model_fields) == {"tokens_per_s_by_minute", "changes_waiting"}

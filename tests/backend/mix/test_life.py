"""proposed → seen → agreed at a step → applied on n of N ranks, or superseded."""

from typing import Any

from tests.backend.builders import activation_body, record
from tests.backend.world import World

HALVES = {"web": 1, "code": 1, "legal": 0}
HALVES_PPM = {"web": 500_000, "code": 500_000, "legal": 0}


async def life(world: World, job: str, version: int = 2) -> dict[str, Any]:
    versions = (await world.get(f"{job}/mix/versions"))["items"]
    found: dict[str, Any] = next(v["life"] for v in versions if v["version"] == version)
    return found


async def test_the_whole_life_of_an_edit(world: World) -> None:
    job, attempt = await world.running_job()
    await world.report(job, attempt, record(0), record(1))
    await world.edit(job, HALVES, 1)
    assert (await life(world, job))["state"] == "proposed"

    reply = await world.report(job, attempt, record(0, 1, 6, mix_seen=1))
    assert reply["mix_version"] == 2, "the reply tells the leader at once"
    assert (await life(world, job))["state"] == "proposed"
    await world.report(job, attempt, record(0, 2, 8, mix_seen=2))
    assert (await life(world, job))["state"] == "seen"

    activation = activation_body(attempt, "service:2", 12, weights_ppm=HALVES_PPM)
    reply_ = await world.loader.post(f"{job}/activations", json=activation)
    assert reply_.status_code == 200
    agreed = await life(world, job)
    assert (agreed["state"], agreed["agreed_step"]) == ("agreed", 12)
    assert (agreed["applied_ranks"], agreed["total_ranks"]) == (0, 2)

    await world.report(job, attempt, record(0, 3, 12, mix_version=2), record(1, 1, 11))
    half = await life(world, job)
    assert (half["state"], half["applied_ranks"]) == ("agreed", 1)
    pending = (await world.get(job))["pending_change"]
    assert (pending["version"], pending["life"]["applied_ranks"]) == (2, 1)

    # At the agreed step or past it, even if the rank didn't say which version it had.
    await world.report(job, attempt, record(1, 2, 13, mix_version=None, mix_revision="service:2"))
    done = await life(world, job)
    assert (done["state"], done["applied_ranks"]) == ("applied", 2)
    assert done["applied_at"] is not None
    found = await world.get(job)
    assert found["pending_change"] is None
    assert found["mix_version_in_force"] == 2


async def test_a_leader_that_fetches_the_mix_has_seen_it_a_viewer_has_not(world: World) -> None:
    job, _ = await world.running_job()
    await world.edit(job, HALVES, 1)
    for client in (world.viewer, world.operator):
        await client.get(f"{job}/mix")
    assert (await life(world, job))["state"] == "proposed"
    assert (await world.loader.get(f"{job}/mix")).json()["version"] == 2
    assert (await life(world, job))["state"] == "seen"


async def test_an_edit_replaces_one_that_nobody_has_agreed(world: World) -> None:
    job, attempt = await world.running_job()
    await world.edit(job, HALVES, 1)
    await world.edit(job, {"web": 1, "code": 2, "legal": 3}, 2)
    assert (await life(world, job, 2))["state"] == "superseded"
    assert (await life(world, job, 3))["state"] == "proposed"
    assert (await life(world, job, 1))["state"] != "superseded", "the configuration is no edit"
    await world.loader.post(f"{job}/activations", json=activation_body(attempt, "service:3", 12))
    await world.edit(job, HALVES, 3)
    assert (await life(world, job, 3))["state"] == "agreed"


async def test_a_leader_that_sealed_before_the_newer_edit_came_is_right(world: World) -> None:
    job, attempt = await world.running_job()
    await world.edit(job, HALVES, 1)
    await world.edit(job, {"web": 1, "code": 2, "legal": 3}, 2)
    reply = await world.loader.post(f"{job}/activations", json=activation_body(attempt, "service:2", 5))
    assert reply.json()["version"] == 2
    assert (await life(world, job, 2))["state"] == "agreed"


async def test_reports_that_came_before_the_activation_count(world: World) -> None:
    job, attempt = await world.running_job()
    await world.edit(job, HALVES, 1)
    await world.report(job, attempt, record(0, 0, 20), record(1, 0, 20))
    await world.loader.post(f"{job}/activations", json=activation_body(attempt, "service:2", 12))
    assert (await life(world, job))["state"] == "applied"


async def test_an_older_version_gets_applied_while_a_newer_one_waits(world: World) -> None:
    job, attempt = await world.running_job()
    await world.edit(job, HALVES, 1)
    await world.loader.post(f"{job}/activations", json=activation_body(attempt, "service:2", 12))
    await world.edit(job, {"web": 1, "code": 2, "legal": 3}, 2)
    await world.report(job, attempt, record(0, 0, 20, mix_version=2), record(1, 0, 20, mix_version=2))
    assert (await life(world, job, 2))["state"] == "applied"
    assert (await life(world, job, 3))["state"] == "proposed"


async def test_the_version_in_force_is_what_the_furthest_rank_says(world: World) -> None:
    job, attempt = await world.running_job()

    async def in_force(revision: str, step: int) -> Any:
        record_ = record(0, step, step, mix_revision=revision, mix_version=None)
        await world.report(job, attempt, record_, record(1, step, step - 1))
        return (await world.get(job))["mix_version_in_force"]

    assert await in_force("config:1", 1) is None, "nobody has said yet what it is"
    await world.loader.post(f"{job}/activations", json=activation_body(attempt, "config:1", 0))
    assert await in_force("config:1", 2) == 1
    await world.edit(job, HALVES, 1)
    assert await in_force("service:2", 3) == 2
    await world.loader.post(f"{job}/activations", json=activation_body(attempt, "local:aaaa:1", 4))
    assert await in_force("local:aaaa:1", 4) == 3

"""Ten thousand ranks of one job: reported, paged, and told apart by how alive they are."""

from collections import Counter

from tests.backend.builders import record
from tests.backend.world import World

NUM_RANKS = 10_000


async def test_ten_thousand_ranks_are_kept_and_paged(world: World) -> None:
    job = await world.job()
    attempt = await world.attempt(job, NUM_RANKS)
    silent = set(range(4000, 4010))
    for first in range(0, NUM_RANKS, 1000):
        batch = [record(rank, 0, 4, sources=[]) for rank in range(first, first + 1000) if rank not in silent]
        assert (await world.report(job, attempt, *batch))["rejected"] == []
    found = await world.get(job)
    assert (found["ranks_live"], found["ranks_total"]) == (NUM_RANKS - 10, NUM_RANKS)

    whole = await world.get(f"{job}/ranks")
    assert (len(whole["items"]), whole["next_cursor"]) == (NUM_RANKS - 10, None)
    await world.report(job, attempt, record(NUM_RANKS - 1, 1, 9, sources=[]))
    seen: list[int] = []
    cursor: dict[str, str] = {}
    while True:
        page = await world.get(f"{job}/ranks", limit=3000, **cursor)
        seen += [rank["rank"] for rank in page["items"]]
        assert page["items"][0]["step_lag"] == 5, "behind the furthest of all ranks, not of the page"
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == [rank for rank in range(NUM_RANKS) if rank not in silent]

    interval_s = NUM_RANKS / world.runtime.settings.max_reports_per_s
    world.clock.advance(2.2 * interval_s)
    await world.report(job, attempt, *(record(rank, 2, 14, sources=[]) for rank in range(1000)))
    states = Counter(rank["state"] for rank in (await world.get(f"{job}/ranks"))["items"])
    assert states == {"live": 1000, "late": NUM_RANKS - 1010}
    world.clock.advance(interval_s)
    await world.report(job, attempt, *(record(rank, 3, 19, sources=[]) for rank in range(1000)))
    found = await world.get(job)
    assert found["state"] == "lost"
    assert f"{NUM_RANKS - 1010} of {NUM_RANKS} ranks (rank 1000 first)" in found["state_reason"]
    for wrong in ({"limit": 0}, {"limit": 10_001}, {"cursor": "x"}):
        assert (await world.viewer.get(f"{job}/ranks", params=wrong)).status_code == 422, wrong

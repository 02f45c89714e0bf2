"""The figures of a job over REST: real series, the marks of attempts and edits, both axes and themes."""

from headrace_server.figures.canvas import moment

from tests.backend.builders import activation_body, record
from tests.backend.world import World

NAMES = ("mix", "throughput", "wait", "loss", "epochs", "queue", "memory")
OF_RANKS = ("throughput", "wait", "queue", "memory")


async def test_every_figure_of_a_running_job(world: World) -> None:
    job, first = await world.running_job()
    for seq in range(4):
        await world.report(job, first, *(record(rank, seq, 10 * seq) for rank in range(2)))
    await world.edit(job, {"web": 1, "code": 1, "legal": 0}, 1)
    weights = {"web": 500_000, "code": 500_000, "legal": 0}
    body = activation_body(first, "service:2", 25, weights_ppm=weights)
    assert (await world.loader.post(f"{job}/activations", json=body)).status_code == 200
    second = await world.attempt(job, resumed_from_step=20)
    again = activation_body(second, "service:2", 25, weights_ppm=weights)
    assert (await world.loader.post(f"{job}/activations", json=again)).status_code == 200
    await world.report(job, second, record(0, 0, 24), record(1, 0, 24))
    for name in NAMES:
        for axis in ("step", "tokens", "time"):
            figure = await world.get(f"{job}/figures/{name}", x=axis, theme="dark", max_points=50)
            assert figure["name"] == name
            assert figure["figure"]["data"], name
            marks = [(mark["kind"], mark["number"]) for mark in figure["marks"]]
            once = [("attempt", 2), ("mix", 2)]
            assert sorted(marks) == (once if axis != "time" else [*once, ("mix", 2)]), "one mark a step, one a moment"
            assert len(figure["figure"]["layout"]["shapes"]) == len(marks)
            if axis == "tokens":
                assert [mark["x"] for mark in figure["marks"]] == [20 * 12_800, 25 * 12_800]
    figure = await world.get(f"{job}/figures/mix")
    assert [row[0] for row in figure["table"]["rows"]] == [0, 10]


async def test_a_job_without_reports_has_empty_figures(world: World) -> None:
    job = await world.job()
    for name in NAMES:
        assert (await world.get(f"{job}/figures/{name}"))["table"]["rows"] == []
    assert (await world.viewer.get(f"{job}/figures/nothing")).status_code == 404
    assert (await world.viewer.get(f"{job}/figures/mix", params={"theme": "blue"})).status_code == 422


async def test_a_rank_has_figures_of_its_own(world: World) -> None:
    job, attempt = await world.running_job()
    own = {"tokens": 500, "interval_s": 2.0, "wait_p99_ms": 77.0, "queue_depth": 1.5, "rss_bytes": 3 * 2**30}
    for seq in range(3):
        await world.report(job, attempt, record(0, seq, 10 * seq), record(1, seq, 10 * seq, **own))
    wanted = {"throughput": ("mean", 250.0), "wait": ("p99", 77.0), "queue": ("mean", 1.5), "memory": ("mean", 3.0)}
    for name in OF_RANKS:
        figure = await world.get(f"{job}/figures/{name}", rank=1)
        assert figure["title"].endswith(", rank 1")
        key, value = wanted[name]
        column = [found["key"] for found in figure["table"]["columns"]].index(key)
        assert [row[column] for row in figure["table"]["rows"]] == [value] * 3
        assert "over ranks" not in figure["description"]
    for name in ("mix", "loss", "epochs"):
        reply = await world.viewer.get(f"{job}/figures/{name}", params={"rank": 1})
        assert reply.status_code == 422
        assert "leave out rank=1" in reply.json()["detail"]
    assert (await world.get(f"{job}/figures/queue", rank=7))["table"]["rows"] == []


async def test_over_time_the_forecast_goes_where_the_present_pace_leads(world: World) -> None:
    job, attempt = await world.running_job()
    for seq in range(2):
        reports = [
            record(rank, seq, 5 * seq + 4, time=world.clock() - 2 + 2 * seq, tokens=6400, interval_s=2.0)
            for rank in range(2)
        ]
        await world.report(job, attempt, *reports)
    figure = await world.get(f"{job}/figures/epochs", x="time")
    # 2 ranks of 3,200 tokens/s are half a step of 12,800 a second; 990 are left.
    assert "the present pace of 0.5 steps/s, which ends the run in 33 min" in figure["description"]
    ahead = [trace for trace in figure["figure"]["data"] if trace.get("meta") == "forecast"]
    assert len(ahead) == 3
    assert ahead[0]["x"][1] == moment(world.clock() + 1980)
    assert figure["extent"]["high"] == world.clock(), "without the forecast"
    world.clock.advance(600)
    silent = await world.get(f"{job}/figures/epochs", x="time")
    assert "the run has no pace now" in silent["description"]
    assert not [trace for trace in silent["figure"]["data"] if trace.get("meta") == "forecast"]

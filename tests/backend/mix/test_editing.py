"""Editing the mix: exactly one of those who edit at once wins, and the others see what won."""

import asyncio

import pytest

from tests.backend.builders import job_body
from tests.backend.world import World

HALVES = {"web": 1, "code": 1, "legal": 0}


async def test_an_edit_makes_the_next_version_with_who_why_and_what(world: World) -> None:
    job = await world.job()
    reply = await world.edit(job, {"web": 0.7, "code": 0.2, "legal": 0.1}, 1, from_step=50, ramp_steps=10)
    assert reply.status_code == 200
    assert reply.headers["etag"] == '"v2"'
    version = reply.json()
    assert version["weights_ppm"] == {"web": 700_000, "code": 200_000, "legal": 100_000}
    assert (version["version"], version["parent"], version["origin"]) == (2, 1, "service")
    assert (version["from_step"], version["ramp_steps"], version["reason"]) == (50, 10, "a test")
    assert version["author"] == "key:read-operate"
    assert version["life"]["state"] == "proposed"
    [event] = [e for e in (await world.get("/api/v1/audit", job=job[-36:]))["items"] if e["action"] == "mix.edit"]
    assert (event["actor"], event["reason"]) == ("key:read-operate", "a test")
    assert event["before"]["weights_ppm"] == {"web": 500_000, "code": 300_000, "legal": 200_000}
    assert event["after"]["weights_ppm"] == version["weights_ppm"]
    assert (await world.get(job))["pending_change"]["version"] == 2


async def test_of_sixteen_who_edit_at_once_one_wins(world: World) -> None:
    job = await world.job()
    for base in range(1, 5):
        replies = await asyncio.gather(
            *(world.edit(job, {"web": i + 1, "code": 1, "legal": 1}, base) for i in range(16))
        )
        statuses = sorted(reply.status_code for reply in replies)
        assert statuses == [200] + [412] * 15
        [won] = [reply.json() for reply in replies if reply.status_code == 200]
        assert won["version"] == base + 1
        for reply in replies:
            if reply.status_code == 412:
                assert reply.json()["code"] == "mix_changed"
                assert reply.json()["current"]["version"] == base + 1
                assert reply.json()["current"]["weights_ppm"] == won["weights_ppm"]
    versions = (await world.get(f"{job}/mix/versions"))["items"]
    assert [version["version"] for version in versions] == [5, 4, 3, 2, 1]


async def test_if_match_is_required_and_must_be_a_version(world: World) -> None:
    job = await world.job()
    for header, status in [
        (None, 428),
        ("*", 428),
        ("", 428),
        ('"v9"', 412),
        ("v1", 422),
        ('"x"', 422),
        ('"v1", "v2"', 422),
    ]:
        headers = {} if header is None else {"If-Match": header}
        for path, body in [("mix", {"weights": HALVES, "reason": "r"}), ("mix/versions/1/revert", {"reason": "r"})]:
            method = world.operator.put if path == "mix" else world.operator.post
            assert (await method(f"{job}/{path}", json=body, headers=headers)).status_code == status, header
    assert (await world.get(f"{job}/mix"))["version"] == 1


async def test_a_reader_that_has_the_newest_version_gets_304(world: World) -> None:
    job = await world.job()
    reply = await world.loader.get(f"{job}/mix")
    assert reply.headers["etag"] == '"v1"'
    for held in ('"v1"', 'W/"v1"', '"v0", "v1"'):
        unchanged = await world.loader.get(f"{job}/mix", headers={"If-None-Match": held})
        assert (unchanged.status_code, unchanged.content) == (304, b"")
        assert unchanged.headers["etag"] == '"v1"'
    await world.edit(job, HALVES, 1)
    changed = await world.loader.get(f"{job}/mix", headers={"If-None-Match": '"v1"'})
    assert (changed.status_code, changed.json()["version"]) == (200, 2)


@pytest.mark.parametrize(
    "body",
    [
        {"weights": HALVES},
        {"weights": HALVES, "reason": ""},
        {"weights": HALVES, "reason": "   "},
        {"weights": HALVES, "reason": "x" * 501},
        {"weights": HALVES, "reason": "r", "from_stp": 5},
        {"weights": HALVES, "reason": "r", "from_step": -1},
        {"weights": HALVES, "reason": "r", "ramp_steps": -1},
        {"weights": HALVES, "reason": "r", "ramp_steps": None},
        {"weights": {}, "reason": "r"},
        {"weights": {"web": 1}, "reason": "r"},
        {"weights": {**HALVES, "nowhere": 1}, "reason": "r"},
        {"weights": {"web": 0, "code": 0, "legal": 0}, "reason": "r"},
        {"weights": {"web": -1, "code": 1, "legal": 1}, "reason": "r"},
        {"weights": {"web": "x", "code": 1, "legal": 1}, "reason": "r"},
        {"weights": {"web": 1e-9, "code": 1, "legal": 1}, "reason": "r"},
        {"reason": "r"},
    ],
    ids=str,
)
@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
async def test_a_wrong_edit_changes_nothing_and_says_what(world: World, body: dict[str, object]) -> None:
    job = await world.job()
    reply = await world.operator.put(f"{job}/mix", json=body, headers={"If-Match": '"v1"'})
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid"), reply.text
    assert reply.json()["errors"][0]["loc"][0] == "body"
    assert (await world.get(f"{job}/mix"))["version"] == 1


async def test_reverting_makes_a_new_version_with_the_old_weights(world: World) -> None:
    job = await world.job()
    await world.edit(job, HALVES, 1)
    path = f"{job}/mix/versions/1/revert"
    reply = await world.operator.post(path, json={"reason": "back"}, headers={"If-Match": '"v2"'})
    assert reply.status_code == 200
    version = reply.json()
    assert (version["version"], version["reverts"], version["parent"]) == (3, 1, 2)
    assert version["weights_ppm"] == {"web": 500_000, "code": 300_000, "legal": 200_000}
    stale = await world.operator.post(path, json={"reason": "back"}, headers={"If-Match": '"v2"'})
    assert stale.status_code == 412
    missing = await world.operator.post(
        f"{job}/mix/versions/99/revert", json={"reason": "back"}, headers={"If-Match": '"v3"'}
    )
    assert missing.status_code == 404


async def test_history_comes_in_pages_newest_first(world: World) -> None:
    job = await world.job()
    for base in range(1, 6):
        await world.edit(job, {"web": base, "code": 1, "legal": 1}, base)
    first = await world.get(f"{job}/mix/versions", limit=4)
    rest = await world.get(f"{job}/mix/versions", limit=4, cursor=first["next_cursor"])
    assert [v["version"] for v in first["items"] + rest["items"]] == [6, 5, 4, 3, 2, 1]
    assert rest["next_cursor"] is None


async def test_a_preview_changes_nothing_and_tells_the_end(world: World) -> None:
    job = await world.job()
    reply = await world.operator.post(f"{job}/mix/preview", json={"weights": {"web": 1, "code": 0, "legal": 0}})
    preview = reply.json()
    assert preview["weights_ppm"] == {"web": 1_000_000, "code": 0, "legal": 0}
    assert preview["delta_ppm"] == {"web": 500_000, "code": -300_000, "legal": -200_000}
    # 1,000 steps of 100 sequences; an epoch is 1,280,000 tokens of 128.
    assert preview["epochs_at_end"] == {"web": 10.0, "code": 0.0, "legal": 0.0}
    assert [(w["code"], w["source"]) for w in preview["warnings"]] == [
        ("no_attempt", None),
        ("many_epochs", "web"),
        ("paused", "code"),
        ("paused", "legal"),
    ]
    assert (await world.get(f"{job}/mix"))["version"] == 1


async def test_a_preview_knows_the_end_of_a_source_and_of_the_run(world: World) -> None:
    sources = [
        {**source, "end_ordinal": 12_000 if source["name"] == "legal" else None} for source in job_body()["sources"]
    ]
    job = await world.job(sources=sources)
    await world.attempt(job)
    body = {"weights": {"web": 1, "code": 1, "legal": 1}, "ramp_steps": 2000}
    preview = (await world.operator.post(f"{job}/mix/preview", json=body)).json()
    assert [(w["code"], w["source"]) for w in preview["warnings"]] == [
        ("long_ramp", None),
        ("many_epochs", "web"),
        ("exhausted", "legal"),
    ]
    assert preview["epochs_at_end"]["legal"] == 1.2
    assert (await world.get(job))["sources"][2]["end_ordinal"] == 12_000

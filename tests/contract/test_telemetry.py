"""The loader's telemetry against the real control plane: accepted, exact, steerable, and once over any outage."""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from headrace.telemetry.connect import connect
from headrace.telemetry.description import RankIdentity
from headrace.telemetry.port import Activated, MaskedPlace, Proposal, Telemetry
from headrace.telemetry.reporter import Reporter

from tests.contract.control_plane import ControlPlane
from tests.loader.telemetry.ranks import DESCRIPTION, SOURCES, identity, sample, wait_until
from tests.loader.telemetry.services import new_uuid

HALVES = {"web": 500_000, "code": 500_000}


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return f"{request.node.name[:60]}-{new_uuid()[:8]}"


def _connect(plane: ControlPlane, cache: Path, name: str, who: RankIdentity, **settings: Any) -> Telemetry:
    given = {"job": name, "url": plane.url, "token": plane.loader_key, "cache": cache, "report_every_s": 0.5}
    telemetry = connect(who, DESCRIPTION, **{**given, **settings})
    assert telemetry is not None
    return telemetry


def _train(telemetries: list[Telemetry], steps: range, revision: str = "config:1", step_s: float = 0.01) -> None:
    for step in steps:
        for telemetry in telemetries:
            telemetry.step_ended(sample(step, revision=revision))
            telemetry.observe(step, {"web": (3.5, 7), "code": (1.5, 3)})
        time.sleep(step_s)


def _reported(plane: ControlPlane, name: str) -> int:
    job = plane.job(name)
    return -1 if job is None or job["step"] is None else int(job["step"])


def test_a_run_is_taken_whole_with_nothing_rejected(
    control_plane: ControlPlane, tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    who = [identity(rank, world_size=2) for rank in range(2)]
    who[1] = identity(1, attempt=who[0].attempt, world_size=2)
    ranks = [_connect(control_plane, tmp_path, name, one) for one in who]
    ranks[0].activated(Activated("config:1", 0, SOURCES, 0))
    _train(ranks, range(200))
    place = MaskedPlace("code", "code-00.arrow", 7)
    for masked_tokens, masked_at in ((30, place), (12, replace(place, row=None)), (0, None)):
        ranks[1].step_ended(replace(sample(199), masked_tokens=masked_tokens, masked_at=masked_at))
    for telemetry in ranks:
        telemetry.finish()
    job = control_plane.job(name)
    assert (job["step"], job["tokens"], job["state"]) == (199, 200 * 1280, "finished")
    assert [(m["source"], m["target_ppm"], m["realised_ppm"]) for m in job["mix"]] == [
        ("web", 700_000, 700_000),
        ("code", 300_000, 300_000),
    ]
    states = control_plane.get(f"/jobs/{job['id']}/ranks")["items"]
    assert [(state["rank"], state["step"], state["dropped"], state["mix_revision"]) for state in states] == [
        (0, 199, 0, "config:1"),
        (1, 199, 0, "config:1"),
    ]
    assert states[0]["sources"] == [
        {"name": "web", "ordinal": 1400, "epoch": 0, "file": "web-00.arrow", "row": 199},
        {"name": "code", "ordinal": 600, "epoch": 0, "file": "code-00.arrow", "row": 199},
    ]
    assert [(state["masked_tokens"], state["masked_at"]) for state in states] == [
        (0, None),
        (42, {"source": "code", "file": "code-00.arrow", "row": None}),
    ]
    [attempt] = control_plane.get(f"/jobs/{job['id']}/attempts")["items"]
    assert (attempt["id"], attempt["state"], attempt["world_size"]) == (who[0].attempt, "finished", 2)
    [activation] = control_plane.get(f"/jobs/{job['id']}/activations")["items"]
    assert (activation["revision"], activation["step"], activation["version"]) == ("config:1", 0, 1)
    assert caplog.records == []


def test_an_edit_becomes_a_proposal_and_its_agreed_step_is_recorded(
    control_plane: ControlPlane, tmp_path: Path, name: str
) -> None:
    who = identity()
    telemetry = _connect(control_plane, tmp_path, name, who)
    telemetry.activated(Activated("config:1", 0, SOURCES, 0, lineage=who.lineage))
    wait_until(lambda: control_plane.job(name), 20)
    job_id = control_plane.job(name)["id"]
    assert telemetry.latest_proposal() is None  # configured weights are nobody's wish
    version = control_plane.edit(job_id, {"web": 1, "code": 1}, from_step=20, ramp_steps=5)["version"]
    wait_until(lambda: telemetry.latest_proposal() is not None)
    assert telemetry.latest_proposal() == Proposal(f"service:{version}", HALVES, 20, 5)
    telemetry.activated(Activated(f"service:{version}", 25, HALVES, 5))
    _train([telemetry], range(20, 40), f"service:{version}")

    def life() -> Any:
        return control_plane.get(f"/jobs/{job_id}/mix")["life"]

    wait_until(lambda: life()["state"] == "applied", 15)
    assert (life()["agreed_step"], life()["applied_ranks"]) == (25, 1)
    assert telemetry.replay_record(who.lineage, 1, 5) == [
        Activated(f"service:{version}", 25, HALVES, 5, lineage=who.lineage)
    ]
    telemetry.finish()


def test_edits_reach_the_leader_within_a_second_by_its_stream(
    control_plane: ControlPlane, tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    telemetry = _connect(control_plane, tmp_path, name, identity())  # no step, so no reply to a report tells of edits
    wait_until(lambda: control_plane.job(name), 20)
    job_id = control_plane.job(name)["id"]
    assert isinstance(telemetry, Reporter) and telemetry._feed is not None
    stream = telemetry._feed._stream
    wait_until(lambda: stream is not None and stream.is_trusted(1))
    time.sleep(1.2)  # a poll that was due before the stream was there
    took_s = []
    for number in range(9):
        version = control_plane.edit(job_id, {"web": number + 1, "code": 1})["version"]
        edited = time.monotonic()
        wait_until(lambda wanted=f"service:{version}": getattr(telemetry.latest_proposal(), "revision", "") == wanted)
        took_s.append(time.monotonic() - edited)
    assert median(took_s) < 1.0
    assert control_plane.get(f"/jobs/{job_id}/mix")["life"]["state"] == "seen"
    telemetry.finish()
    assert caplog.records == []


def test_a_change_scheduled_for_a_step_reaches_the_leader_before_it(
    control_plane: ControlPlane, tmp_path: Path, name: str
) -> None:
    telemetry = _connect(control_plane, tmp_path, name, identity())
    _train([telemetry], range(20))
    wait_until(lambda: _reported(control_plane, name) >= 0)
    path = f"/jobs/{control_plane.job(name)['id']}/mix/changes"
    body = {"weights": {"web": 1, "code": 1}, "reason": "half time", "at_step": 60, "ramp_steps": 3}
    planned = control_plane.http.post(path, json=body, headers={"If-Match": '"v1"'})
    assert planned.status_code == 201, planned.text
    wait_until(lambda: telemetry.latest_proposal() is not None, 20)
    assert telemetry.latest_proposal() == Proposal("service:2", HALVES, 60, 3)
    telemetry.activated(Activated("service:2", 60, HALVES, 3))

    def change() -> Any:
        return control_plane.get(f"{path}/{planned.json()['id']}")

    wait_until(lambda: change()["late_steps"] is not None, 20)
    assert (change()["state"], change()["version"], change()["late_steps"]) == ("done", 2, 0)
    telemetry.finish()


def test_weights_set_in_the_script_become_a_version_that_the_loader_recognises(
    control_plane: ControlPlane, tmp_path: Path, name: str
) -> None:
    who = identity()
    revision = f"local:{who.attempt[:8]}:1"
    telemetry = _connect(control_plane, tmp_path, name, who)
    telemetry.activated(Activated(revision, 7, HALVES, 0))
    wait_until(lambda: telemetry.latest_proposal() is not None)
    assert telemetry.latest_proposal() == Proposal(revision, HALVES, 7, 0)
    telemetry.finish()
    mix = control_plane.get(f"/jobs/{control_plane.job(name)['id']}/mix")
    assert (mix["version"], mix["origin"], mix["weights_ppm"]) == (2, "local", HALVES)


def test_a_newer_start_supersedes_the_older_one_whose_activations_are_refused(
    control_plane: ControlPlane, tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    old = _connect(control_plane, tmp_path / "a", name, identity())
    wait_until(lambda: control_plane.job(name), 20)
    old.step_ended(sample(3))
    wait_until(lambda: _reported(control_plane, name) == 3)
    new = _connect(control_plane, tmp_path / "b", name, identity())
    job_id = control_plane.job(name)["id"]
    wait_until(lambda: len(control_plane.get(f"/jobs/{job_id}/attempts")["items"]) == 2, 20)
    old.activated(Activated("service:1", 5, SOURCES, 0))
    wait_until(lambda: "a newer start of this job has taken over" in caplog.text)
    old.finish()
    new.finish()
    assert control_plane.get(f"/jobs/{job_id}/activations")["items"] == []


def test_an_earlier_start_that_the_service_never_heard_of_is_delivered_without_taking_over(
    control_plane: ControlPlane, tmp_path: Path, name: str
) -> None:
    earlier, who = identity(), identity()
    offline = _connect(control_plane, tmp_path, name, earlier, token="hr_wrong")
    _train([offline], range(50))
    offline.finish(failed="out of memory")
    telemetry = _connect(control_plane, tmp_path, name, who)
    _train([telemetry], range(20))
    wait_until(lambda: not list(tmp_path.glob(f"spool/*/{earlier.attempt}")), 20)
    attempts = {a["id"]: a for a in control_plane.get(f"/jobs/{control_plane.job(name)['id']}/attempts")["items"]}
    assert attempts.keys() == {earlier.attempt, who.attempt}
    assert attempts[who.attempt]["state"] == "live"
    assert attempts[earlier.attempt]["state"] in ("superseded", "failed")
    telemetry.finish()


def test_a_killed_service_that_comes_back_has_every_report_once(
    control_plane: ControlPlane, tmp_path: Path, name: str
) -> None:
    telemetry = _connect(control_plane, tmp_path, name, identity())
    _train([telemetry], range(100))
    wait_until(lambda: _reported(control_plane, name) > 50)
    control_plane.kill()
    begun = time.perf_counter()
    _train([telemetry], range(100, 400), step_s=0.0)
    assert time.perf_counter() - begun < 1.0
    time.sleep(1.0)
    _train([telemetry], range(400, 500))
    control_plane.start()
    _train([telemetry], range(500, 550))
    telemetry.finish()
    wait_until(lambda: _delivered(control_plane, tmp_path), 20)
    job = control_plane.job(name)
    assert (job["step"], job["tokens"]) == (549, 550 * 1280)
    series = control_plane.get(f"/jobs/{job['id']}/series", metric="tokens_per_s", max_points=2000)
    assert series["points"]
    assert _steps(control_plane, job["id"]) == 550


def _delivered(plane: ControlPlane, cache: Path) -> bool:
    return not list(cache.glob("spool/*/*/*.jsonl"))


def _steps(plane: ControlPlane, job_id: str) -> int:
    """Steps of all reports that the service holds, straight from its database."""
    query = (
        "import sqlite3, sys, uuid; d = sqlite3.connect(sys.argv[1]); "
        "print(d.execute('select coalesce(sum(r.steps), 0) from rank_report r join attempt a on a.id = r.attempt_id "
        "join job j on j.id = a.job_id where j.uuid in (?, ?)', "
        "(sys.argv[2], uuid.UUID(sys.argv[2]).hex)).fetchone()[0])"
    )
    database = plane._data_dir / "headrace.db"
    command = [sys.executable, "-c", query, str(database), job_id]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda record: record.pop("step"),
        lambda record: record.update(wait_p50_ms="fast"),
        lambda record: record["sources"].append({**record["sources"][0], "name": "weeb"}),
    ],
    ids=["missing", "type", "source"],
)
def test_a_record_that_is_wrong_is_rejected_alone(
    control_plane: ControlPlane, tmp_path: Path, name: str, spoil: Callable[[Any], None]
) -> None:
    """What the drain relies on: one bad record in a batch never holds up the others."""
    who = identity()
    telemetry = _connect(control_plane, tmp_path, name, who)
    telemetry.step_ended(sample(0))
    wait_until(lambda: _reported(control_plane, name) == 0)
    job_id = control_plane.job(name)["id"]
    good = {
        **dict.fromkeys(("rank", "local_rank", "dp_rank", "dropped", "queue_depth", "bytes_read", "rss_bytes"), 0),
        **dict.fromkeys(("wait_p50_ms", "wait_p99_ms", "wait_max_ms", "wait_share", "interval_s"), 0.5),
        **{"seq": 1000, "time": time.time(), "step": 1, "steps": 1, "tokens": 1, "total_tokens": 1, "host": "h"},
        **{"mix_revision": "config:1", "mix_version": None, "mix_seen": None},
        "sources": [
            {
                **{"name": "web", "file": None, "row": None, "target_ppm": 1},
                **dict.fromkeys(("ordinal", "epoch", "sequences", "tokens", "loss_sum", "loss_count"), 0),
            }
        ],
    }
    bad: dict[str, Any] = {**good, "seq": 1001, "sources": [*good["sources"]]}  # type: ignore[misc]
    spoil(bad)
    answer = control_plane.http.post(f"/jobs/{job_id}/reports", json={"attempt": who.attempt, "records": [bad, good]})
    assert answer.status_code == 202
    receipt = answer.json()
    assert (receipt["accepted"], [r["index"] for r in receipt["rejected"]]) == (1, [0])
    telemetry.finish()

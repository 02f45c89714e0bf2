"""The leader hears the newest weights within a second or so, and every agreed step is recorded, in order, once."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from headrace.telemetry.client import Client, Endpoint
from headrace.telemetry.description import Registration
from headrace.telemetry.failures import Notices
from headrace.telemetry.mix_feed import MixFeed
from headrace.telemetry.port import Activated, Proposal
from headrace.telemetry.registrar import Registrar
from headrace.telemetry.spool import Spool

from tests.loader.telemetry.ranks import SOURCES, spool, start, wait_until
from tests.loader.telemetry.services import Reply, Request, Service, new_uuid

HALVES = {"web": 500_000, "code": 500_000}


@pytest.fixture
def service() -> Iterator[Service]:
    running = Service()
    yield running
    running.close()


@pytest.fixture
def held(tmp_path: Path) -> Spool:
    return spool(tmp_path)


@pytest.fixture
def made() -> Registration:
    return start()


@pytest.fixture
def feed(held: Spool, made: Registration, service: Service) -> Iterator[MixFeed]:
    running = _feed(held, made, service.url)
    yield running
    _end(running)


def _feed(held: Spool, made: Registration, url: str) -> MixFeed:
    client = Client(Endpoint(url, None))
    feed = MixFeed(held, client, Registrar(client, "default", held, made), made, Notices(None))
    feed.start()
    return feed


def _end(feed: MixFeed, within_s: float = 0.0) -> None:
    feed.finish(time.monotonic() + within_s)
    feed.join(time.monotonic() + within_s)


def _latest(feed: MixFeed) -> Proposal | None:
    return feed.latest


def _edit(service: Service, version: int, **change: object) -> None:
    service.mix = {**service.mix, "version": version, "origin": "service", "weights_ppm": HALVES, **change}


def test_configured_weights_are_no_proposal_and_an_edit_is_one(service: Service, feed: MixFeed) -> None:
    wait_until(lambda: feed.seen_version == 1)
    assert _latest(feed) is None
    _edit(service, 2, from_step=40, ramp_steps=5)
    wait_until(lambda: feed.latest is not None)
    assert _latest(feed) == Proposal("service:2", HALVES, 40, 5)
    assert feed.seen_version == 2


def test_asks_each_second_and_only_for_what_is_new(service: Service, feed: MixFeed) -> None:
    wait_until(lambda: len(service.sent("GET", "/mix")) == 3)
    assert [request.headers.get("if-none-match") for request in service.sent("GET", "/mix")] == [None, '"v1"', '"v1"']


def test_a_hint_of_a_newer_version_is_followed_at_once(service: Service, feed: MixFeed) -> None:
    wait_until(lambda: len(service.sent("GET", "/mix")) == 2)
    _edit(service, 9)
    begun = time.monotonic()
    feed.hint(9)
    wait_until(lambda: feed.seen_version == 9)
    assert time.monotonic() - begun < 0.8
    polls = len(service.sent("GET", "/mix"))
    feed.hint(9)
    time.sleep(0.2)
    assert len(service.sent("GET", "/mix")) == polls


@pytest.mark.parametrize(
    "reply",
    [
        Reply(500, {}),
        Reply(200, b"<html>"),
        Reply(200, {"version": 3}),
        Reply(200, {"version": 3, "origin": "service", "weights_ppm": {"web": 1}, "from_step": None, "ramp_steps": 0}),
        Reply(304),
    ],
    ids=["500", "html", "part", "sum", "304"],
)
def test_wrong_answers_leave_the_last_good_proposal(service: Service, feed: MixFeed, reply: Reply) -> None:
    _edit(service, 2)
    wait_until(lambda: feed.latest is not None)
    service.misbehave = lambda request: reply if request.path.endswith("/mix") else None
    polls = len(service.sent("GET", "/mix"))
    wait_until(lambda: len(service.sent("GET", "/mix")) >= polls + 2)
    assert feed.latest == Proposal("service:2", HALVES, None, 0)


def test_weight_on_a_source_the_job_lacks_is_refused_by_name_and_does_not_stop_later_ones(
    service: Service, feed: MixFeed, caplog: pytest.LogCaptureFixture
) -> None:
    _edit(service, 2, weights_ppm={"web": 500_000, "math": 500_000})
    wait_until(lambda: "'math'" in caplog.text)
    assert _latest(feed) is None
    _edit(service, 3, weights_ppm={"web": 1_000_000, "math": 0})
    wait_until(lambda: feed.latest is not None)
    assert _latest(feed) == Proposal("service:3", {"web": 1_000_000, "code": 0}, None, 0)


def test_activations_arrive_in_order_and_once_over_faults(
    held: Spool, made: Registration, service: Service, feed: MixFeed
) -> None:
    faults = [Reply(500, {}), Reply(404, {"code": "not_found"}), Reply(200, b"<html>")]

    def misbehave(request: Request) -> Reply | None:
        return faults.pop() if request.path.endswith("/activations") and faults else None

    service.misbehave = misbehave
    for step in range(5):
        feed.activated(Activated(f"service:{step + 2}", step, SOURCES, 0))
    wait_until(lambda: len(service.activations) == 5, 20)
    assert [activation["step"] for activation in service.activations] == [0, 1, 2, 3, 4]
    assert {activation["attempt"] for activation in service.activations} == {made.attempt_id}
    assert {activation["lineage"] for activation in service.activations} == {made.attempt["lineage"]}
    wait_until(lambda: held.load(made.attempt_id, "activations") is None)


def test_an_activation_may_open_a_lineage_of_its_own(service: Service, feed: MixFeed) -> None:
    other = new_uuid()
    feed.activated(Activated("service:2", 3, SOURCES, 0, lineage=other))
    wait_until(lambda: service.activations)
    assert service.activations[0]["lineage"] == other


def test_a_superseded_attempt_says_so_once_and_goes_on(
    service: Service, feed: MixFeed, caplog: pytest.LogCaptureFixture
) -> None:
    superseded = Reply(409, {"code": "attempt_superseded", "detail": "newer"})
    service.misbehave = lambda request: superseded if request.path.endswith("/activations") else None
    feed.activated(Activated("service:2", 1, SOURCES, 0))
    feed.activated(Activated("service:3", 2, SOURCES, 0))
    wait_until(lambda: len(service.sent("POST", "/activations")) == 2)
    _edit(service, 4)
    wait_until(lambda: feed.latest is not None)
    assert [r.getMessage() for r in caplog.records if "newer start" in r.getMessage()] == [
        "the step of service:2, 1, is not recorded: a newer start of this job has taken over"
    ]
    assert len(service.sent("POST", "/activations")) == 2


def test_a_version_made_by_the_loaders_own_revision_is_proposed_under_that_revision(
    service: Service, feed: MixFeed
) -> None:
    feed.activated(Activated("local:abc:1", 4, HALVES, 0))
    wait_until(lambda: service.activations)
    service.activations[0]["version"] = 5
    _edit(service, 5, origin="local")
    wait_until(lambda: feed.latest is not None)
    assert feed.latest == Proposal("local:abc:1", HALVES, None, 0)


def test_after_a_restart_an_own_revision_is_recognised_from_the_record(
    held: Spool, made: Registration, service: Service
) -> None:
    service.activations = [_recorded("local:abc:1", 4, made, version=5)]
    _edit(service, 5, origin="local")
    feed = _feed(held, made, service.url)
    wait_until(lambda: feed.latest is not None)
    assert feed.latest == Proposal("local:abc:1", HALVES, None, 0)
    _end(feed)


def _recorded(
    revision: str, step: int, made: Registration, *, version: int, lineage: str | None = None
) -> dict[str, object]:
    return {
        "attempt": made.attempt_id,
        "lineage": lineage or made.attempt["lineage"],
        "revision": revision,
        "step": step,
        "weights_ppm": HALVES,
        "ramp_steps": 3,
        "version": version,
    }


def test_the_replay_record_is_that_of_the_lineage_from_the_step_on(
    made: Registration, service: Service, feed: MixFeed
) -> None:
    lineage = str(made.attempt["lineage"])
    service.activations = [
        _recorded("service:2", 4, made, version=2),
        _recorded("service:3", 9, made, version=3),
        _recorded("service:3", 9, made, version=3, lineage=new_uuid()),
        _recorded("local:abc:1", 12, made, version=4),
    ]
    assert feed.replay_record(lineage, 5, 5.0) == [
        Activated("service:3", 9, HALVES, 3, lineage=lineage),
        Activated("local:abc:1", 12, HALVES, 3, lineage=lineage),
    ]
    assert feed.replay_record(new_uuid(), 0, 5.0) == []


def test_the_replay_record_is_waited_for_while_the_service_comes_up_and_no_longer_than_asked(
    held: Spool, made: Registration, service: Service
) -> None:
    service.close()
    feed = _feed(held, made, service.url)
    begun = time.monotonic()
    assert feed.replay_record("x", 0, 0.5) is None
    assert time.monotonic() - begun < 1.0
    again = Service(service.port)
    assert feed.replay_record("x", 0, 10.0) == []
    _end(feed)
    again.close()
    service._thread.join()


def test_what_a_crash_left_unsent_is_posted_by_the_next_start_before_it_registers(
    held: Spool, made: Registration, service: Service
) -> None:
    earlier = start(started_at=1.0)
    feed = _feed(held, earlier, "http://127.0.0.1:1")
    feed.activated(Activated("service:2", 7, HALVES, 0))
    wait_until(lambda: held.load(earlier.attempt_id, "activations"))
    _end(feed)
    feed = _feed(held, made, service.url)
    wait_until(lambda: service.activations)
    assert service.activations[0]["attempt"] == earlier.attempt_id
    wait_until(lambda: len(service.sent("POST", "/attempts")) == 2)
    assert [r.body["id"] for r in service.sent("POST", "/attempts")] == [earlier.attempt_id, made.attempt_id]
    assert held.load(earlier.attempt_id, "activations") is None
    _end(feed)


def test_leftovers_that_never_go_through_do_not_stop_the_next_start(
    held: Spool, made: Registration, service: Service
) -> None:
    earlier = start(started_at=1.0)
    held.register(earlier)
    held.store(earlier.attempt_id, "activations", [{"revision": "service:2", "step": 7}, "garbage"])
    service.misbehave = lambda request: Reply(500, {}) if request.path.endswith("/activations") else None
    _edit(service, 3)
    feed = _feed(held, made, service.url)
    wait_until(lambda: feed.latest is not None, 20)
    assert held.load(earlier.attempt_id, "activations") is not None
    _end(feed)


def test_finish_sends_what_waits_and_gives_up_in_time(held: Spool, made: Registration, service: Service) -> None:
    feed = _feed(held, made, service.url)
    feed.activated(Activated("service:2", 7, HALVES, 0))
    _end(feed, 3.0)
    assert len(service.activations) == 1
    down = _feed(held, made, "http://127.0.0.1:1")
    down.activated(Activated("service:3", 8, HALVES, 0))
    begun = time.monotonic()
    _end(down, 0.5)
    assert time.monotonic() - begun < 1.0
    waiting: Any = held.load(made.attempt_id, "activations")
    assert [body["revision"] for body in waiting] == ["service:3"]

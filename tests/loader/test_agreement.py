"""P6: whatever the skew between ranks, every rank plans every step with the same revisions."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch.distributed as dist
from headrace.agreement import (
    FollowerSeals,
    LeaderSeals,
    Seals,
    Start,
)
from headrace.errors import AgreementError
from headrace.mix import PPM, Revision
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.distributed import HashStore, PrefixStore, Store, TCPStore  # type: ignore[attr-defined]

NONCE = "0a1b2c3d-0000-4000-8000-000000000000"


def revision(name: str, step: int = 0, web: int = 400_000, ramp: int = 0) -> Revision:
    return Revision(name, step, {"web": web, "code": PPM - web}, ramp)


@dataclass
class Job:
    """One leader and its followers over one store; every rank keeps what it planned each step with."""

    lease: int = 1
    first_step: int = 0
    num_followers: int = 2
    replay: tuple[Revision, ...] = ()
    known_version: int = 1
    store: Store = field(default_factory=HashStore)
    proposal: Revision | None = None
    agreed: list[tuple[Revision, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        start = Start(NONCE, "lineage-1", self.replay, self.known_version)
        self.leader = LeaderSeals(
            first_step=self.first_step,
            start=start,
            lease_steps=self.lease,
            store=self.store,
            latest_proposal=lambda: self.proposal,
            agreed=lambda revision, lineage: self.agreed.append((revision, lineage)),
        )
        self.ranks: list[Seals] = [self.leader]
        self.ranks += [FollowerSeals(self.store, lambda: False) for _ in range(self.num_followers)]
        self.next_step = [self.first_step] * len(self.ranks)
        self.planned: list[dict[int, list[Revision]]] = [{} for _ in self.ranks]

    @property
    def sealed(self) -> int:
        """The last step that is final."""
        ahead = -(-(self.next_step[0] - self.first_step) // self.lease) * self.lease
        return self.first_step + ahead - 1

    def plan(self, rank: int) -> None:
        """One rank plans its next step."""
        step = self.next_step[rank]
        known = self.ranks[rank].through(step)
        self.planned[rank][step] = [one for one in known if one.from_step <= step]
        self.next_step[rank] += 1

    def check(self, last_step: int) -> list[Revision]:
        """Bring every rank to `last_step`; what each planned with is the final log up to that step."""
        for rank in range(len(self.ranks)):
            while self.next_step[rank] <= last_step:
                self.plan(rank)
        final = list(self.leader.through(last_step))
        assert [one for one, _ in self.agreed] == final
        assert [one.from_step for one in final] == sorted(one.from_step for one in final)
        for planned in self.planned:
            for step, known in planned.items():
                assert known == [one for one in final if one.from_step <= step]
        return final


@settings(deadline=None, max_examples=600)
@given(st.randoms(use_true_random=False), st.sampled_from((1, 1, 2, 3, 7, 64)), st.integers(1, 4), st.integers(0, 1000))
def test_every_rank_plans_with_the_same_revisions(
    dice: random.Random, lease: int, followers: int, first_step: int
) -> None:
    """Random interleavings of planning, local changes, edits now, later, in the past, replaced; replays; departures."""
    replay = [revision(f"service:{n + 2}", first_step + dice.randrange(40)) for n in range(dice.randrange(4))]
    job = Job(lease, first_step, followers, tuple(replay), known_version=len(replay) + 1)
    newest = job.known_version
    expected: dict[str, int] = {}
    for _ in range(dice.randrange(10, 120)):
        move = dice.random()
        rank = dice.randrange(followers + 1)
        if move < 0.8:
            if rank == 0 or job.next_step[rank] <= job.sealed:
                job.plan(rank)
        elif move < 0.9:
            expected[job.leader.propose({"web": 1, "code": PPM - 1}, dice.randrange(3))] = job.sealed + 1
        else:
            newest += 1
            later = dice.choice((0, 0, job.sealed + 1 + dice.randrange(20), max(0, first_step - 3)))
            job.proposal = revision(f"service:{newest}", later)
    final = job.check(job.sealed + 70)
    found = {one.id: one for one in final}
    for name, step in expected.items():
        assert found[name].from_step == step, "a change from the leader applies at the first step not sealed"
    assert len(found) == len(final)
    if job.proposal is not None:
        assert found[job.proposal.id].from_step >= job.proposal.from_step
        departures = [one for one in final if one.lineage]
        assert len(departures) <= 1
        assert all(one.lineage == NONCE for one in departures)
    assert ({one.id for one in replay} <= set(found)) or any(one.lineage for one in final)


@pytest.mark.parametrize("lease", [1, 2, 5, 64])
def test_an_edit_applies_at_the_first_step_not_sealed(lease: int) -> None:
    """The bound on latency: at most a lease after the step that is being planned."""
    for before in (0, 1, 7):
        job = Job(lease)
        for _ in range(before):
            job.plan(0)
        job.proposal = revision("service:2")
        step = job.sealed + 1
        assert step - before < lease
        (one,) = job.check(step + 3)
        assert one.from_step == step
        assert one.weights_ppm == job.proposal.weights_ppm


@pytest.mark.parametrize("lease", [1, 5])
@pytest.mark.parametrize("wanted", [3, 4, 5, 23, 24, 25, 26])
def test_an_edit_for_a_later_step_applies_just_there(lease: int, wanted: int) -> None:
    job = Job(lease)
    job.plan(0)
    job.proposal = revision("service:2", wanted)
    (one,) = job.check(40)
    assert one.from_step == max(wanted, lease)


def test_an_edit_that_waits_for_its_step_is_replaced_by_a_newer_one() -> None:
    job = Job()
    job.proposal = revision("service:2", 20)
    for _ in range(5):
        job.plan(0)
    job.proposal = revision("service:3", 0, web=1)
    final = job.check(30)
    assert [(one.id, one.from_step) for one in final] == [("service:3", 5)]


def test_a_version_is_applied_once_and_never_an_older_one() -> None:
    job = Job(known_version=4)
    job.proposal = revision("service:4")
    job.plan(0)
    job.proposal = revision("service:5")
    job.plan(0)
    job.plan(0)
    job.proposal = revision("service:3")
    job.plan(0)
    job.proposal = revision("local:0a1b2c3d:9")
    assert [(one.id, one.from_step) for one in job.check(20)] == [("service:5", 1)]


def test_changes_of_the_leader_come_in_the_order_of_the_calls() -> None:
    job = Job()
    names = [job.leader.propose({"web": n, "code": PPM - n}, n) for n in (1, 2, 3)]
    assert names == ["local:0a1b2c3d:1", "local:0a1b2c3d:2", "local:0a1b2c3d:3"]
    job.proposal = revision("service:2")
    final = job.check(3)
    assert [one.id for one in final] == [*names, "service:2"]
    assert [one.ramp_steps for one in final] == [1, 2, 3, 0]
    assert {one.from_step for one in final} == {0}


def test_a_replay_runs_its_course_in_the_same_lineage() -> None:
    replay = (revision("service:3", 14), revision("service:2", 11, ramp=5), revision("local:ffffffff:1", 14))
    job = Job(3, first_step=10, replay=replay, known_version=3)
    assert [one.id for one in job.check(30)] == ["service:2", "service:3", "local:ffffffff:1"]
    assert {lineage for _, lineage in job.agreed} == {"lineage-1"}
    assert all(one.lineage is None for one, _ in job.agreed)


@pytest.mark.parametrize("lease", [1, 4, 64])
def test_a_newer_version_ends_the_replay_and_opens_a_lineage(lease: int) -> None:
    """What was recorded before its step still applies, at any lease; what was recorded from there on is cancelled."""
    replay = (revision("service:2", 12), revision("service:3", 19), revision("service:4", 25))
    job = Job(lease, first_step=10, replay=replay, known_version=4)
    job.proposal = revision("service:5", 19)
    final = job.check(60)
    assert [(one.id, one.from_step, one.lineage) for one in final] == [
        ("service:2", 12, None),
        ("service:5", 19, NONCE),
    ]
    assert [lineage for _, lineage in job.agreed] == ["lineage-1", NONCE]


def test_a_local_change_departs_too() -> None:
    job = Job(first_step=10, replay=(revision("service:2", 20),), known_version=2)
    job.plan(0)
    job.leader.propose({"web": PPM, "code": 0}, 0)
    job.leader.propose({"web": 0, "code": PPM}, 0)
    assert [(one.from_step, one.lineage) for one in job.check(30)] == [(11, NONCE), (11, None)]


def test_a_change_after_the_replay_stays_in_the_lineage() -> None:
    job = Job(first_step=10, replay=(revision("service:2", 12),), known_version=2)
    for _ in range(4):
        job.plan(0)
    job.proposal = revision("service:3")
    assert [one.lineage for one in job.check(30)] == [None, None]


def test_a_single_rank_needs_no_store() -> None:
    agreed: list[str] = []
    leader = LeaderSeals(
        first_step=5,
        start=Start(NONCE, "lineage-1", (), 1),
        lease_steps=1,
        store=None,
        latest_proposal=lambda: None,
        agreed=lambda revision, lineage: agreed.append(lineage),
    )
    leader.propose({"web": PPM, "code": 0}, 0)
    assert [one.from_step for one in leader.through(5)] == [5]
    assert agreed == ["lineage-1"]


def test_the_store_grows_with_changes_not_with_steps() -> None:
    job = Job()
    for number in range(300):
        if number % 100 == 0:
            job.leader.propose({"web": number, "code": PPM - number}, 0)
        job.plan(0)
    assert job.store.num_keys() == 4
    assert len(job.store.get("seal")) < 32


def test_a_follower_that_is_far_behind_reads_every_change() -> None:
    job = Job(num_followers=1)
    for number in range(500):
        job.leader.propose({"web": number, "code": PPM - number}, 0)
        job.plan(0)
    assert len(job.check(500)) == 500


class Counting:
    """A store that counts what is asked of it."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self._store = HashStore()

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> Any:
            self.calls.append(name)
            return getattr(self._store, name)(*arguments)

        return call


@pytest.mark.parametrize("lease", [1, 8])
def test_an_idle_step_costs_one_small_write_and_one_small_read(lease: int) -> None:
    """M10: no collective, and with a lease only one in so many steps."""
    store: Any = Counting()
    job = Job(lease, num_followers=1, store=store)
    for rank in (0, 1):
        store.calls.clear()
        for _ in range(80):
            job.plan(rank)
        if rank == 0:
            assert store.calls == ["set"] * (80 // lease)
    assert store.calls == ["check", "get"], "a follower that is behind reads the newest seal once"
    for _ in range(80):
        job.plan(0)
        store.calls.clear()
        job.plan(1)
        assert store.calls in (["get"], [])


@contextmanager
def tcp_stores(number: int) -> Iterator[list[Store]]:
    """A real TCP store and that many more connections to it."""
    master = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    others = [TCPStore("127.0.0.1", master.port, is_master=False) for _ in range(number)]
    yield [PrefixStore("headrace/nonce", store) for store in (master, *others)]


@pytest.mark.parametrize("kind", ["hash", "tcp"])
def test_threads_as_ranks(kind: str) -> None:
    """Ranks that run at their own pace, really at once, 40 jobs each with other pauses."""
    with tcp_stores(3) as stores:
        for seed in range(40):
            dice = random.Random(seed)
            store: Store = HashStore()
            shared = [store] * 4 if kind == "hash" else [PrefixStore(str(seed), one) for one in stores]
            job = Job(dice.choice((1, 2, 9)), dice.randrange(100), 0, store=shared[0])
            job.ranks += [FollowerSeals(one, lambda: False) for one in shared[1:]]
            job.next_step = [job.first_step] * 4
            job.planned = [{} for _ in range(4)]
            pauses = [random.Random(f"{seed} {rank}") for rank in range(4)]
            failures: list[BaseException] = []

            def rank_thread(rank: int, job: Job = job, pauses: Any = pauses, failures: Any = failures) -> None:
                try:
                    for _ in range(60):
                        job.plan(rank)
                        if pauses[rank].random() < 0.2:
                            time.sleep(pauses[rank].random() * 0.001)
                except BaseException as failure:
                    failures.append(failure)

            ranks = [threading.Thread(target=rank_thread, args=(rank,)) for rank in range(4)]
            for thread in ranks:
                thread.start()
            for number in range(5):
                job.leader.propose({"web": number, "code": PPM - number}, 0)
                job.proposal = revision(f"service:{number + 2}", dice.randrange(200))
                time.sleep(0.001)
            for thread in ranks:
                thread.join(30)
            assert not failures
            assert len(job.check(job.sealed + 250)) >= 5


def test_a_follower_that_is_stopped_while_it_waits_says_so() -> None:
    follower = FollowerSeals(HashStore(), lambda: True)
    with pytest.raises(AgreementError, match="stopped while waiting for the seal of step 7"):
        follower.through(7)


def test_a_leader_that_ended_is_waited_for_by_no_one() -> None:
    """What it sealed still counts, and a rank that comes late reads it."""
    job = Job(3, num_followers=2)
    job.leader.propose({"web": 1, "code": PPM - 1}, 0)
    for _ in range(5):
        job.plan(0)
    job.plan(1)
    job.leader.end()
    for rank in (1, 2):
        while job.next_step[rank] < 6:
            job.plan(rank)
        with pytest.raises(AgreementError, match=r"rank 0 ended with step 5 as the last .* so step 6 never will be"):
            job.plan(rank)
    broken: Any = Broken()
    Job(store=broken).leader.end()


def test_a_follower_waits_without_logging_or_timing_out() -> None:
    job = Job(num_followers=1)
    late = threading.Timer(0.5, lambda: job.plan(0))
    late.start()
    job.plan(1)
    late.join()
    assert job.planned[1] == {0: []}


def test_a_store_that_is_gone_is_named_on_every_rank() -> None:
    with tcp_stores(0) as (store,):
        job = Job(num_followers=1, store=store)
        job.plan(0)
        job.plan(1)
    broken: Any = Broken()
    for seals in (FollowerSeals(broken, lambda: False), Job(store=broken).leader):
        with pytest.raises(AgreementError, match=r"the job's store can't be reached .*Connection reset"):
            seals.through(3)


class Broken:
    """A store whose host went away."""

    def check(self, *_: object) -> None:
        raise dist.DistNetworkError("Connection reset by peer")

    get = set = check


def test_what_is_sealed_is_plain_json() -> None:
    job = Job()
    job.leader.propose({"web": 1, "code": PPM - 1}, 3)
    job.plan(0)
    body: Callable[[str], Any] = lambda key: json.loads(job.store.get(key))  # noqa: E731
    assert body("seal") == [0, 1]
    assert body("revision/0")["weights_ppm"] == {"web": 1, "code": PPM - 1}

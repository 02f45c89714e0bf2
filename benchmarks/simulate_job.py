"""What a job of thousands of ranks asks of its store, its planners and the control plane, on this machine.

    python -m benchmarks.simulate_job [--ranks 1024 10240] [--leases 1 16] [--processes 4] [--seconds 10]

Every simulated rank is a real follower (`FollowerSeals`) of one real `TCPStore`; they are spread over several
processes, and those of a process share a few connections, as it only asks for one thing at a time. The leader seals as
fast as all of them follow, so that what is measured is the store: steps a second, reads a second, and how long after a
seal the ranks have it. A job of 1-second steps can have as many ranks as get their seal within the second. Planning and
reports are measured on one rank, as all do the same. Prints a line of JSON for each number of ranks and lease.
"""

from __future__ import annotations

import argparse
import heapq
import json
import multiprocessing
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import SynchronizedArray
from typing import Any

import numpy as np
from headrace.agreement import FollowerSeals, LeaderSeals, Start
from headrace.errors import AgreementError
from headrace.mix import PPM
from headrace.order import SourceOrder
from headrace.plan import Position, plan_step, rank_slots
from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]

FIRST_POLL_S, LONGEST_POLL_S = 0.0002, 0.02
"as a follower waits for a seal"
WARM_STEPS = 8
CONNECTIONS = 8
"of each process"
SOURCES = 10
MICRO_BATCH = 1
RANKS_A_NODE = 8
REPORT_EVERY_S = 1.0
FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Measured:
    """What one process saw of its ranks."""

    reads: int
    read_s: list[float]
    "of single reads, sampled"
    late_s: list[float]
    "for each rank and seal: from before the leader wrote it until the rank had it"


class TimedStore:
    """A store that counts and times its reads."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.took: list[float] = []

    def get(self, key: str) -> bytes:
        """As the store does."""
        began = time.perf_counter()
        value: bytes = self._store.get(key)
        self.took.append(time.perf_counter() - began)
        return value

    def check(self, keys: list[str]) -> bool:
        """As the store does."""
        found: bool = self._store.check(keys)
        return found


def follow(number: int, steps: int, lease: int, passed: Any, sealed: Any, answer: Connection) -> None:
    """One process of `number` ranks: each reads the seal of every lease, polling as a rank does; none sleeps alone."""
    stores = []
    port = answer.recv()
    for _ in range(min(number, CONNECTIONS)):
        store = TCPStore("127.0.0.1", port, is_master=False, timeout=timedelta(seconds=60))
        stores.append(TimedStore(PrefixStore("headrace/simulated", store)))
    own: list[Any] = [stores[rank % len(stores)] for rank in range(number)]
    ranks = [FollowerSeals(store, lambda: True) for store in own]
    answer.send("ready")
    late: list[float] = []
    for step in range(0, steps, lease):
        waiting = [(0.0, rank, FIRST_POLL_S) for rank in range(number)]
        while waiting:
            due, rank, pause = heapq.heappop(waiting)
            time.sleep(max(0.0, due - time.monotonic()))
            try:
                ranks[rank].through(step)
            except AgreementError:  # not sealed yet
                again = (time.monotonic() + pause, rank, min(2 * pause, LONGEST_POLL_S))
                heapq.heappush(waiting, again)
                continue
            late.append(time.monotonic() - sealed[step])
        with passed.get_lock():
            passed[step] += number
    took = [second for store in stores for second in store.took[WARM_STEPS * number // len(stores) :]]
    answer.send(Measured(len(took), took[:: max(1, len(took) // 100_000)], late[number * WARM_STEPS :]))


def simulate(num_ranks: int, lease: int, num_processes: int, seconds: float) -> None:
    """Seal as fast as all ranks follow, and print what came of it. Call it in a process that has no threads yet."""
    shares = [
        part.stop - part.start for part in (rank_slots(num_ranks - 1, p, num_processes) for p in range(num_processes))
    ]
    estimate = max(20, int(seconds * 20_000 / num_ranks))
    steps = lease * (WARM_STEPS + estimate)
    passed: SynchronizedArray[int] = FORK.Array("q", steps)
    sealed: Any = FORK.RawArray("d", steps)
    ends, children = [], []
    for share in shares:
        here, there = FORK.Pipe()
        child = FORK.Process(target=follow, args=(share, steps, lease, passed, sealed, there))
        child.start()
        ends.append(here)
        children.append(child)
    server = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    for end in ends:
        end.send(server.port)
    for end in ends:
        assert end.recv() == "ready"
    leader = LeaderSeals(
        first_step=0,
        start=Start("simulated", "simulated", (), 1),
        lease_steps=lease,
        store=PrefixStore("headrace/simulated", TCPStore("127.0.0.1", server.port, is_master=False)),
        latest_proposal=lambda: None,
        agreed=lambda revision, lineage: None,
    )
    began = 0.0
    for step in range(0, steps, lease):
        if step == lease * WARM_STEPS:
            began = time.monotonic()
        sealed[step] = time.monotonic()
        leader.through(step)
        while passed[step] < num_ranks - 1:
            time.sleep(0.0001)
    took = time.monotonic() - began
    found: list[Measured] = [end.recv() for end in ends]
    for child in children:
        child.join()
    seals = steps // lease - WARM_STEPS
    late = np.array([s for one in found for s in one.late_s])
    reads = np.array([s for one in found for s in one.read_s])
    seals_a_second = seals / took
    found_out = {
        "ranks": num_ranks,
        "lease": lease,
        "reads_a_second": round(sum(one.reads for one in found) / took),
        "steps_a_second": round(seals_a_second * lease, 1),
        "read_ms_p50": round(1e3 * float(np.quantile(reads, 0.5)), 3),
        "read_ms_p99": round(1e3 * float(np.quantile(reads, 0.99)), 3),
        "seal_ms_p50": round(1e3 * float(np.quantile(late, 0.5)), 1),
        "seal_ms_p99": round(1e3 * float(np.quantile(late, 0.99)), 1),
        "largest_ranks_at_1_s": round(num_ranks * seals_a_second * lease),
    }
    print(json.dumps(found_out), flush=True)


def planning(num_ranks: int) -> dict[str, object]:
    """What a rank plans for each step: the whole global batch, of one sequence a rank, from ten sources."""
    rng = np.random.default_rng(0)
    orders = []
    for number in range(SOURCES):
        tokens = rng.integers(100_000, 300_000, 20_000)
        orders.append(SourceOrder(block_tokens=tokens, seq_len=4096, seed=1, name=f"source {number}", lanes=512))
    weights = np.full(SOURCES, PPM // SOURCES)
    position = Position.start(SOURCES)
    took = []
    for _ in range(30):
        began = time.perf_counter()
        plan = plan_step(position, weights, num_ranks * MICRO_BATCH, orders)
        took.append(time.perf_counter() - began)
        position = plan.after
    parts = [rank_slots(num_ranks * MICRO_BATCH, rank, num_ranks) for rank in range(num_ranks)]
    assert sum(part.stop - part.start for part in parts) == len(plan.sources)
    return {"ranks": num_ranks, "plan_ms": round(1e3 * float(np.median(took)), 2)}


def reports(num_ranks: int, record_bytes: int) -> dict[str, object]:
    """What the control plane is sent: each rank's record each second, in one batch a node."""
    nodes = -(-num_ranks // RANKS_A_NODE)
    return {
        "ranks": num_ranks,
        "records_a_second": round(num_ranks / REPORT_EVERY_S),
        "requests_a_second": round(nodes / REPORT_EVERY_S),
        "mib_a_second": round(num_ranks * record_bytes / REPORT_EVERY_S / 2**20, 2),
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Measure every combination."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1024, 10_240])
    parser.add_argument("--leases", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--record-bytes", type=int, default=2200, help="of a report of ten sources (2200)")
    options = parser.parse_args(argv)
    print(json.dumps({"cores": os.cpu_count(), "processes": options.processes}), flush=True)
    for number in options.ranks:
        print(json.dumps(planning(number)), flush=True)
        print(json.dumps(reports(number, options.record_bytes)), flush=True)
        for lease in options.leases:
            job = FORK.Process(target=simulate, args=(number, lease, options.processes, options.seconds))
            job.start()
            job.join()
            if job.exitcode:
                raise SystemExit(job.exitcode)


if __name__ == "__main__":
    main()

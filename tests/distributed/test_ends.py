"""However a job ends, nothing hangs: ranks that end apart, data that can't be used, a stopped leader, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import asdict
from pathlib import Path

import psutil
import pytest

from tests.distributed.agents import Node, nodes, until
from tests.distributed.test_stream import corpus, expected, orders
from tests.distributed.torchrun import lines, torchrun
from tests.loader.corpora import Corpus, numbered, random_corpus, write_shard

__all__ = ["corpus"]

GONE_S = 15
STOPPED_S = 10.0

pytestmark = pytest.mark.filterwarnings("ignore:source 'tiny' holds:UserWarning")


def test_ranks_that_do_not_end_together(tmp_path: Path) -> None:
    """Z01: the job is gone seconds after a rank failed, and its log names file, row and value."""
    random_corpus(tmp_path, {"web": 60})
    rows = numbered([10] * 400)
    bad = rows[237]
    assert bad is not None
    bad[4] = 70_000
    write_shard(tmp_path / "bad" / "00000", rows, "arrow", "int32", batch_rows=20)
    job = torchrun("ends", tmp_path, 2, {"folder": str(tmp_path), "corpus": str(tmp_path)})
    ended = time.time()
    leader, follower = ({line["case"]: line for line in rank} for rank in job.ranks)
    assert leader["follower first"]["message"] == follower["follower first"]["message"] == ""
    assert leader["leader first"]["message"] == ""
    assert "global rank 0 ended with step" in follower["leader first"]["message"]
    assert follower["leader first"]["at"] - leader["leader first"]["at"] < GONE_S
    assert job.code != 0
    failed = [rank["unusable"] for rank in (leader, follower) if "ShardError" in rank["unusable"]["message"]]
    assert failed
    for line in failed:
        assert "token 4 of row 237 of" in line["message"]
        assert str(tmp_path / "bad" / "00000.arrow") in line["message"]
        assert "is 70000 (source 'bad'); ids must be from 0 to 59999" in line["message"]
        assert line["message"].removeprefix("ShardError: ")[:40] in job.text
        print(f"gone {ended - line['at']:.1f} s after the failure")
        assert ended - line["at"] < GONE_S


def test_a_stopped_leader_is_waited_for_and_an_interrupt_ends_all(corpus: Corpus, tmp_path: Path) -> None:
    """L04: ten seconds of SIGSTOP cost ten seconds and nothing else; then Ctrl-C, and everything is gone."""
    given = orders(corpus, tmp_path, 100_000, options={"prefetch": 3}, naps_ms=[50, 120, 20, 80])
    (tmp_path / "orders.json").write_text(json.dumps(asdict(given)))
    files = [tmp_path / f"rank-{rank}.jsonl" for rank in range(4)]

    def reached(step: int) -> bool:
        return all(len(lines(file)) >= step for file in files)

    arguments = ["--standalone", "--nproc-per-node=4", "-m", "tests.distributed.scripts.stream"]
    with nodes() as running:
        running.append(Node(tmp_path / "log.txt", [*arguments, str(tmp_path / "orders.json")]))
        until(lambda: reached(8), "took eight steps", running)
        ranks = {rank_of(process): process for process in running[0].ranks()}
        ranks[0].suspend()
        time.sleep(STOPPED_S / 2)
        behind = [len(lines(file)) for file in files]
        time.sleep(STOPPED_S / 2)
        assert [len(lines(file)) for file in files] == behind, "no rank gets past what is agreed"
        ranks[0].resume()
        until(lambda: reached(max(behind) + 8), "went on", running)
        began = time.monotonic()
        os.kill(running[0].agent.pid, signal.SIGINT)
        running[0].agent.wait(60)
        took = time.monotonic() - began
        print(f"interrupt: gone after {took:.1f} s; steps by rank when the leader stood: {behind}")
        assert took < GONE_S
        assert not [rank for rank in ranks.values() if rank.is_running() and rank.status() != psutil.STATUS_ZOMBIE]
    of_ranks = [lines(file) for file in files]
    whole = min(map(len, of_ranks))
    for n in range(whole):
        assert len({rank[n]["state"] for rank in of_ranks}) == 1
    merged = [sorted(h for rank in of_ranks for h in rank[n]["sequences"]) for n in range(whole)]
    assert merged == expected(corpus, whole)


def rank_of(process: psutil.Process) -> int:
    """The global rank of a process that torchrun started; −1 for another."""
    return int(process.environ().get("RANK", "-1"))

"""P1, P2: nodes that come, die and lose ranks: the batches that count are those of a run without any of it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.distributed.agents import Node, elastic, free_port, nodes, until
from tests.distributed.test_stream import corpus, expected, orders, resumed
from tests.distributed.torchrun import lines
from tests.loader.corpora import Corpus

__all__ = ["corpus"]

STEPS = 40
KILLED, JOINED, LOST = 6, 14, 24

pytestmark = pytest.mark.filterwarnings("ignore:source 'tiny' holds:UserWarning")


def test_a_rank_killed_a_node_added_and_a_node_lost(corpus: Corpus, tmp_path: Path) -> None:
    """E02, R09, S03: 2 ranks, 2 again, 3 (which don't divide the batch), 2: from checkpoint to checkpoint one stream.

    The rank dies by SIGKILL in the middle of a step, and from any checkpoint one process goes on exactly.
    """
    given = orders(
        corpus,
        tmp_path,
        STEPS,
        all_reduce=True,
        kill={"1": KILLED},
        hold_at=[JOINED, LOST],
        resume=str(tmp_path),
        options={"uneven": "pad"},
    )
    (tmp_path / "orders.json").write_text(json.dumps(asdict(given)))
    port = free_port()

    def starts() -> list[dict[str, Any]]:
        return lines(tmp_path / "starts.jsonl")

    def reached(step: int) -> bool:
        return (tmp_path / f"state-{step}.json").exists()

    def node(name: str) -> Node:
        return Node(tmp_path / f"{name}.log", elastic(port, "stream", tmp_path / "orders.json"))

    with nodes() as running:
        running += [node("first"), node("second")]
        until(lambda: reached(JOINED), "reached the step that waits for a node", running)
        running.append(node("third"))
        until(lambda: starts()[-1]["world_size"] == 3, "started with three nodes", running)
        (tmp_path / f"go-{JOINED}").touch()
        until(lambda: reached(LOST), "reached the step that waits for a loss", running)
        running[2].kill()
        (tmp_path / f"go-{LOST}").touch()
        for survivor in running[:2]:
            survivor.wait(90)

    begun = starts()
    print("starts (world size, from step):", [(start["world_size"], start["step"]) for start in begun])
    assert [start["world_size"] for start in begun] == [2, 2, 3, 2]
    assert begun[0]["step"] == 0
    assert KILLED - 1 <= begun[1]["step"] <= KILLED, "the last step before the kill may not be saved yet"
    assert begun[2]["step"] == JOINED
    assert LOST <= begun[3]["step"] < STEPS
    written = [line for rank in range(3) for line in lines(tmp_path / f"rank-{rank}.jsonl")]
    counted, saved = [], []
    for step in range(STEPS):
        start = max(one["start"] for one in begun if one["step"] <= step)
        mine = [line for line in written if line["start"] == start and line["step"] == step]
        assert len({line["state"] for line in mine}) == 1
        saved.append(json.loads(mine[0]["state"]))
        counted.append(sorted(sequence for line in mine for sequence in line["sequences"]))
    whole = expected(corpus, STEPS)
    assert counted == whole
    for state in saved[::3]:
        assert resumed(corpus, state, min(STEPS, state["step"] + 2)) == whole[state["step"] : state["step"] + 2]

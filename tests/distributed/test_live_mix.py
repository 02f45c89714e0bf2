"""A real two-rank job under the real control plane: edits while it trains, and the service gone for 20 s."""

import json
import os
import sqlite3
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.contract.control_plane import ControlPlane
from tests.e2e.corpus import WEIGHTS, write_corpus
from tests.kept_kernels import warm

ROOT = Path(__file__).parents[2]
RANKS = 2
STEPS, AWAY_S = 380, 20
G, L = 16, 64


def _start(plane: ControlPlane, folder: Path, name: str, steps: int, step_s: float) -> "subprocess.Popen[bytes]":
    write_corpus(folder / "corpus")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}"]
    command += ["-m", "tests.distributed.scripts.live", str(folder / "corpus"), str(folder), str(steps), str(step_s)]
    environment = os.environ | {
        "HEADRACE_URL": plane.url,
        "HEADRACE_TOKEN": plane.loader_key,
        "HEADRACE_JOB": name,
        "HEADRACE_CACHE": str(warm(folder / "cache")),
        "OMP_NUM_THREADS": "1",
    }
    with (folder / "train.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT, env=environment)


def _wait_for_step(plane: ControlPlane, name: str, step: int, folder: Path) -> Any:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        job = plane.job(name)
        if job is not None and job["step"] is not None and job["step"] >= step:
            return job
        time.sleep(0.2)
    raise AssertionError((folder / "train.log").read_text())


def _results(process: "subprocess.Popen[bytes]", folder: Path) -> list[Any]:
    assert process.wait(180) == 0, (folder / "train.log").read_text()
    return [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(RANKS)]


@pytest.fixture
def plane(tmp_path: Path) -> Any:
    (tmp_path / "server").mkdir()
    with ControlPlane(tmp_path / "server") as running:
        yield running


def test_an_edit_takes_effect_at_one_step_and_an_outage_changes_nothing(plane: ControlPlane, tmp_path: Path) -> None:
    """L01, L04, M10: one agreed step on both ranks, exact shares after it; 20 s without the service cost nothing."""
    process = _start(plane, tmp_path, "live", steps=STEPS, step_s=0.1)
    try:
        job = _wait_for_step(plane, "live", 20, tmp_path)
        version = plane.edit(job["id"], {"code": 1, "prose": 1, "legal": 2})
        assert version["version"] == 2
        _wait_for_step(plane, "live", job["step"] + 60, tmp_path)
        agreed = plane.get(f"/jobs/{job['id']}/mix")["life"]
        assert (agreed["state"], agreed["applied_ranks"], agreed["total_ranks"]) == ("applied", RANKS, RANKS)

        down = time.time()
        plane.kill()
        time.sleep(AWAY_S)
        plane.start()
        up = time.time()
        ranks = _results(process, tmp_path)
    finally:
        process.kill()
        process.wait()

    # One step for all, and the step that the service shows.
    assert ranks[0]["log"] == ranks[1]["log"]
    assert ranks[0]["log"] == [["config:1", 0], ["service:2", agreed["agreed_step"]]]

    # The share after it follows the new weights within one sequence, at every step.
    by_step = [
        [sum(pair) for pair in zip(a["counts"], b["counts"], strict=True)]
        for a, b in zip(ranks[0]["seen"], ranks[1]["seen"], strict=True)
    ]
    since = agreed["agreed_step"]
    for old, new, steps in ((WEIGHTS.values(), None, range(since)), (None, (0.25, 0.25, 0.5), range(since, STEPS))):
        shares = list(old or new or ())
        delivered = [0] * len(shares)
        for n, step in enumerate(steps, start=1):
            delivered = [d + c for d, c in zip(delivered, by_step[step], strict=True)]
            # Each phase starts owing less than one sequence, and ends so.
            slack = 1 if old else 2
            assert all(abs(d - n * G * s) < slack for d, s in zip(delivered, shares, strict=True)), (step, delivered)

    # Training did not pause: the loop's own time in the outage is like that outside it.
    for rank in ranks:
        inside = [s["loop_s"] for s in rank["seen"] if down < s["at"] < up]
        outside = [s["loop_s"] for s in rank["seen"][20:] if not down < s["at"] < up]
        assert len(inside) > 5 * AWAY_S
        print("median loop time inside / outside the outage:", statistics.median(inside) / statistics.median(outside))
        gaps = [b["at"] - a["at"] for a, b in zip(rank["seen"][20:], rank["seen"][21:], strict=False)]
        assert max(gaps) < 5, "a step waited for the service"

    # Every report arrived once.
    with sqlite3.connect(next((tmp_path / "server").rglob("*.db"))) as database:
        rows = database.execute(
            "select rank, count(*), max(seq) + 1, sum(steps), sum(tokens) from rank_report group by rank order by rank"
        ).fetchall()
    assert [(rank, steps, tokens) for rank, _, _, steps, tokens in rows] == [
        (rank, STEPS, STEPS * G * L // RANKS) for rank in range(RANKS)
    ]
    assert all(count == last for _, count, last, _, _ in rows)

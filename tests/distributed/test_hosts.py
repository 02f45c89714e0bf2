"""P3, P6, P7 over several hosts: two nodes of two ranks and the service, each in a network namespace of its own."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.control_plane import ControlPlane
from tests.distributed.agents import Node, nodes, until
from tests.distributed.network import DEVICE, Host, Switch, network
from tests.e2e.corpus import write_corpus
from tests.kept_kernels import warm

STEPS = 60
CUT_S = 20.0
LATENCY_S = 0.05
G, L, RANKS = 16, 64, 4


@pytest.fixture
def wired() -> Iterator[tuple[list[Host], Switch]]:
    try:
        made = network(3)
        hosts = made.__enter__()
    except (OSError, subprocess.CalledProcessError) as refused:
        pytest.skip(f"the kernel refuses network namespaces or TAP devices: {refused}")
    try:
        yield hosts
    finally:
        made.__exit__(None, None, None)


def test_a_link_that_is_slow_and_one_that_is_cut(wired: tuple[list[Host], Switch], tmp_path: Path) -> None:
    """L01, L04, M10: 50 ms and 20 s without one node cost time; the mix stays agreed, and reports arrive once."""
    (first, second, third), switch = wired
    (tmp_path / "server").mkdir()
    write_corpus(tmp_path / "corpus")
    arguments = [
        *("--nnodes=2", "--nproc-per-node=2", "--rdzv-backend=c10d", f"--rdzv-endpoint={first.address}:29400"),
        *("--rdzv-id=hosts", "-m", "tests.distributed.scripts.live"),
        *(str(tmp_path / "corpus"), str(tmp_path), str(STEPS), "0.05", "together"),
    ]
    plane = ControlPlane(tmp_path / "server", host=third.address, prefix=third.prefix)
    with plane, nodes() as running:
        for host in (first, second):
            variables = {
                "HEADRACE_URL": plane.url,
                "HEADRACE_TOKEN": plane.loader_key,
                "HEADRACE_JOB": "hosts",
                "HEADRACE_CACHE": str(warm(tmp_path / host.name)),
                "GLOO_SOCKET_IFNAME": DEVICE,
                "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "0",
            }
            local = [f"--local-addr={host.address}", f"--rdzv-conf=is_host={int(host == first)}"]
            running.append(Node(tmp_path / f"{host.name}.log", [*local, *arguments], host.prefix, **variables))

        def step() -> int:
            job = third.call(lambda: plane.job("hosts"))
            return -1 if job is None or job["step"] is None else int(job["step"])

        until(lambda: step() >= 5, "trained", running)
        switch.delay_s = LATENCY_S
        until(lambda: step() >= 15, "trained over a slow link", running)
        switch.cut.add(second)
        cut = time.time()
        job = third.call(lambda: plane.job("hosts"))
        edited = third.call(lambda: plane.edit(job["id"], {"code": 1, "prose": 1, "legal": 2}))
        assert edited["version"] == 2
        time.sleep(CUT_S)
        switch.cut.clear()
        switch.delay_s = 0.0
        restored = time.time()
        for node in running:
            node.wait(120)
        agreed = third.call(lambda: plane.get(f"/jobs/{job['id']}/mix"))["life"]

    ranks = [json.loads((tmp_path / f"rank-{rank}.json").read_text()) for rank in range(RANKS)]
    assert agreed["state"] == "applied"
    for rank in ranks:
        assert rank["log"] == [["config:1", 0], ["service:2", agreed["agreed_step"]]]
        assert rank["counts"] == ranks[0]["counts"]
        ended = [seen["at"] for seen in rank["seen"]]
        assert len(ended) == STEPS
        went_on = min(at for at in ended if at > restored) - restored
        print(f"steps while one node was cut off: {sum(cut < at < restored for at in ended)}; on after {went_on:.1f} s")
        assert went_on < 40, "TCP tries again within a minute of a cut of 20 s"
    print(f"{switch.num_frames} frames; the change of the mix was agreed for step {agreed['agreed_step']}")
    with sqlite3.connect(next((tmp_path / "server").rglob("*.db"))) as database:
        query = "select rank, count(*), max(seq) + 1, sum(steps), sum(tokens) from rank_report group by rank order by 1"
        rows = database.execute(query).fetchall()
    assert [(rank, steps, tokens) for rank, _, _, steps, tokens in rows] == [
        (rank, STEPS, STEPS * G * L // RANKS) for rank in range(RANKS)
    ]
    assert all(count == last for _, count, last, _, _ in rows)

"""Ranks that are killed where no agent looks after them: the others stop by themselves, and nothing is left."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.distributed.torchrun import ROOT
from tests.loader.corpora import random_corpus

STOP_S = 60.0


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def start(rank: int, port: int, folder: Path, source: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.distributed.scripts.killed", str(rank), str(folder), str(source)]
    with (folder / f"log-{rank}.txt").open("wb") as log:
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)


def wait_until(condition: Callable[[], bool], limit_s: float, what: str) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"after {limit_s} s: {what}")
        time.sleep(0.1)


def test_a_killed_leader_stops_the_others(tmp_path: Path) -> None:
    """I08, I09: kill -9 of global rank 0, which also hosts the job's store. Ranks have no child process at any time."""
    corpus = random_corpus(tmp_path / "data", {"web": 60})
    port = free_port()
    ranks = [start(rank, port, tmp_path, corpus.root / "web") for rank in range(2)]
    try:
        files = [tmp_path / f"rank-{rank}.json" for rank in range(2)]
        wait_until(lambda: all(file.exists() for file in files), 120, "the ranks have not made a step")
        assert [psutil.Process(rank.pid).children(recursive=True) for rank in ranks] == [[], []]
        ranks[0].send_signal(signal.SIGKILL)
        wait_until(lambda: ranks[1].poll() is not None, STOP_S, "rank 1 still runs, though the leader is gone")
        said = (tmp_path / "error-1.txt").read_text()
        assert said.startswith("AgreementError: the job's store can't be reached"), said
        assert "global rank 0 or the torchrun agent that hosts it ended" in said
        assert json.loads(files[1].read_text())["step"] <= json.loads(files[0].read_text())["step"] + 8
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()

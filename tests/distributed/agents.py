"""Nodes of an elastic job: a torchrun agent each, which come, are killed whole, and end by themselves."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]

_FOREIGN = ("RANK", "WORLD_SIZE", "HEADRACE_JOB")


class Node:
    """One agent and its ranks."""

    def __init__(self, log: Path, arguments: Sequence[str], prefix: Sequence[str] = (), **variables: str) -> None:
        """`prefix` is what the command is run with, `ip netns exec` say."""
        self.log = log
        environment = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
        environment |= {"OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", **variables}
        command = [*prefix, sys.executable, "-m", "torch.distributed.run", *arguments]
        with log.open("wb") as file:
            self.agent = subprocess.Popen(command, stdout=file, stderr=file, cwd=ROOT, env=environment)

    def ranks(self) -> list[psutil.Process]:
        """Its ranks, and whatever else it started."""
        with suppress(psutil.NoSuchProcess):
            return list(psutil.Process(self.agent.pid).children(recursive=True))
        return []

    def kill(self) -> None:
        """As a node dies that loses its power."""
        for process in [psutil.Process(self.agent.pid), *self.ranks()] if self.agent.poll() is None else []:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.agent.wait()

    def wait(self, timeout_s: float) -> None:
        """Until it ends, well. Raises AssertionError with its log otherwise."""
        try:
            code = self.agent.wait(timeout_s)
        except subprocess.TimeoutExpired:
            code = None
        assert code == 0, f"{code}\n{self.log.read_text(errors='replace')[-6000:]}"


@contextmanager
def nodes() -> Iterator[list[Node]]:
    """A list for nodes; those still running at the end of the block are killed."""
    started: list[Node] = []
    try:
        yield started
    finally:
        for node in started:
            node.kill()


def elastic(port: int, script: str, argument: Path, *, host: str = "127.0.0.1", own: str = "127.0.0.1") -> list[str]:
    """Arguments of `torchrun` for a node of a job of one to four, one rank each, that takes losses within seconds."""
    return [
        *("--nnodes=1:4", "--nproc-per-node=1", "--max-restarts=3", "--monitor-interval=0.2"),
        *("--rdzv-backend=c10d", f"--rdzv-endpoint={host}:{port}", "--rdzv-id=job", f"--local-addr={own}"),
        "--rdzv-conf=last_call_timeout=3,keep_alive_interval=1,keep_alive_max_attempt=3",
        *("-m", f"tests.distributed.scripts.{script}", str(argument)),
    ]


def free_port() -> int:
    """A port of loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(holds: Callable[[], bool], what: str, among: Sequence[Node], timeout_s: float = 90) -> None:
    """Wait until it holds. Raises AssertionError with the nodes' logs if it does not."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        logs = "\n".join(node.log.read_text(errors="replace")[-3000:] for node in among)
        assert time.monotonic() < deadline, f"never {what}\n{logs}"
        time.sleep(0.1)

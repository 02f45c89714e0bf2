"""Programs of the demo, run and watched by the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import headrace.demo
import psutil

TRAIN = Path(headrace.demo.__file__).with_name("train.py")


def until(condition: Callable[[], object], what: str, timeout_s: float = 120.0) -> None:
    """Wait until `condition()` holds."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"{what} within {timeout_s:.0f} s"
        time.sleep(0.05)


def torchrun(num_ranks: int, corpus: Path, out: Path, *options: object) -> subprocess.Popen[str]:
    """Start the training script."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(num_ranks)]
    words = ["--corpus", corpus, "--out", out, *options]
    return started([*command, str(TRAIN), *map(str, words)], {"OMP_NUM_THREADS": "1"})


def started(command: Sequence[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    """Start a program; its output is kept in order."""
    return subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def finished(process: subprocess.Popen[str], timeout_s: float = 120.0) -> str:
    """Wait for a program that should end well; what it printed."""
    printed, _ = process.communicate(timeout=timeout_s)
    assert process.returncode == 0, printed
    return printed


def steps(out: Path, rank: int = 0) -> dict[int, dict[str, Any]]:
    """A rank's records by step."""
    path = out / f"rank{rank}.jsonl"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return {line["step"]: line for line in (json.loads(line) for line in lines if line.endswith("\n"))}


def processes_with(word: str) -> list[psutil.Process]:
    """Running processes that have `word` in their command line or environment."""
    found = []
    for process in psutil.process_iter():
        try:
            words = [*process.cmdline(), *process.environ().values()]
        except (psutil.Error, OSError):
            continue
        if process.pid != os.getpid() and any(word in text for text in words):
            found.append(process)
    return found

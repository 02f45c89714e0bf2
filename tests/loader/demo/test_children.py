"""What the demo starts ends with it: at the end of the block, on failure, when stubborn, when the demo is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from headrace.demo.children import ChildError, Children, clean_environment

SLEEP = [sys.executable, "-c", "import time; print('ready', flush=True); time.sleep(600)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)",
]
# Starts a grandchild in a session of its own, as torchrun does, prints its pid, and ends at once when told to.
PARENT = [
    sys.executable,
    "-c",
    "import subprocess, sys, time;"
    "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True);"
    "print(p.pid, flush=True); time.sleep(600)",
]


def until(condition: Callable[[], object], what: str, timeout_s: float = 15.0) -> None:
    """Wait for `condition()`."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"{what} within {timeout_s} s"
        time.sleep(0.02)


def start(children: Children, command: list[str]) -> tuple[int, list[str]]:
    """Start and wait for the first line; the process id and all lines so far."""
    lines: list[str] = []
    child = children.start("sleeper", command, environment=os.environ, on_line=lines.append)
    until(lambda: lines, "a first line")
    return child.pid, lines


def test_leaving_the_block_ends_them(tmp_path: Path) -> None:
    with Children(tmp_path) as children:
        pid, _ = start(children, SLEEP)
        assert psutil.pid_exists(pid)
    assert not psutil.pid_exists(pid)
    assert (tmp_path / "sleeper.log").read_text() == "ready\n"


def test_a_failure_in_the_block_ends_them(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="mine"), Children(tmp_path) as children:
        pid, _ = start(children, SLEEP)
        raise RuntimeError("mine")
    assert not psutil.pid_exists(pid)


def test_one_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    with Children(tmp_path, grace_s=0.3) as children:
        pid, _ = start(children, STUBBORN)
        began = time.monotonic()
    assert not psutil.pid_exists(pid)
    assert 0.3 <= time.monotonic() - began < 5


@pytest.mark.parametrize("killed_first", [False, True])
def test_what_a_child_started_in_its_own_session_ends_too(tmp_path: Path, killed_first: bool) -> None:
    with Children(tmp_path, grace_s=0.3) as children:
        pid, lines = start(children, PARENT)
        grandchild = psutil.Process(int(lines[0]))
        if killed_first:
            os.kill(pid, signal.SIGKILL)
            until(lambda: grandchild.ppid() != pid, "the orphan is adopted")
    assert not grandchild.is_running()


def test_a_failed_child_shows_its_last_lines(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('\\n'.join(map(str, range(50)))); raise SystemExit(7)"]
    with Children(tmp_path) as children:
        child = children.start("broken", command, environment=os.environ)
        until(lambda: child.returncode is not None, "it ends")
        with pytest.raises(ChildError) as failure:
            child.check_running()
    said = str(failure.value)
    assert said.startswith("broken ended with status 7; its last lines:\n    30\n")
    assert f"    49\n  all: {tmp_path / 'broken.log'}" in said
    assert (tmp_path / "broken.log").read_text().count("\n") == 50


def test_a_listener_that_fails_does_not_block_the_child(tmp_path: Path) -> None:
    def closed(line: str) -> None:
        raise BrokenPipeError

    with Children(tmp_path) as children:
        command = [sys.executable, "-c", "print('x' * 100_000 + '\\n' * 100_000)"]
        child = children.start("talker", command, environment=os.environ, on_line=closed)
        until(lambda: child.returncode == 0, "it ends")


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_they_end_when_the_demo_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, time\n"
        "from headrace.demo.children import Children\n"
        f"with Children(pathlib.Path({str(tmp_path)!r})) as children:\n"
        f"    children.start('sleeper', {SLEEP!r}, environment=os.environ,\n"
        "                   on_line=lambda line: print(line, flush=True))\n"
        "    time.sleep(600)\n"
    )
    demo = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    assert demo.stdout.readline() == "ready\n"
    (child,) = psutil.Process(demo.pid).children()
    demo.kill()
    demo.wait()
    demo.stdout.close()
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, "the child ends")


def test_the_environment_of_other_runs_stays_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_SERVER_DATABASE_URL", "postgresql://production")
    monkeypatch.setenv("HEADRACE_JOB", "another")
    clean = clean_environment(HEADRACE_URL="http://127.0.0.1:1")
    assert {name for name in clean if name.startswith("HEADRACE_")} == {"HEADRACE_URL"}
    assert clean["PATH"] == os.environ["PATH"]

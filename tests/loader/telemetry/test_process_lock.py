"""The lock is one process's at a time, and never outlives it."""

import os
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from headrace.telemetry.process_lock import ProcessLock

from tests.loader.telemetry.processes import SPAWN, process


def _hold(path: Path, tell: Connection) -> None:
    """Take the lock, say whether that worked, and stay."""
    tell.send(ProcessLock(path).acquire())
    time.sleep(60)


def _hold_and_fork(path: Path, tell: Connection) -> None:
    """Take the lock, leave a forked child behind that lives on, and die."""
    held = ProcessLock(path).acquire()
    child = os.fork()
    if child == 0:
        time.sleep(60)
    tell.send((held, child))
    os._exit(0)


def test_is_refused_while_another_process_holds_it_and_free_once_that_is_killed(tmp_path: Path) -> None:
    here, there = SPAWN.Pipe()
    holder = process(_hold, tmp_path / "lock", there)
    assert here.recv() is True
    mine = ProcessLock(tmp_path / "lock")
    assert not mine.acquire()
    holder.kill()
    holder.join()
    assert mine.acquire()
    mine.release()


def test_another_process_is_refused_even_after_a_second_try_here(tmp_path: Path) -> None:
    mine = ProcessLock(tmp_path / "lock")
    assert mine.acquire()
    assert not ProcessLock(tmp_path / "lock").acquire()
    here, there = SPAWN.Pipe()
    other = process(_hold, tmp_path / "lock", there)
    assert here.recv() is False
    other.kill()
    other.join()
    mine.release()


def test_is_exclusive_inside_one_process_and_reentrant_for_its_holder(tmp_path: Path) -> None:
    first, second = ProcessLock(tmp_path / "lock"), ProcessLock(tmp_path / "lock")
    assert first.acquire()
    assert first.acquire()
    assert not second.acquire()
    first.release()
    assert second.acquire()
    second.release()


def test_a_forked_child_that_outlives_the_holder_does_not_keep_it(tmp_path: Path) -> None:
    here, there = SPAWN.Pipe()
    holder = process(_hold_and_fork, tmp_path / "lock", there)
    held, child = here.recv()
    try:
        holder.join()
        assert held
        mine = ProcessLock(tmp_path / "lock")
        assert mine.acquire()
        mine.release()
    finally:
        os.kill(child, 9)


def test_says_when_the_directory_is_gone_and_can_be_tried_again(tmp_path: Path) -> None:
    lock = ProcessLock(tmp_path / "gone" / "lock")
    with pytest.raises(FileNotFoundError):
        lock.acquire()
    (tmp_path / "gone").mkdir()
    assert lock.acquire()
    lock.release()

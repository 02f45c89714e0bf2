"""Threads that fetch ahead: within their bytes, each block once, failures in their turn, ended at once."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from headrace.errors import HeadraceError, ShardError
from headrace.fetching import Fetcher
from headrace.formats import Block


def block_of(leg: int, block: int, nbytes: int = 100) -> Block:
    one = np.array([leg * 1000 + block], np.int64)
    return Block(one, np.zeros(1, np.int64), np.ones(1, np.int64), one, nbytes, one)


class Source:
    """Opens blocks while it is let, and counts them."""

    def __init__(self, nbytes: int = 100) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.opened: Counter[tuple[int, int]] = Counter()
        self.most_at_once = 0
        self._nbytes = nbytes
        self._now = 0
        self._lock = threading.Lock()

    def open(self, leg: int, block: int) -> Block:
        with self._lock:
            self.opened[leg, block] += 1
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        self.gate.wait(10)
        with self._lock:
            self._now -= 1
        if block == 13:
            raise ShardError("block 13 can't be read")
        return block_of(leg, block, self._nbytes)


@pytest.fixture
def source() -> Iterator[Source]:
    source = Source()
    yield source
    source.gate.set()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_what_was_wanted_is_there_once(source: Source) -> None:
    fetcher = Fetcher(source.open, 10_000, 4)
    for number in range(8):
        assert fetcher.want((0, number), 100, 0)
        assert fetcher.want((0, number), 100, 1)
    until(lambda: source.opened.total() == 8)
    for number in range(8):
        taken = fetcher.take((0, number))
        assert taken is not None
        assert taken.rows.tolist() == [number]
        assert fetcher.take((0, number)) is None
    assert fetcher.take((1, 0)) is None
    assert set(source.opened.values()) == {1}
    fetcher.close()


def test_the_bytes_and_the_threads_are_bounded(source: Source) -> None:
    source.gate.clear()
    fetcher = Fetcher(source.open, 1000, 3)
    asked = [fetcher.want((0, number), 100, 0) for number in range(20)]
    assert asked == [True] * 10 + [False] * 10
    until(lambda: source.opened.total() == 3)
    source.gate.set()
    until(lambda: source.opened.total() == 10)
    assert source.most_at_once == 3
    assert not fetcher.want((0, 50), 100, 0)
    assert fetcher.take((0, 3)) is not None
    assert fetcher.want((0, 50), 100, 0)
    fetcher.close()


def test_one_block_larger_than_all_the_room_is_fetched(source: Source) -> None:
    fetcher = Fetcher(source.open, 10, 2)
    assert fetcher.want((0, 1), 5000, 0)
    assert not fetcher.want((0, 2), 1, 0)
    until(lambda: source.opened.total() == 1)
    assert fetcher.take((0, 1)) is not None
    fetcher.close()


def test_a_wrong_guess_of_the_size_is_made_good() -> None:
    source = Source(nbytes=900)
    fetcher = Fetcher(source.open, 1000, 1)
    assert fetcher.want((0, 1), 10, 0)
    until(lambda: not fetcher.want((0, 2), 200, 0) or fetcher.take((0, 2)) is not None)
    assert fetcher.take((0, 1)) is not None
    assert fetcher.want((0, 3), 200, 0)
    fetcher.close()


def test_a_failure_is_raised_where_the_block_is_needed(source: Source) -> None:
    fetcher = Fetcher(source.open, 10_000, 2)
    assert fetcher.want((0, 13), 100, 0)
    assert fetcher.want((0, 14), 100, 0)
    assert fetcher.take((0, 14)) is not None or source.opened[0, 14] == 0
    with pytest.raises(ShardError, match="block 13"):
        until(lambda: source.opened[0, 13] == 1)
        fetcher.take((0, 13))
    assert fetcher.take((0, 13)) is None
    fetcher.close()


def test_a_block_whose_turn_has_not_come_is_left_to_the_caller(source: Source) -> None:
    source.gate.clear()
    fetcher = Fetcher(source.open, 10_000, 1)
    for number in range(3):
        fetcher.want((0, number), 100, 0)
    until(lambda: source.opened.total() == 1)
    assert fetcher.take((0, 2)) is None
    source.gate.set()
    assert fetcher.take((0, 0)) is not None
    fetcher.close()
    assert source.opened[0, 2] == 0


def test_what_was_wanted_in_vain_is_dropped(source: Source) -> None:
    fetcher = Fetcher(source.open, 1000, 4)
    for number in range(10):
        fetcher.want((0, number), 100, step=number)
    fetcher.drop_before(7)
    assert [fetcher.want((1, number), 100, 9) for number in range(8)] == [True] * 7 + [False]
    fetcher.close()


def test_close_ends_the_threads_and_whoever_waits(source: Source) -> None:
    source.gate.clear()
    fetcher = Fetcher(source.open, 10_000, 2)
    fetcher.want((0, 0), 100, 0)
    until(lambda: source.opened.total() == 1)
    failures: list[BaseException] = []

    def wait() -> None:
        try:
            fetcher.take((0, 0))
        except HeadraceError as error:
            failures.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.05)
    began = time.monotonic()
    fetcher.close(timeout_s=0.5)
    waiting.join(5)
    assert time.monotonic() - began < 2
    assert "is closed" in str(failures[0])
    assert not fetcher.want((0, 5), 1, 0)
    source.gate.set()
    until(lambda: not [t for t in threading.enumerate() if t.name == "headrace-fetch"])
    fetcher.close()

"""Work ahead on a thread: in order, failures in their turn, and an end that always comes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from headrace.errors import HeadraceError
from headrace.prefetch import Prefetcher
from hypothesis import given, settings
from hypothesis import strategies as st


def nothing() -> None:
    pass


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "headrace-prefetch"]


def wait_for(condition: Callable[[], bool], timeout_s: float = 5) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.001)


def failing(number: int) -> Iterator[int]:
    yield from range(number)
    raise KeyError(f"item {number}")


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 30), st.integers(0, 5))
def test_items_come_in_order_then_the_end(number: int, depth: int) -> None:
    prefetcher = Prefetcher(iter(range(number)), depth, nothing)
    assert [prefetcher.take() for _ in range(number)] == list(range(number))
    for _ in range(3):
        with pytest.raises(StopIteration):
            prefetcher.take()
    prefetcher.close()
    assert not threads()


@pytest.mark.parametrize("depth", [0, 1, 2, 7])
@pytest.mark.parametrize("number", [0, 1, 5])
def test_a_failure_comes_in_its_turn_and_stays(number: int, depth: int) -> None:
    """A loop that catches the failure and asks again gets it again, never a quiet end."""
    prefetcher = Prefetcher(failing(number), depth, nothing)
    assert [prefetcher.take() for _ in range(number)] == list(range(number))
    for _ in range(3):
        with pytest.raises(KeyError, match=f"item {number}"):
            prefetcher.take()
    prefetcher.close()
    assert not threads()


def test_it_works_ahead_by_depth_and_one_in_hand() -> None:
    made: list[int] = []

    def produce() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    prefetcher = Prefetcher(produce(), 3, nothing)
    wait_for(lambda: len(made) == 4)
    time.sleep(0.05)
    assert made == [0, 1, 2, 3]
    assert prefetcher.num_ready == 3
    assert prefetcher.take() == 0
    wait_for(lambda: len(made) == 5)
    prefetcher.close()


def test_without_depth_nothing_is_made_ahead_and_no_thread_runs() -> None:
    made: list[int] = []

    def produce() -> Iterator[int]:
        for number in range(3):
            made.append(number)
            yield number

    prefetcher = Prefetcher(produce(), 0, nothing)
    assert not threads()
    assert not made
    assert prefetcher.num_ready == 0
    assert prefetcher.take() == 0
    assert made == [0]
    prefetcher.close()


@pytest.mark.parametrize("depth", [0, 1, 4])
@pytest.mark.parametrize("taken", [0, 1, 3])
def test_close_ends_the_thread_and_refuses_what_follows(taken: int, depth: int) -> None:
    prefetcher = Prefetcher(iter(range(1000)), depth, nothing)
    for _ in range(taken):
        prefetcher.take()
    prefetcher.close()
    assert not threads()
    assert prefetcher.num_ready == 0
    with pytest.raises(HeadraceError, match="closed; make a new one"):
        prefetcher.take()
    prefetcher.close()


def test_close_ends_a_producer_that_waits_for_something_else() -> None:
    stopped = threading.Event()

    def produce() -> Iterator[int]:
        yield 0
        stopped.wait(30)
        raise HeadraceError("stopped while waiting")

    prefetcher = Prefetcher(produce(), 1, stopped.set)
    assert prefetcher.take() == 0
    began = time.monotonic()
    prefetcher.close()
    assert time.monotonic() - began < 2
    assert not threads()


def test_close_does_not_wait_for_a_producer_that_is_stuck() -> None:
    release = threading.Event()

    def produce() -> Iterator[int]:
        release.wait(30)
        yield 0

    prefetcher = Prefetcher(produce(), 1, nothing)
    began = time.monotonic()
    prefetcher.close(timeout_s=0.1)
    assert time.monotonic() - began < 1
    assert all(thread.daemon for thread in threads())
    release.set()
    wait_for(lambda: not threads())


def test_close_wakes_a_consumer_that_waits() -> None:
    release = threading.Event()
    caught: list[BaseException] = []

    def produce() -> Iterator[int]:
        release.wait(30)
        yield 0

    def consume(prefetcher: Prefetcher[int]) -> None:
        try:
            prefetcher.take()
        except BaseException as error:
            caught.append(error)

    prefetcher = Prefetcher(produce(), 1, release.set)
    consumer = threading.Thread(target=consume, args=(prefetcher,))
    consumer.start()
    time.sleep(0.02)
    prefetcher.close()
    consumer.join(5)
    assert not consumer.is_alive()
    assert isinstance(caught[0], HeadraceError)


def test_close_from_within_the_producer() -> None:
    box: list[Prefetcher[int]] = []
    given_up = threading.Event()

    def produce() -> Iterator[int]:
        given_up.wait(5)
        box[0].close()
        yield 0

    box.append(Prefetcher(produce(), 1, nothing))
    given_up.set()
    wait_for(lambda: not threads())


@pytest.mark.parametrize("end", [SystemExit(0), KeyboardInterrupt()])
def test_what_would_end_a_program_is_an_error_at_the_consumer(end: BaseException) -> None:
    """I08: a thread that is told to exit must not end the training loop as if all were well."""

    def produce() -> Iterator[int]:
        yield 1
        raise end

    prefetcher = Prefetcher(produce(), 2, nothing)
    assert prefetcher.take() == 1
    for _ in range(2):
        with pytest.raises(HeadraceError, match=f"the prefetch thread was ended by {type(end).__name__}") as raised:
            prefetcher.take()
        assert raised.value.__cause__ is end
    prefetcher.close()


def test_a_thread_that_is_gone_without_a_word_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """I08: within moments, not never."""
    monkeypatch.setattr(Prefetcher, "_run", lambda self: None)
    prefetcher = Prefetcher(iter(range(3)), 2, nothing)
    with pytest.raises(HeadraceError, match="the prefetch thread has ended without an error of its own"):
        prefetcher.take()
    prefetcher.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("depth", [0, 2])
def test_a_forked_child_is_refused(depth: int) -> None:
    """The thread does not survive a fork: say so instead of waiting for ever."""
    prefetcher = Prefetcher(iter(range(10)), depth, nothing)
    assert prefetcher.take() == 0
    parent = os.getpid()
    read, write = os.pipe()
    child = os.fork()  # the child touches nothing that a thread of the parent may hold
    if child == 0:
        try:
            prefetcher.take()
            text = "no error"
        except HeadraceError as error:
            text = str(error)
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    assert text == (
        f"this loader was started in process {parent} and its threads did not survive the fork to {child}; "
        "make the loader in the process that reads it"
    )
    prefetcher.close()


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 4), st.lists(st.sampled_from(("take", "close", "wait")), max_size=12))
def test_no_order_of_calls_leaves_a_thread_or_a_gap(depth: int, calls: list[str]) -> None:
    prefetcher = Prefetcher(iter(range(10_000)), depth, nothing)
    taken, closed = 0, False
    for call in calls:
        if call == "take" and not closed:
            assert prefetcher.take() == taken
            taken += 1
        elif call == "close":
            prefetcher.close()
            closed = True
        elif call == "wait":
            time.sleep(0.001)
    prefetcher.close()
    assert not threads()

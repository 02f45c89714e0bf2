"""Work done ahead on a thread: one producer, one bounded queue, and nothing else.

A failure in the producer is raised at the consumer, in its turn; `close` ends the thread within moments, also while it
waits for room.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from headrace.errors import HeadraceError
from headrace.forks import num_forks

T = TypeVar("T")

_LOOK_S = 1.0
"how often a consumer that waits looks whether the thread is still there"


class Prefetcher(Generic[T]):
    """Runs `produce()` on a daemon thread, at most `depth` items ahead of `take()`.

    With a depth of 0 there is no thread: `take` produces in the caller.
    """

    def __init__(self, produce: Iterator[T], depth: int, stop: Callable[[], None]) -> None:
        """`stop` is called by `close`, so that a producer that waits for something else can end."""
        self._items: deque[T] = deque()
        self._produce = produce
        self._depth = depth
        self._stop = stop
        self._changed = threading.Condition()
        self._closed = False
        self._failure: BaseException | None = None
        self._ended = False
        self._pid = os.getpid()
        self._forks = num_forks()
        self._thread: threading.Thread | None = None
        if depth:
            self._thread = threading.Thread(target=self._run, name="headrace-prefetch", daemon=True)
            self._thread.start()

    @property
    def num_ready(self) -> int:
        """Items that `take` would return at once."""
        return len(self._items)

    def take(self) -> T:
        """The next item, waiting for it.

        Raises:
            StopIteration: the producer has ended.
            HeadraceError: called in a forked child, where no thread runs, after `close`, or the thread is gone.
            Exception: whatever the producer raised, after the items before it. What would end a program, such as
                SystemExit, comes as HeadraceError.
        """
        self.check_process()
        if self._thread is None:
            return self._produce_here()
        with self._changed:
            while not self._items:
                if self._failure is not None:
                    raise _at_the_consumer(self._failure)
                if self._ended:
                    raise StopIteration
                if self._closed:
                    raise HeadraceError("this loader is closed; make a new one")
                if not self._changed.wait(_LOOK_S) and not self._items and not self._thread.is_alive():
                    raise HeadraceError("the prefetch thread has ended without an error of its own; make a new loader")
            item = self._items.popleft()
            self._changed.notify_all()
            return item

    @property
    def has_forked(self) -> bool:
        """Whether this is a forked child of the process that made it."""
        return num_forks() != self._forks

    def check_process(self) -> None:
        """Refuse a forked child: no thread runs there, and locks may be held by those that ran before.

        Raises:
            HeadraceError: this is not the process that made it.
        """
        if self.has_forked:
            raise HeadraceError(
                f"this loader was started in process {self._pid} and its threads did not survive the fork to "
                f"{os.getpid()}; make the loader in the process that reads it"
            )

    def _produce_here(self) -> T:
        if self._closed:
            raise HeadraceError("this loader is closed; make a new one")
        if self._failure is not None:
            raise self._failure
        try:
            return next(self._produce)
        except Exception as failure:
            # A generator that failed only says that it has ended when it is asked again.
            self._failure = failure
            raise

    def close(self, timeout_s: float = 0.3) -> None:
        """End the thread and drop what is ready; safe to call twice, from any thread. Nothing in a forked child."""
        if self.has_forked:
            return
        with self._changed:
            self._closed = True
            self._items.clear()
            self._changed.notify_all()
        self._stop()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            for item in self._produce:
                if not self._put(item):
                    return
        except BaseException as failure:
            self._failure = failure
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _put(self, item: T) -> bool:
        with self._changed:
            while len(self._items) >= self._depth and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            self._items.append(item)
            self._changed.notify_all()
            return True


def _at_the_consumer(failure: BaseException) -> Exception:
    """The failure of a thread, as an error that no training loop takes for its own end."""
    if isinstance(failure, Exception):
        return failure
    error = HeadraceError(f"the prefetch thread was ended by {type(failure).__name__}: {failure}")
    error.__cause__ = failure
    return error

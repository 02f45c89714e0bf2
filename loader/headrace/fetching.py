"""Blocks opened by threads before they are asked for, within a number of bytes.

What is fetched never decides anything: a block that was not asked for in time is opened by whoever needs it, and one
that nobody needs is dropped. A failure is kept too, and raised where the block is needed.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from headrace.errors import HeadraceError
from headrace.formats import Block

Key = tuple[int, int]
"(leg, block)"


@dataclass(slots=True)
class _Wanted:
    """A block on its way: `nbytes` is guessed until it is there."""

    step: int
    nbytes: int
    block: Block | None = None
    failure: BaseException | None = None
    is_done: bool = False


class Fetcher:
    """Opens blocks on daemon threads. All methods but `stop` and `close` are for one thread.

    At most `limit_bytes` are held or on their way, or a single block that is larger.
    """

    def __init__(self, open_block: Callable[[int, int], Block], limit_bytes: int, num_threads: int) -> None:
        self._open_block = open_block
        self._limit = limit_bytes
        self._num_threads = num_threads
        self._used = 0
        self._wanted: dict[Key, _Wanted] = {}
        self._queue: deque[Key] = deque()
        self._idle = 0
        self._threads: list[threading.Thread] = []
        self._changed = threading.Condition()
        self._closed = False

    def want(self, key: Key, nbytes: int, step: int) -> bool:
        """Asks for a block of about `nbytes` that step `step` needs; False where there is no room, or after `stop`."""
        with self._changed:
            if self._closed:
                return False
            known = self._wanted.get(key)
            if known is not None:
                known.step = max(known.step, step)
                return True
            if self._wanted and self._used + nbytes > self._limit:
                return False
            self._wanted[key] = _Wanted(step, nbytes)
            self._used += nbytes
            self._queue.append(key)
            if self._idle < len(self._queue) and len(self._threads) < self._num_threads:
                self._threads.append(threading.Thread(target=self._work, name="headrace-fetch", daemon=True))
                self._threads[-1].start()
            self._changed.notify_all()
            return True

    def take(self, key: Key) -> Block | None:
        """The block, once it is there, and from now on the caller's alone; None where it was not asked for.

        Raises what opening it raised; HeadraceError when `stop` is called meanwhile.
        """
        with self._changed:
            wanted = self._wanted.get(key)
            if wanted is None:
                return None
            if key in self._queue:
                # Not begun yet: quicker in the caller than behind all others.
                self._queue.remove(key)
                self._forget(key)
                return None
            while not wanted.is_done and not self._closed:
                self._changed.wait()
            if not wanted.is_done:
                raise HeadraceError("this loader is closed; make a new one")
            self._forget(key)
            if wanted.failure is not None:
                raise wanted.failure
            return wanted.block

    def drop_before(self, step: int) -> None:
        """Lets go of what only steps before `step` needed."""
        with self._changed:
            for key in [key for key, wanted in self._wanted.items() if wanted.step < step]:
                if key in self._queue:
                    self._queue.remove(key)
                self._forget(key)

    def expire(self, step: int) -> None:
        """What steps after `step` were thought to need is needed by them no more, unless it is asked for again."""
        with self._changed:
            for wanted in self._wanted.values():
                wanted.step = min(wanted.step, step)

    def stop(self) -> None:
        """Tells the threads to end and drops everything; safe to call twice, from any thread. Does not wait."""
        with self._changed:
            self._closed = True
            self._queue.clear()
            self._wanted.clear()
            self._changed.notify_all()

    def close(self, timeout_s: float = 2.0) -> None:
        """`stop`, and wait for the threads; safe to call twice."""
        self.stop()
        until = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _forget(self, key: Key) -> None:
        self._used -= self._wanted.pop(key).nbytes

    def _work(self) -> None:
        while (key := self._next()) is not None:
            block: Block | None = None
            failure: BaseException | None = None
            try:
                block = self._open_block(*key)
            except BaseException as error:
                failure = error
            with self._changed:
                wanted = self._wanted.get(key)
                if wanted is not None and not wanted.is_done:
                    nbytes = wanted.nbytes if block is None else block.nbytes
                    self._used += nbytes - wanted.nbytes
                    wanted.nbytes, wanted.block, wanted.failure, wanted.is_done = nbytes, block, failure, True
                self._changed.notify_all()

    def _next(self) -> Key | None:
        """What to open next, waiting for it; None after `stop`."""
        with self._changed:
            self._idle += 1
            while not self._queue and not self._closed:
                self._changed.wait()
            self._idle -= 1
            return None if self._closed else self._queue.popleft()

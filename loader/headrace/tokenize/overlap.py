"""A function over items, in order, in threads of its own: while it works, the next items are made and results used."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

IN_FLIGHT: Final = 2
"""Calls that run at once, so that the end of one, when few of its threads still have work, is the start of the next."""


def overlapped(
    function: Callable[[Item], Result], items: Iterable[Item], *, is_large: Callable[[Item], bool]
) -> Iterator[tuple[Item, Result]]:
    """Each item with `function(item)`, in order; at most `IN_FLIGHT` items and results are held beside the one told,
    and none beside a large one.

    `function` must let go of the interpreter to gain from it. What it raises, or `items` does, comes at its place.
    Closing the iterator waits for the calls that run.
    """
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    source = iter(items)
    with ThreadPoolExecutor(IN_FLIGHT, "headrace-encode") as pool:
        while True:
            try:
                item = next(source)
            except StopIteration:
                break
            except BaseException:
                yield from _results(waiting)  # what came before it is told first
                raise
            if is_large(item):
                yield from _results(waiting)
                yield item, function(item)
                continue
            waiting.append((item, pool.submit(function, item)))
            yield from _results(waiting, IN_FLIGHT)
        yield from _results(waiting)


def _results(waiting: deque[tuple[Item, Future[Result]]], left: int = 0) -> Iterator[tuple[Item, Result]]:
    """The oldest results, until so many are left."""
    while len(waiting) > left:
        item, future = waiting.popleft()
        yield item, future.result()

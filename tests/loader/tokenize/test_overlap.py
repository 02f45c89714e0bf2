"""A function over items in threads: order, errors at their place, and how much is held."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from headrace.tokenize.overlap import IN_FLIGHT, overlapped


def _never(item: int) -> bool:
    return False


def test_results_come_in_order_while_calls_overlap() -> None:
    both = threading.Barrier(2, timeout=60)

    def square(item: int) -> int:
        if item < 2:
            both.wait()  # passes only if the second is called while the first runs
        return item * item

    assert list(overlapped(square, range(10), is_large=_never)) == [(n, n * n) for n in range(10)]
    assert list(overlapped(square, (), is_large=_never)) == []


@pytest.mark.parametrize("bad", range(6))
def test_an_error_comes_behind_the_results_before_it(bad: int) -> None:
    def refuse(item: int) -> int:
        if item == bad:
            raise ValueError(item)
        return item

    def broken() -> Iterator[int]:
        yield from range(bad)
        raise OSError(bad)

    for told, error in (
        (overlapped(refuse, range(6), is_large=_never), ValueError),
        (overlapped(int, broken(), is_large=_never), OSError),
    ):
        seen: list[int] = []
        with pytest.raises(error):
            for item, _ in told:
                seen.append(item)
        assert seen == list(range(bad))


def test_few_items_are_made_ahead_and_none_beside_a_large_one() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for item in range(12):
            made.append(item)
            yield item

    def is_large(item: int) -> bool:
        return item in (0, 5, 6)

    told = []
    for item, _ in overlapped(int, items(), is_large=is_large):
        told.append(item)
        assert len(made) - len(told) <= IN_FLIGHT
        if is_large(item):
            assert made == told, "others are held beside it"
    assert told == list(range(12))

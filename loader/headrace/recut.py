"""The rest of an epoch at another `seq_len`, for either packing."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headrace.best_fit import Windows, resized
from headrace.order import SourceOrder
from headrace.rest import ChosenOrder, Key, Order, RestOrder, ranges_left, units_left

Ints = npt.NDArray[np.int64]


class Recut(NamedTuple):
    """An order of one pass over what is left."""

    make_order: Callable[[], Order]
    num_sequences: int
    windows: Windows | None
    dropped_tokens: int
    "places of sequences, padding included, that can't be delivered at the new length"


def cut_rest(
    make_order: Callable[[], Order], at: int, windows: Windows | None, tokens: Ints, seq_len: int, key: Key
) -> Recut:
    """What is left of an epoch of an order from ordinal `at` on, in sequences of `seq_len`.

    Joined documents can be cut anywhere, so nothing is dropped. Best-fit windows hold together: those of which a
    sequence was delivered are dropped, the others packed anew.

    Args:
        make_order: makes the order; each thread needs its own, as an order remembers what it computed.
        at: the first ordinal that was not delivered.
        windows: of the blocks, at the length of the order, with best-fit packing.
        tokens: int64 (num_blocks,), separators included.
        seq_len: the new length.
        key: of the new permutations.
    """
    order = make_order()
    epoch = int(order.epochs_of(np.array([at], np.int64))[0])
    if windows is not None:
        assert isinstance(order, SourceOrder | ChosenOrder)
        units, left = order.units_left(at) if isinstance(order, ChosenOrder) else units_left(order, at)
        longer = resized(windows, tokens, seq_len)
        sizes = longer.num_sequences[units] * seq_len
        dropped = left - int(windows.num_sequences[units].sum()) * order.seq_len

        def choose() -> Order:
            return ChosenOrder(_base(make_order()), epoch, units, sizes, key=key, seq_len=seq_len)

        return Recut(choose, int(sizes.sum()) // seq_len, longer, dropped)
    assert isinstance(order, SourceOrder | RestOrder)
    ranges = order.left(at) if isinstance(order, RestOrder) else ranges_left(order, at)

    def cut() -> Order:
        return RestOrder(_base(make_order()), epoch, ranges, key=key, seq_len=seq_len)

    return Recut(cut, -(-ranges.num_tokens // seq_len), None, 0)


def _base(order: Order) -> SourceOrder:
    assert isinstance(order, SourceOrder | RestOrder | ChosenOrder)
    return order if isinstance(order, SourceOrder) else order.base

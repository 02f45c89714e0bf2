"""Binary search, for compiled loops: numba's own brings its whole library of array functions into each process."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.kernels import compiled


@compiled
def last_at_most(ascending: Any, value: Any) -> Any:
    """The index of the last of `ascending`, int64 (n,), that is at most `value`; −1 where all are larger."""
    low, high = np.int64(0), np.int64(ascending.shape[0])
    while low < high:
        middle = (low + high) >> 1
        if ascending[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - 1

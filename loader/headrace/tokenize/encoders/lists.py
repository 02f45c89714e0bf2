"""Ids as Python lists, which libraries give, as arrays."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt


def flattened(rows: Iterable[list[int]]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """All ids one after the other, and how many each row has."""
    ids, lengths = array("I"), array("q")  # these take a list in a third of the time that NumPy needs
    for row in rows:
        ids.fromlist(row)
        lengths.append(len(row))
    return np.asarray(ids, np.uint32), np.asarray(lengths, np.int64)

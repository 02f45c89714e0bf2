"""The compiled search is NumPy's."""

from __future__ import annotations

import numpy as np
from headrace.search import last_at_most
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(deadline=None)
@given(st.lists(st.integers(-20, 20), max_size=30), st.integers(-21, 21))
def test_it_finds_the_last_that_is_at_most_the_value(values: list[int], value: int) -> None:
    """With repeats, outside on either side, and in nothing at all."""
    ascending = np.sort(np.array(values, np.int64))
    assert last_at_most(ascending, value) == np.searchsorted(ascending, value, side="right") - 1

"""Starting with the garbage collector at rest.

What start-up makes stays: modules, compiled kernels, manifests. Every few thousand of those objects the collector would
look through all of them and all of torch's, which takes a third of the time to the first batch, and find nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collecting() -> Iterator[None]:
    """No automatic garbage collection in this process while inside; as it was before afterwards."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

"""Whether a process was forked, told without asking the system, which some sandboxes make slow."""

from __future__ import annotations

import os

_count = 0


def _in_child() -> None:
    global _count  # noqa: PLW0603  # a fork copies the process whole, so this is where it has to be
    _count += 1


os.register_at_fork(after_in_child=_in_child)


def num_forks() -> int:
    """Forks between the process that imported this and the one that asks: another number, another process."""
    return _count

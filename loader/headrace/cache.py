"""Where Headrace keeps what it can always make again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """`HEADRACE_CACHE`, or `~/.cache/headrace` where that is not set."""
    return Path(os.environ.get("HEADRACE_CACHE") or Path("~", ".cache", "headrace")).expanduser()

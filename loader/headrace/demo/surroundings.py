"""The terminal, desktop and ports around the demo."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from typing import Final

PORT: Final = 8400
"of the dashboard, if it is free"


def free_port(wanted: int | None) -> int:
    """The port to ask for: what is wanted, or 8400 if nothing listens there, or 0 for any."""
    if wanted is not None:
        return wanted
    with socket.socket() as probe:
        return 0 if probe.connect_ex(("127.0.0.1", PORT)) == 0 else PORT


def can_open_browser() -> bool:
    """Whether there is a desktop; without one, a text browser would take over the terminal."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def box(lines: Sequence[str]) -> str:
    """The lines in a frame."""
    width = max(map(len, lines))
    rule = f"+{'-' * (width + 4)}+"
    return "\n".join([rule, *(f"|  {line:<{width}}  |" for line in lines), rule])

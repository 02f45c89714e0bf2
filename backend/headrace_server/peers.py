"""The serving processes on one database, as this one has heard of them: what they hold that no table does."""

import os
import socket
from dataclasses import asdict, dataclass, field
from typing import Any

from . import __version__

# Each process tells of itself every few seconds; one that was silent for this long has gone.
SILENT_S = 20.0
_MAX_PEERS = 500
_MAX_CHARS = 255


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One process: where it runs, since when (Unix seconds), and how much it has in hand."""

    host: str
    pid: int
    version: str
    started_at: float
    num_streams: int
    num_batches: int
    num_exports: int

    def told(self) -> dict[str, Any]:
        """As other processes are told."""
        return asdict(self)


def here(*, started_at: float, num_streams: int, num_batches: int, num_exports: int) -> Standing:
    """The standing of this process."""
    return Standing(
        host=socket.gethostname()[:_MAX_CHARS],
        pid=os.getpid(),
        version=__version__,
        started_at=started_at,
        num_streams=num_streams,
        num_batches=num_batches,
        num_exports=num_exports,
    )


def read(told: dict[str, Any]) -> Standing:
    """What another process told. Raises KeyError, TypeError, ValueError for what can't be read."""
    return Standing(
        host=str(told["host"])[:_MAX_CHARS],
        pid=int(told["pid"]),
        version=str(told["version"])[:_MAX_CHARS],
        started_at=float(told["started_at"]),
        num_streams=int(told["num_streams"]),
        num_batches=int(told["num_batches"]),
        num_exports=int(told["num_exports"]),
    )


@dataclass
class Peers:
    """The other processes, by the name each has given itself, and when each was last heard (steady seconds)."""

    _heard: dict[str, tuple[Standing, float]] = field(default_factory=dict)

    def heard(self, name: str, standing: Standing, steady: float) -> None:
        """Note what a process told of itself."""
        self._forget_silent(steady)
        if name in self._heard or len(self._heard) < _MAX_PEERS:
            self._heard[name] = (standing, steady)

    def present(self, steady: float) -> list[Standing]:
        """Those heard lately, the longest running first."""
        self._forget_silent(steady)
        return sorted((standing for standing, _ in self._heard.values()), key=lambda peer: peer.started_at)

    def _forget_silent(self, steady: float) -> None:
        self._heard = {name: held for name, held in self._heard.items() if steady - held[1] <= SILENT_S}

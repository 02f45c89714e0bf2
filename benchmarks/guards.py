"""How a path's speed is held: as a share of a limit that is measured in turn with it, against the share on record.

Shares of one run hold on a machine of any speed, and on a busy one, where seconds don't.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

RECORD = Path(__file__).with_name("guards.json")
ALLOWED = 0.8
"of the share on record: below, the path has become slower by more than a fifth"
ATTEMPTS = 3


@dataclass(frozen=True)
class Guard:
    """One path and what it is compared with."""

    name: str
    limit: str
    "what the limit does"
    share: Callable[[], float]
    "measures both in turn: how fast the path is, as a share of how fast the limit is"


@dataclass(frozen=True)
class Outcome:
    """What was found of one guard."""

    name: str
    share: float
    "the best of the attempts"
    recorded: float | None
    attempts: int

    @property
    def holds(self) -> bool:
        """Whether the path is as fast as on record, but for a fifth; a path that is not on record holds."""
        return self.recorded is None or self.share >= ALLOWED * self.recorded


def in_turn(
    path: Callable[[], object],
    limit: Callable[[], object],
    *,
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """The median, over pairs of calls one after the other, of the limit's time by the path's."""

    def took(work: Callable[[], object]) -> float:
        began = clock()
        work()
        return clock() - began

    pairs = [(took(limit), took(path)) if number % 2 else (took(path), took(limit))[::-1] for number in range(rounds)]
    return statistics.median(of_limit / of_path for of_limit, of_path in pairs)


def outcome(guard: Guard, recorded: float | None) -> Outcome:
    """Measure; again, up to `ATTEMPTS` times in all, while the path seems to have become slower."""
    found = Outcome(guard.name, guard.share(), recorded, 1)
    while not found.holds and found.attempts < ATTEMPTS:
        found = Outcome(guard.name, max(found.share, guard.share()), recorded, found.attempts + 1)
    return found


def read(path: Path = RECORD) -> dict[str, float]:
    """The shares on record, by guard."""
    found: dict[str, float] = json.loads(path.read_text())["shares"] if path.exists() else {}
    return found


def write(shares: Mapping[str, float], about: Mapping[str, object], path: Path = RECORD) -> None:
    """Put shares on record, and where they were found; those of other guards stay."""
    kept = {**read(path), **{name: round(share, 4) for name, share in shares.items()}}
    path.write_text(json.dumps({**about, "shares": kept}, indent=1) + "\n")

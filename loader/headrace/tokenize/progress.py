"""How far a run is, on standard error: in one line of a terminal, or every few seconds in a log."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from headrace.tokenize.engine import Ended, Event, Progress
from headrace.tokenize.units import Unit, text_bytes

_LOG_S: Final = 5.0
_TERMINAL_S: Final = 0.2
_WIDTH: Final = 100


class Meter:
    """Counts tokens by source as events come, and says rate and time left."""

    def __init__(self, units: Iterable[Unit], *, quiet: bool) -> None:
        self._units = {unit.name: unit for unit in units}
        self._weights = {name: unit_text(unit) for name, unit in self._units.items()}
        self._seen: defaultdict[str, int] = defaultdict(int)
        self.tokens: defaultdict[str, int] = defaultdict(int)
        self._begun = self._shown_at = time.monotonic()
        self._quiet = quiet
        self._is_terminal = sys.stderr.isatty()
        self._has_shown = False

    def take(self, event: Event) -> None:
        """Counts an event, and shows where it stands every now and then."""
        if isinstance(event, Progress):
            self.tokens[self._units[event.unit].source] += event.tokens
            self._seen[event.unit] = min(self._weights[event.unit], self._seen[event.unit] + event.text_bytes)
        elif isinstance(event, Ended):
            self._seen[event.unit] = self._weights[event.unit]
        if not self._quiet and time.monotonic() - self._shown_at >= (_TERMINAL_S if self._is_terminal else _LOG_S):
            self._show()

    def end(self) -> None:
        """Leaves the terminal's line."""
        if self._has_shown and self._is_terminal:
            print(file=sys.stderr)

    def line(self) -> str:
        """How far it is."""
        elapsed = max(1e-9, time.monotonic() - self._begun)
        share = sum(self._seen.values()) / max(1, sum(self._weights.values()))
        rate = sum(self.tokens.values()) / elapsed
        left = _duration(elapsed * (1 - share) / share) if share > 0 else "?"
        return f"{share:6.1%}  {rate / 1e6:.2f} M tokens/s  {left} left  {_by_source(self.tokens)}"

    def _show(self) -> None:
        self._shown_at = time.monotonic()
        self._has_shown = True
        start, end = ("\r", "") if self._is_terminal else ("", "\n")
        line = self.line()
        print(f"{start}{line[:_WIDTH]:<{_WIDTH if self._is_terminal else 0}}", end=end, file=sys.stderr, flush=True)


def unit_text(unit: Unit) -> int:
    """About how many bytes of text a unit has."""
    whole = sum(text_bytes(part.input(unit.source)) for part in unit.parts if part.end is None)
    return max(1, whole or unit.size_bytes)


def _by_source(tokens: Mapping[str, int]) -> str:
    return "  ".join(f"{name or 'tokens'} {_short(number)}" for name, number in sorted(tokens.items()))


def _short(number: int) -> str:
    for factor, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= factor:
            return f"{number / factor:.1f} {letter}"
    return str(number)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"

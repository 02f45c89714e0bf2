"""What a set of weights must be, wherever it comes from."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from numbers import Rational, Real

from headrace.errors import ConfigError


def check_weight(name: str, weight: object) -> None:
    """Refuse a weight that is not a finite number of at least 0, naming the source."""
    if isinstance(weight, bool) or not isinstance(weight, Real):
        raise ConfigError(f"weight of {name!r} is {weight!r}; weights must be numbers")
    # Whole numbers and fractions may lie beyond the floats, and are finite.
    finite = isinstance(weight, Rational) or math.isfinite(weight)
    if not finite or weight < 0:
        raise ConfigError(f"weight of {name!r} is {weight}; weights must be finite and at least 0")


def check_names(given: Iterable[str], sources: Iterable[str]) -> None:
    """Refuse weights whose names are not exactly the sources, naming the first that differs."""
    known = list(sources)
    names = list(given)
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(str(name), known, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ConfigError(f"weight for {name!r}, which is not a source; the sources are {', '.join(known)}{hint}")
    for name in known:
        if name not in names:
            raise ConfigError(f"no weight for source {name!r}; give every source one (0 pauses it)")

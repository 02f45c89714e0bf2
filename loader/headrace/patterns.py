"""Globs over the relative paths of shards.

`*` and `?` stand for any letters and for any one letter inside a name, `**` between slashes for any folders. Every
other character means itself, brackets too.
"""

from __future__ import annotations

import re


def path_pattern(glob: str) -> re.Pattern[str]:
    """The pattern whose `fullmatch` accepts the paths, with forward slashes, that `glob` means."""
    names = glob.split("/")
    parts = []
    for place, name in enumerate(names):
        is_last = place == len(names) - 1
        if name == "**":
            parts.append("(?:.+)" if is_last else "(?:[^/]+/)*")
        else:
            parts.append("".join(_LETTERS.get(letter) or re.escape(letter) for letter in name))
            parts.append("" if is_last else "/")
    return re.compile("".join(parts), re.DOTALL)


_LETTERS = {"*": "[^/]*", "?": "[^/]"}

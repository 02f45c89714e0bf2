"""What became of files, named."""

from __future__ import annotations

from headrace.differences import difference
from headrace.places import Listed

OLD = [Listed("a", 10), Listed("b", 20), Listed("c", 30)]


def test_nothing_changed_is_nothing_said() -> None:
    assert difference(OLD, OLD[::-1]) == ""


def test_changes_are_named_with_what_they_were() -> None:
    new = [Listed("a", 9), Listed("b", 20), Listed("d", 1)]
    assert difference(OLD, new) == "1 changed (a: 10 bytes, now 9), 1 gone (c), 1 new (d)"


def test_many_are_counted_and_three_shown() -> None:
    assert difference([Listed(f"{n:02}", 1) for n in range(20)], []) == "20 gone (00, 01, 02, …)"

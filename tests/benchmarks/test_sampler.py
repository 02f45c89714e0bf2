"""Stacks become shares of parts."""

from collections import Counter

from benchmarks.profiles.sampler import Part, others, shares

PARTS = (Part("inner", ("work (a.py",)), Part("outer", ("run (b.py",)))
STACKS = Counter(
    {
        ("main", "run (b.py:3)", "work (a.py:1)"): 6,
        ("main", "run (b.py:4)"): 3,
        ("main", "rest (c.py:9)"): 1,
        ("idle",): 90,
    }
)


def test_a_stack_belongs_to_the_first_part_that_names_a_frame_of_it() -> None:
    found = shares(STACKS, PARTS, lambda stack: stack[0] == "main")
    assert found == {"inner": 0.6, "outer": 0.3, "other": 0.1}
    assert "rest (c.py:9) < main" in others(STACKS, PARTS, lambda stack: stack[0] == "main")


def test_nothing_kept_has_no_shares() -> None:
    assert shares(STACKS, PARTS, lambda stack: False) == {}

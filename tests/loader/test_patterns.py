"""Globs mean what users of other tools expect, and nothing else."""

from __future__ import annotations

import pytest
from headrace.patterns import path_pattern
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("*.parquet", "a.parquet", True),
        ("*.parquet", "x/a.parquet", False),
        ("**/*.parquet", "a.parquet", True),
        ("**/*.parquet", "x/y/a.parquet", True),
        ("x/**", "x/a.arrow", True),
        ("x/**", "x/y/a.arrow", True),
        ("x/**", "xy/a.arrow", False),
        ("x/**", "x", False),
        ("x/**/a.arrow", "x/a.arrow", True),
        ("x/**/a.arrow", "x/y/z/a.arrow", True),
        ("x/**/a.arrow", "x/ya.arrow", False),
        ("**", "x/y/a.arrow", True),
        ("0000?.arrow", "00007.arrow", True),
        ("0000?.arrow", "0000.arrow", False),
        ("x?y/a", "x/y/a", False),
        ("a[1].arrow", "a[1].arrow", True),
        ("a[1].arrow", "a1.arrow", False),
        ("a.arrow", "aXarrow", False),
        ("lang=de/*", "lang=de/a.parquet", True),
        ("a**b", "axb", True),
        ("a**b", "ax/b", False),
        ("*\n*", "a\nb", True),
    ],
)
def test_what_a_glob_matches(glob: str, path: str, matches: bool) -> None:
    assert bool(path_pattern(glob).fullmatch(path)) == matches


@given(st.text(st.characters(exclude_characters="*?"), min_size=1))
def test_without_wildcards_a_glob_is_the_path_itself(path: str) -> None:
    assert path_pattern(path).fullmatch(path)
    assert not path_pattern(path).fullmatch(path + "x")

"""Tables of the page on performance are put where it names them."""

import pytest

from benchmarks import tables


def test_a_table_takes_the_place_of_the_one_before() -> None:
    text = "a\n<!-- one -->\nold\n<!-- end -->\nb\n<!-- two -->\n<!-- end -->\n"
    once = tables.put(text, "one", ["| x |", r"| \\1 |"])
    assert once == "a\n<!-- one -->\n\n| x |\n| \\\\1 |\n\n<!-- end -->\nb\n<!-- two -->\n<!-- end -->\n"
    assert tables.put(once, "one", ["| x |", r"| \\1 |"]) == once


def test_a_table_without_a_place_is_told() -> None:
    with pytest.raises(ValueError, match="no place for 'three'"):
        tables.put("<!-- one -->\n<!-- end -->", "three", [])


def test_the_page_has_a_place_for_every_table() -> None:
    text = tables.PAGE.read_text()
    for name in ("service", "profiles", "gains", "guards"):
        assert tables.put(text, name, ["here"]) != text

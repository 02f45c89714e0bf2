"""CSV that no spreadsheet runs, and that gives back what went in."""

import csv
import io

import pytest
from headrace_server.exports.csv_text import CsvEncoder, moment, neutral
from headrace_server.exports.datasets import Column
from hypothesis import given
from hypothesis import strategies as st

COLUMNS = (Column("name", "text"), Column("count", "integer"), Column("share", "number"), Column("at_utc", "time"))


def rows(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


@pytest.mark.parametrize(
    "hostile",
    ["=cmd|'/c calc'!A0", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "＝1", "\u00a0@x", "'=1"],
)
def test_text_that_a_spreadsheet_would_run_gets_an_apostrophe(hostile: str) -> None:
    """Case A05."""
    assert neutral(hostile) == f"'{hostile}"


def test_other_text_stays_as_it_is() -> None:
    for plain in ("", "web", "a=b", "1-2", "名", "<script>", "x,y", 'say "hi"', "node-0"):
        assert neutral(plain) == plain


@given(st.text())
def test_taking_one_apostrophe_off_gives_the_text_back(text: str) -> None:
    written = neutral(text)
    assert (written[1:] if written.startswith("'") else written) == text


def test_numbers_stay_numbers_and_nulls_are_empty() -> None:
    encoder = CsvEncoder(COLUMNS)
    data = encoder.begin() + encoder.add([("-5", -5, -0.25, 1_700_000_000.5), (None, None, None, None)]) + encoder.end()
    assert rows(data) == [
        ["name", "count", "share", "at_utc"],
        ["'-5", "-5", "-0.25", "2023-11-14T22:13:20.500000Z"],
        ["", "", "", ""],
    ]


@given(st.lists(st.tuples(st.text(st.characters(codec="utf-8", exclude_characters="\x00")), st.integers())))
def test_any_text_is_one_cell_whatever_the_chunks(given_rows: list[tuple[str, int]]) -> None:
    encoder = CsvEncoder(COLUMNS[:2])
    data = b"".join([encoder.begin(), *(encoder.add([row]) for row in given_rows), encoder.end()])
    assert rows(data)[1:] == [[neutral(name), str(count)] for name, count in given_rows]


def test_moments_are_exact_to_the_microsecond() -> None:
    assert moment(1_800_000_000.000001) == "2027-01-15T08:00:00.000001Z"

"""File names that every browser and disk takes, whatever the job is called."""

from urllib.parse import unquote

import pytest
from headrace_server.exports.naming import content_disposition, file_name
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("job", "name"),
    [
        ("llama-7b", "llama-7b-mix.csv"),
        ("../../etc/passwd", "_.._etc_passwd-mix.csv"),
        ('quo"te\r\nSet-Cookie: a=b', "quo_te_Set-Cookie_ a=b-mix.csv"),
        ("...", "job-mix.csv"),
        ("名前", "名前-mix.csv"),
        ("gpj.\u202eexe", "gpj._exe-mix.csv"),
        ("x" * 200, "x" * 100 + "-mix.csv"),
    ],
)
def test_hostile_names_become_plain_ones(job: str, name: str) -> None:
    assert file_name(job, "mix", "csv") == name


@given(st.text())
def test_the_header_is_one_line_of_ascii_that_holds_the_name(job: str) -> None:
    name = file_name(job, "reports", "parquet")
    header = content_disposition(name)
    assert header.isascii() and header.isprintable()
    assert header.count('"') == 2
    assert unquote(header.partition("filename*=UTF-8''")[2]) == name.encode("utf-8", "replace").decode()

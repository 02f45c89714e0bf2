"""Manual pages lose their typesetting and keep their words."""

from __future__ import annotations

from headrace.demo.roff import plain_text
from hypothesis import example, given
from hypothesis import strategies as st

MAN = r""".\" a comment
.de Vb
never shown
..
.TH CP 1 "March 2024" "GNU coreutils"
.SH NAME
cp \- copy files
and directories
.SH SYNOPSIS
.B cp
[\fI\,OPTION\/\fR]... \fB\-T\fR
.PP
Copy \(lqSOURCE\(rq to
.BR DEST (2).
.TP
.B \-a
same as \e
.nf
  if x:
      y
.fi
.TS
never shown
.TE
"""

MDOC = """.Dd May 1, 2020
.Dt DASH 1
.Sh NAME
.Nm dash
.Sh SYNOPSIS
.Op Fl o Ar file
.Op Fl v ,
text
"""


def test_man_macros() -> None:
    assert plain_text(MAN) == (
        "CP(1)\n\nNAME\n\ncp - copy files and directories\n\nSYNOPSIS\n\ncp [OPTION]... -T\n\n"
        'Copy "SOURCE" to DEST(2).\n\n-a same as \\\n\n  if x:\n      y'
    )


def test_mdoc_macros() -> None:
    assert plain_text(MDOC) == "DASH(1)\n\nNAME\n\ndash\n\nSYNOPSIS\n\n[-o file] [-v,] text"


def test_a_page_that_only_includes_another_is_empty() -> None:
    assert plain_text(".so man1/other.1\n") == ""


@given(st.text() | st.text(alphabet=".'\\\"()[]*fBsSHTP \n", max_size=80))
@example('.B "never closed')
@example("trailing \\")
def test_any_text_is_accepted(page: str) -> None:
    plain_text(page)

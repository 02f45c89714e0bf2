"""Manual pages as plain text: enough of the `man` and `mdoc` macros to read well, and nothing of the typesetting.

Headings, paragraphs, tags and literal blocks keep their lines; running text is joined into paragraphs; tables, macro
definitions and conditionals are left out. Never raises on any input: what it does not know it drops.
"""

from __future__ import annotations

import re
import shlex

_GLYPHS = {
    "aq": "'", "cq": "'", "oq": "'", "dq": '"', "lq": '"', "rq": '"', "Lq": '"', "Rq": '"', "Fo": '"', "Fc": '"',
    "em": "--", "en": "-", "hy": "-", "mi": "-", "ha": "^", "ti": "~", "rs": "\\", "sl": "/", "ga": "`", "at": "@",
    "lB": "[", "rB": "]", "lC": "{", "rC": "}", "ba": "|", "or": "|", "->": "->", "<-": "<-", "<=": "<=", ">=": ">=",
    "mu": "x", "+-": "+-", "R": "(R)", "rg": "(R)", "tm": "(TM)", "Tm": "(TM)", "ge": ">=", "le": "<=", "bu": "*",
    "co": "(c)", "sh": "#",
}  # fmt: skip
_ESCAPE = re.compile(
    r"""\\(?:
      ["\#].*                                          # a comment, to the end of the line
    | [fFmMgk](?:\(..|\[[^\]]*\]|.)                    # font, colour
    | s(?:[+-]?\d+|[+-]?\[[^\]]*\]|\([+-]?\d\d)        # size
    | [*](?P<string>\(..|\[[^\]]*\]|.)                 # a string
    | n[+-]?(?:\(..|\[[^\]]*\]|.)                      # a register
    | [hvwDLlobxXANBZSHRC]'[^']*'                      # motions, drawings
    | (?P<glyph>\(..|\[[^\]]*\])
    | \$(?:\(..|\[[^\]]*\]|.)                          # a macro's argument
    | (?P<char>.)
    | $
    )""",
    re.VERBOSE,
)
_CHARS = dict(zip("-'`._\\", "-'`._\\", strict=True)) | dict.fromkeys(" ~0t", " ") | dict.fromkeys("eE", "\\")

_JOINED = frozenset({"BR", "RB", "BI", "IB", "IR", "RI"})
# fmt: off
_TEXT = frozenset({
    "B", "I", "SM", "SB", "UR", "MT", "Nm", "Em", "Sy", "Li", "Cm", "Pa", "Ev", "Va", "Vt", "Ic", "Dv", "Er", "Fn",
    "Fa", "Ft", "Ad", "An", "Ql", "Dq", "Sq", "Qq", "Pq", "Lk", "Mt", "Xr", "Tn", "Bx", "Ux", "Cd", "In", "Lb", "Rv",
    "St", "At", "Fx", "Nx", "Ox", "No", "Ns", "Ap", "D1", "Dl",
})
_BREAK = frozenset({
    "PP", "P", "LP", "sp", "HP", "TP", "TQ", "RS", "RE", "br", "ti", "in", "Pp", "Bl", "El", "Bd", "Ed", "YS", "SY",
})
# fmt: on
_HEADING = frozenset({"SH", "SS", "Sh", "Ss"})
_LITERAL = {"nf": True, "EX": True, "Vb": True, "fi": False, "EE": False, "Ve": False}
_SKIP_UNTIL = {"de": "..", "de1": "..", "am": "..", "ig": "..", "TS": ".TE", "EQ": ".EN", "PS": ".PE"}
_CLOSING = frozenset(",.;:)]?!")


def plain_text(page: str) -> str:
    """The page as paragraphs separated by blank lines; '' for a page that only includes another."""
    body = _Body()
    until = None
    for line in page.splitlines():
        if until is not None:
            until = None if line.startswith(until) else until
        elif line[:1] in (".", "'"):
            name, words = _control(line)
            until = _SKIP_UNTIL.get(name)
            _interpret(body, name, words)
        else:
            body.add(_unescape(line), literal_blank=not line.strip())
    return body.text()


class _Body:
    """Lines become paragraphs; in a literal block they stay lines."""

    def __init__(self) -> None:
        self.literal = False
        self._paragraphs: list[str] = []
        self._open: list[str] = []

    def add(self, text: str, *, literal_blank: bool = False) -> None:
        if literal_blank and not self.literal:
            self.end_paragraph()
        elif text.strip() or self.literal:
            self._open.append(text.rstrip() if self.literal else text.strip())

    def end_paragraph(self) -> None:
        joined = ("\n" if self.literal else " ").join(self._open).strip("\n")
        self._open = []
        if joined.strip():
            self._paragraphs.append(joined)

    def text(self) -> str:
        self.end_paragraph()
        return "\n\n".join(self._paragraphs)


def _control(line: str) -> tuple[str, list[str]]:
    name, _, rest = line[1:].strip().partition(" ")
    rest = re.sub(r'(?<!\\)((?:\\\\)*)\\["#].*', r"\1", rest)
    words = _quoted(rest) if '"' in rest else rest.split()
    return name.split("\\")[0], words


def _quoted(rest: str) -> list[str]:
    lexer = shlex.shlex(rest, posix=True)
    lexer.whitespace_split, lexer.escape, lexer.quotes, lexer.commenters = True, "", '"', ""
    try:
        return list(lexer)
    except ValueError:  # a quotation mark that is never closed
        return rest.replace('"', " ").split()


def _interpret(body: _Body, name: str, words: list[str]) -> None:
    if name in _HEADING:
        body.end_paragraph()
        body.literal = False
        body.add(_unescape(" ".join(words)))
        body.end_paragraph()
    elif name in _LITERAL:
        body.end_paragraph()
        body.literal = _LITERAL[name]
    elif name in ("TH", "Dt") and words:
        body.add(_unescape(words[0] + (f"({words[1]})" if len(words) > 1 else "")))
        body.end_paragraph()
    elif name in _BREAK:
        body.end_paragraph()
    elif name in ("IP", "It"):
        body.end_paragraph()
        body.add(_unescape(" ".join(words[:1] if name == "IP" else _mdoc(words))))
    elif name in _JOINED:
        body.add(_unescape("".join(words)))
    elif name in _TEXT or name in _PREFIX:
        body.add(_unescape(" ".join(_mdoc([name, *words]))))


_PREFIX = {"Fl": "-", "Ar": "", "Op": "[", "Oo": "[", "Oc": ""}


def _mdoc(words: list[str]) -> list[str]:
    """Words of an mdoc line without its inline macros: `Op Fl o Ar file` gives `[-o file]`."""
    prefix, closing = "", ""
    out: list[str] = []
    for word in words:
        if word in _PREFIX:
            prefix += _PREFIX[word]
            closing += "]" if word == "Op" else ""
        elif word in _CLOSING and out:
            out[-1] += word
        elif word not in _TEXT:
            out.append(prefix + word)
            prefix = ""
    if closing and out:
        out[-1] += closing
    return out


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_replacement, text)


def _replacement(match: re.Match[str]) -> str:
    named = match["string"] or match["glyph"]
    if named:
        return _GLYPHS.get(named.strip("([]"), "")
    return _CHARS.get(match["char"] or "", "")

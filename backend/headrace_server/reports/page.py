"""One self-contained page: facts, figures and tables of a job. Pure: what is known in, HTML out.

Nothing is fetched: plotly.js (4.8 MB) is in the page, once. Nothing that a run or a person chose is HTML: names go
through ``html.escape``, figures through JSON in which no tag can be written. The policy in the page itself, which holds
from a disk too, lets nothing run but the two scripts of this server, by their hashes, and fetches nothing.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

from plotly.offline import get_plotlyjs

from ..figures.palette import THEMES
from ..figures.schemas import Figure

Facts = Sequence[tuple[str, str]]
# Sent piece by piece, so that a slow reader keeps no copy of plotly.js waiting.
_PIECE_BYTES = 1 << 16
_ITS_STYLES = re.compile(r"textContent='([^'\\]+)'")

_LIGHT = THEMES["light"]
_STYLE = f"""
:root {{ color-scheme: light; }}
body {{ margin: 0 auto; padding: 1.5rem; max-width: 68rem; background: {_LIGHT.surface}; color: {_LIGHT.text};
  font: 15px/1.5 -apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }}
h1, h2 {{ line-height: 1.25; overflow-wrap: anywhere; }}
h2 {{ margin: 2rem 0 .25rem; font-size: 1.15rem; }}
p {{ margin: .25rem 0 .75rem; color: {_LIGHT.dim}; overflow-wrap: anywhere; }}
dl {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); gap: .75rem 1.5rem; }}
dt {{ color: {_LIGHT.dim}; font-size: .85rem; }}
dd {{ margin: 0; overflow-wrap: anywhere; }}
.figure {{ height: 22rem; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .25rem .75rem .25rem 0; border-bottom: 1px solid {_LIGHT.grid}; text-align: left;
  vertical-align: top; }}
td.number {{ text-align: right; }}
@media print {{ section {{ break-inside: avoid; }} }}
"""
_BOOT = """
"use strict";
for (const { name, figure } of JSON.parse(document.getElementById("figures").textContent)) {
  Plotly.newPlot(document.getElementById("figure-" + name), figure.data, figure.layout, figure.config);
}
"""


@dataclass(frozen=True)
class Table:
    """A table with a heading of its own."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Report:
    """What the page says."""

    name: str
    about: str
    facts: Facts
    figures: Sequence[Figure]
    tables: Sequence[Table]


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


@cache
def _plotlyjs() -> str:
    source: str = get_plotlyjs()
    assert "</script" not in source.lower(), "it would end its element early"
    return source


@cache
def policy() -> str:
    """The page's content security policy, for its header and for the page itself."""
    # Plotly writes its rules into style elements that it makes empty, hence the hash of nothing; and brings its map's.
    styles = (_STYLE, "", *_ITS_STYLES.findall(_plotlyjs()))
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(_plotlyjs())} {_hash(_BOOT)}",
            f"style-src {' '.join(map(_hash, styles))}",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _json(value: object) -> str:
    """JSON that can stand in a script element: no tag, comment or line separator can be in it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for found, safe in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("\u2028", "\\u2028")):
        text = text.replace(found, safe)
    return text.replace("\u2029", "\\u2029")


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _section(figure: Figure) -> str:
    names = [f"{column.label} ({column.unit})" if column.unit else column.label for column in figure.table.columns]
    numbers = _table(names, [[_cell(value) for value in row] for row in figure.table.rows])
    return (
        f"<section><h2>{escape(figure.title)}</h2><p>{escape(figure.description)}</p>"
        f'<div class="figure" id="figure-{escape(figure.name)}" role="img" aria-label="{escape(figure.title)}"></div>'
        f"<details><summary>Numbers</summary>{numbers}</details></section>"
    )


def _body(report: Report) -> str:
    facts = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in report.facts)
    sections = "".join(map(_section, report.figures))
    tables = "".join(
        f"<section><h2>{escape(table.title)}</h2>{_table(table.columns, table.rows)}</section>"
        for table in report.tables
    )
    return f"<main><h1>{escape(report.name)}</h1><p>{escape(report.about)}</p><dl>{facts}</dl>{sections}{tables}</main>"


def render(report: Report) -> Iterator[bytes]:
    """The page, piece by piece."""
    figures = [{"name": figure.name, "figure": figure.figure.model_dump()} for figure in report.figures]
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy())}">'
        '<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">'
        f"<title>{escape(report.name)} · Headrace</title><style>{_STYLE}</style></head><body>"
    )
    data = f'<script type="application/json" id="figures">{_json(figures)}</script><script>'
    for text in (head + _body(report) + data, _plotlyjs(), f"</script><script>{_BOOT}</script></body></html>\n"):
        encoded = text.encode("utf-8", "replace")
        yield from (encoded[place : place + _PIECE_BYTES] for place in range(0, len(encoded), _PIECE_BYTES))

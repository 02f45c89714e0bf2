"""The report: self-contained, under a policy that lets nothing else run, names as text (case A05)."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

from plotly.offline import get_plotlyjs

from tests.backend.builders import attempt_body, record, source_record
from tests.backend.world import World

HOSTILE = "</script><script>alert(1)</script>"
SOURCE = "<img src=x onerror=alert(1)>"


class Elements(HTMLParser):
    """What a browser would make of a page: its elements, and the text of scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inline: list[tuple[str, str]] = []
        self._inside: str | None = None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag if tag in ("script", "style") else None
        if self._inside:
            self.inline.append((tag, ""))

    def handle_data(self, data: str) -> None:
        if self._inside:
            tag, held = self.inline[-1]
            self.inline[-1] = (tag, held + data)

    def handle_endtag(self, tag: str) -> None:
        self._inside = None


async def hostile_job(world: World) -> str:
    sources = [{"name": SOURCE, "weight_ppm": 1_000_000, "num_documents": 1, "num_tokens": 9, "num_shards": 1}]
    job = await world.job(HOSTILE, sources=sources, tags={"a<b": '"c"'})
    attempt = await world.attempt(job, 1, hostname="<b>")
    batch = [record(0, seq, seq, sources=[source_record(SOURCE, seq, 1_000_000)]) for seq in range(20)]
    await world.report(job, attempt, *batch)
    await world.edit(job, {SOURCE: 2}, 1, reason="<svg onload=alert(1)>")
    ended = {"state": "failed", "reason": HOSTILE}
    await world.loader.patch(f"{job}/attempts/{attempt['id']}", json=ended)
    return job


def policies(csp: str) -> dict[str, list[str]]:
    return {name: values for name, *values in (part.split() for part in csp.split(";"))}


def hashed(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


async def test_it_needs_nothing_else_and_lets_nothing_else_run(world: World) -> None:
    reply = await world.viewer.get(f"{await hostile_job(world)}/report.html")
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    page = Elements(reply.text)
    fetching = [(tag, attrs) for tag, attrs in page.tags if {"src", "href", "srcset", "data"} & attrs.keys()]
    assert fetching == []
    assert not [attrs for _, attrs in page.tags for name in attrs if name.startswith("on") or name == "style"]
    [meta] = [a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert meta is not None
    assert policies(reply.headers["content-security-policy"]) == {**policies(meta), "frame-ancestors": ["'none'"]}
    csp = policies(meta)
    assert csp["default-src"] == ["'none'"]
    assert "unsafe" not in meta
    scripts = [text for tag, text in page.inline if tag == "script"]
    assert len(scripts) == 3, "the figures, plotly.js and what draws them"
    assert set(csp["script-src"]) == {hashed(text) for text in scripts[1:]}
    assert scripts[1] == get_plotlyjs()
    styles = [text for tag, text in page.inline if tag == "style"]
    assert set(csp["style-src"]) > {hashed(text) for text in [*styles, ""]}
    assert len(csp["style-src"]) == 3, "and the one that plotly.js brings for its maps"
    assert len(reply.content) < 6_000_000


async def test_names_are_text_everywhere(world: World) -> None:
    reply = await world.viewer.get(f"{await hostile_job(world)}/report.html")
    page = Elements(reply.text)
    assert {tag for tag, _ in page.tags} <= {
        *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "dl", "div", "dt", "dd"),
        *("section", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "script"),
    }
    bare = reply.text.replace(get_plotlyjs(), "")
    for hostile in (HOSTILE, SOURCE, "<svg onload"):
        assert hostile not in bare
    figures = json.loads(page.inline[1][1])
    assert [figure["name"] for figure in figures] == ["mix", "throughput", "wait", "loss", "epochs", "queue", "memory"]
    assert "&lt;img" in json.dumps(figures), "plotly reads HTML in names, so they are escaped for it too"


async def test_it_says_what_the_job_is_and_shows_every_figure(world: World) -> None:
    job, attempt = await world.running_job()
    await world.report(job, attempt, *(record(rank, seq, seq) for rank in range(2) for seq in range(40)))
    reply = await world.viewer.get(f"{job}/report.html", params={"x": "time"})
    page = Elements(reply.text)
    assert [a["id"] for _, a in page.tags if a.get("class") == "figure"] == [
        f"figure-{name}" for name in ("mix", "throughput", "wait", "loss", "epochs", "queue", "memory")
    ]
    facts = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", reply.text))
    assert facts["Step"] == "39 of 1,000"
    assert facts["State"].startswith("running")
    for about in ("configured weights", "web 50 %, code 30 %, legal 20 %", "Attempts"):
        assert about in reply.text


async def test_a_job_without_reports_has_a_report_and_a_file_has_a_name(world: World) -> None:
    job = await world.job("名/x")
    await world.attempt(job, **{"state_reason": None, "world_size": attempt_body()["world_size"]})
    reply = await world.viewer.get(f"{job}/report.html", params={"download": True})
    assert reply.status_code == 200
    assert "filename*=UTF-8''%E5%90%8D_x-report.html" in reply.headers["content-disposition"]
    assert reply.text.rstrip().endswith("</html>")


async def test_one_chart_is_a_page_of_its_own(world: World) -> None:
    job, attempt = await world.running_job(1)
    await world.report(job, attempt, *(record(0, seq, seq) for seq in range(40)))
    part = {"figure": "loss", "x": "tokens", "from": 11 * 12_800, "to": 21 * 12_800, "smooth": 0.2, "download": True}
    reply = await world.viewer.get(f"{job}/report.html", params=part)
    page = Elements(reply.text)
    assert [a["id"] for _, a in page.tags if a.get("class") == "figure"] == ["figure-loss"]
    [held] = json.loads(page.inline[1][1])
    assert held["figure"]["data"][0]["x"] == [(step + 1) * 12_800 for step in range(10, 21)]
    assert "window of 20% of what is shown" in reply.text
    assert "llama-loss.html" in reply.headers["content-disposition"]
    assert (await world.viewer.get(f"{job}/report.html", params={"figure": "nothing"})).status_code == 422

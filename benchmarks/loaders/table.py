"""The results as tables in Markdown, with what stands behind each figure that is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

Told = dict[str, Any]
Loaders = dict[str, Told]
Cell = Callable[[Told], str]
Columns = tuple[tuple[str, Cell], ...]

NOTHING, FAILED = "–", "✗"
"where a loader has no such thing or it was not measured; where it failed"
RANDOM = "mapped, random rows"
"the limit that others are held against"


def at(told: Told, path: str) -> Any:
    """The value at a dotted path; None where there is none."""
    value: Any = told
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def as_markdown(loaders: Loaders) -> str:
    """Two tables, of how fast and of what comes back, and why something is missing in them."""
    limit = at(loaders.get(RANDOM, {}), "workers_0.tokens_per_s")
    resuming = {name: told for name, told in loaders.items() if "near" in told}
    parts = (table(loaders, speed(limit)), table(resuming, STATE), "\n".join(missing(loaders)))
    return "\n\n".join(part for part in parts if part) + "\n"


def table(loaders: Loaders, columns: Columns) -> str:
    """A row a loader."""
    head = "| loader | " + " | ".join(name for name, _ in columns) + " |"
    rule = "| --- |" + " ---: |" * len(columns)
    rows = (f"| {name} | " + " | ".join(show(told) for _, show in columns) + " |" for name, told in loaders.items())
    return "\n".join((head, rule, *rows))


def missing(loaders: Loaders) -> Iterable[str]:
    """A line for each reason why a loader has no figure, or answers with no."""
    for name, told in loaders.items():
        reasons: dict[str, list[str]] = {}
        for what, value in told.items():
            why = value.get("error") or value.get("why") if isinstance(value, dict) else None
            if why:
                reasons.setdefault(reason(why), []).append(SAID[what])
        yield from (f"- {name}, {', '.join(what)}: {why}" for why, what in reasons.items())


def reason(said: str) -> str:
    """The last line of what a process said, short and without paths of this machine."""
    last = next((line for line in reversed(said.strip().splitlines()) if line.strip(" ^~")), said)
    return re.sub(r"(/[\w.+-]+){2,}/", "…/", last).strip()[:200]


def cell(path: str, show: Callable[[Any], str]) -> Cell:
    """Shows the value at a dotted path; why there is none is said by `missing`."""

    def show_one(told: Told) -> str:
        value = at(told, path)
        if value is not None:
            return show(value)
        return FAILED if at(told, path.partition(".")[0] + ".error") else NOTHING

    return show_one


def yes(value: Any) -> str:
    """An answer."""
    return "yes" if value else "no"


def mega(value: float) -> str:
    """Millions."""
    return f"{value / 1e6:,.1f}" if value < 100e6 else f"{value / 1e6:,.0f}"


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:,.1f}"


def speed(limit: float | None) -> Columns:
    """How fast; `limit` is the tokens a second of a mapped read in random order."""
    of_limit = cell("workers_0.tokens_per_s", lambda value: f"{value / limit:.2f}" if limit else NOTHING)
    return (
        ("reads", cell("reads", str)),
        ("mixes", cell("mixes", yes)),
        ("makes", cell("makes", str)),
        ("M tokens/s", cell("workers_0.tokens_per_s", mega)),
        ("of mapped random rows", of_limit),
        ("with 2 workers", cell("workers_2.tokens_per_s", mega)),
        ("CPU ns a token", cell("workers_0.cpu_ns_per_token", lambda value: f"{value:.1f}")),
        ("first batch, s beyond torch", cell("workers_0.beyond_torch_s", lambda value: f"{value:.2f}")),
        ("memory, MB", cell("memory.own_bytes", lambda value: f"{value / 1e6:,.0f}")),
        ("to make its format, s", cell("prepare.prepare_s", lambda value: f"{value:.1f}")),
        ("and MB", cell("prepare.bytes", lambda value: f"{value / 1e6:,.0f}")),
    )


STATE: Columns = (
    ("resume at 10 k, s", cell("near.resume_s", _seconds)),
    ("at 1 M, s", cell("far.resume_s", _seconds)),
    ("state of 8 ranks, bytes", cell("near.state_bytes_8_ranks", lambda value: f"{value:,.0f}")),
    ("off its share after 10 k, sequences", cell("shares.error_sequences", lambda value: f"{value:.1f}")),
    ("exact resume", cell("near.same", yes)),
    ("same steps at 2, 4 and 8 ranks", cell("worlds.same", yes)),
    ("2 ranks go on as 4", cell("elastic.same", yes)),
    ("weights change while it runs", cell("changed.can", yes)),
)
SAID = {
    "prepare": "its format",
    "workers_0": "rate",
    "workers_2": "with 2 workers",
    "near": "resume at 10 k",
    "memory": "memory",
    "shares": "shares",
    "changed": "weights",
    "far": "resume at 1 M",
    "worlds": "2, 4 and 8 ranks",
    "elastic": "2 ranks go on as 4",
}
"""What a group of figures is called where one is missing."""

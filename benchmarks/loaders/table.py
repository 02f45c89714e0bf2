"""The results as tables in Markdown, and the bars that they are held against."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Loaders = dict[str, dict[str, Any]]
Cell = Callable[[dict[str, Any]], str]
NOTHING = "–"
"where a loader has no such thing; ✗ where it failed"


def _number(path: str, show: Callable[[float], str]) -> Cell:
    """The figure at a dotted path."""

    def cell(told: dict[str, Any]) -> str:
        value: Any = told
        for part in path.split("."):
            if not isinstance(value, dict) or value.get(part) is None:
                return "✗" if isinstance(value, dict) and "error" in value else NOTHING
            value = value[part]
        return show(value)

    return cell


def _yes(path: str) -> Cell:
    return _number(path, lambda value: "yes" if value else "no")


def _mega(value: float) -> str:
    return f"{value / 1e6:,.1f}"


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:,.1f}"


SPEED: tuple[tuple[str, Cell], ...] = (
    ("reads", lambda told: str(told["reads"])),
    ("M tokens/s", _number("workers_0.tokens_per_s", _mega)),
    ("with 2 workers", _number("workers_2.tokens_per_s", _mega)),
    ("CPU ns a token", _number("workers_0.cpu_ns_per_token", lambda value: f"{value:.1f}")),
    ("first batch, s", _number("workers_0.first_batch_s", lambda value: f"{value:.2f}")),
    ("own memory, MB", _number("workers_0.peak_own_bytes", _mega)),
    ("to make its format, s", _number("prepare.prepare_s", lambda value: f"{value:.1f}")),
    ("and MB", _number("prepare.bytes", _mega)),
)
STATE: tuple[tuple[str, Cell], ...] = (
    ("resume at 10 k, s", _number("near.resume_s", _seconds)),
    ("at 1 M, s", _number("far.resume_s", _seconds)),
    ("state of 8 ranks, bytes", _number("near.state_bytes_8_ranks", lambda value: f"{value:,.0f}")),
    ("off its weight after 10 k, sequences", _number("shares.error_sequences", lambda value: f"{value:.1f}")),
    ("exact resume", _yes("near.same")),
    ("same steps at 2, 4 and 8 ranks", _yes("worlds.same")),
    ("2 ranks' state goes on at 4", _yes("elastic.same")),
    ("weights change while it runs", _yes("changed.can")),
)
YES_NO = ("near.same", "worlds.same", "elastic.same", "changed.can")


def as_markdown(loaders: Loaders) -> str:
    """Two tables: how fast, and what comes back."""
    resuming = {name: told for name, told in loaders.items() if "near" in told}
    return f"{_table(loaders, SPEED)}\n\n{_table(resuming, STATE)}\n\n{_failures(loaders)}".rstrip() + "\n"


def _table(loaders: Loaders, columns: tuple[tuple[str, Cell], ...]) -> str:
    head = "| loader | " + " | ".join(name for name, _ in columns) + " |"
    rule = "|---|" + "---:|" * len(columns)
    rows = (f"| {name} | " + " | ".join(cell(told) for _, cell in columns) + " |" for name, told in loaders.items())
    return "\n".join((head, rule, *rows))


def _failures(loaders: Loaders) -> str:
    """What ✗ stands for, in the words of what failed."""
    return "\n".join(
        f"- {name}, {what}: {str(value['error']).splitlines()[-1][:160]}"
        for name, told in loaders.items()
        for what, value in told.items()
        if isinstance(value, dict) and "error" in value
    )


def bars(loaders: Loaders) -> dict[str, bool | None]:
    """What is promised of Headrace beside the others, each true or false in this run; None where it can't be told."""
    ours = loaders["headrace"]
    speed = {name: _of(told, "workers_0.tokens_per_s") or 0.0 for name, told in loaders.items()}
    others = [name for name in loaders if not name.startswith("headrace") and "near" in loaders[name]]
    mixing = [speed[name] for name in others if loaders[name]["mixes"]]
    elastic = [speed[name] for name in others if loaders[name]["mixes"] and _of(loaders[name], "elastic.same")]
    states = [size for name in others if (size := _of(loaders[name], "near.state_bytes_8_ranks")) is not None]
    mine = speed["headrace"]
    first = _of(ours, "workers_0.first_batch_s")
    near, far = _of(ours, "near.resume_s"), _of(ours, "far.resume_s")
    return {
        "most tokens/s of those that mix by weight": mine > max(mixing, default=0.0),
        "twice the fastest that mixes and resumes at another world size": mine >= 2 * max(elastic, default=0.0),
        "first batch within 0.5 s of importing torch": None if first is None else first <= 0.5,
        "nothing to make before the first batch": _of(ours, "prepare.bytes") == 0,
        "resume takes no longer further on": None if near is None or far is None else far <= 1.5 * near + 0.1,
        "smallest state of 8 ranks": (_of(ours, "near.state_bytes_8_ranks") or 0) <= min(states, default=0),
        "yes in every row, and nobody else": all(_of(ours, row) for row in YES_NO)
        and not any(all(_of(loaders[name], row) for row in YES_NO) for name in others),
    }


def _of(told: dict[str, Any], path: str) -> Any:
    value: Any = told
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value

"""What to do is said where something is to be done, and nothing where nothing is."""

from typing import Any

import pytest
from headrace_server.system.notices import notices_of
from headrace_server.system.schemas import System

NOW = 1_796_000_000.0
PROCESS = {
    "host": "a",
    "pid": 7,
    "version": "1",
    "started_at": NOW - 60,
    "num_streams": 1,
    "num_batches": 0,
    "num_exports": 0,
    "answered": True,
}
DAYS = {"table": "rank_report", "num_days": 3, "first": NOW, "last": NOW, "missing": [], "strays": []}
WELL: dict[str, Any] = {
    "now": NOW,
    "version": "1",
    "processes": [PROCESS],
    "max_streams": 100,
    "database": {
        "kind": "postgresql",
        "version": "17",
        "size_bytes": 1,
        "revision": "b",
        "needed_revision": "b",
    },
    "ingest": {
        "num_ranks": 0,
        "reports_per_s": 0,
        "lag_mean_s": None,
        "lag_max_s": None,
        "stretch": 1,
        "per_minute": [],
    },
    "partitions": [DAYS],
    "rollup_delay_s": 0,
    "outbox": {"num_webhooks": 0, "num_pending": 0, "oldest_pending_at": None, "num_given_up": 0},
    "alerts_looked_at": NOW - 10,
    "sealing_key": False,
    "provider": None,
    "notices": [],
}


def said(**changes: Any) -> list[tuple[str, str | None]]:
    """Level and command of each notice."""
    given = {name: {**WELL[name], **new} if isinstance(WELL[name], dict) else new for name, new in changes.items()}
    return [(notice.level, notice.command) for notice in notices_of(System.model_validate({**WELL, **given}))]


def test_a_service_that_is_well_needs_nothing() -> None:
    assert said() == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"database": {"revision": "a"}}, ("problem", "headrace-server migrate")),
        ({"processes": [PROCESS, {**PROCESS, "version": "2"}]}, ("advice", None)),
        ({"partitions": [{**DAYS, "missing": [NOW]}]}, ("problem", None)),
        ({"partitions": [{**DAYS, "strays": [NOW]}]}, ("advice", None)),
        ({"rollup_delay_s": 181}, ("problem", None)),
        ({"alerts_looked_at": NOW - 100}, ("problem", None)),
        ({"ingest": {"stretch": 2.0}}, ("advice", "headrace-server serve --workers N")),
        ({"processes": [{**PROCESS, "num_streams": 90}]}, ("problem", "HEADRACE_SERVER_MAX_STREAMS")),
        ({"outbox": {"num_pending": 3, "oldest_pending_at": NOW - 700}}, ("advice", None)),
        ({"outbox": {"num_given_up": 2}}, ("advice", None)),
        ({"outbox": {"num_webhooks": 1}}, ("advice", "HEADRACE_SERVER_SEALING_KEY")),
    ],
)
def test_each_trouble_is_said_with_what_to_do(changes: dict[str, Any], expected: tuple[str, str | None]) -> None:
    assert said(**changes) == [expected]


@pytest.mark.parametrize(
    "changes",
    [
        {"rollup_delay_s": 100},
        {"alerts_looked_at": None},
        {"ingest": {"stretch": 1.04}},
        {"outbox": {"num_pending": 3, "oldest_pending_at": NOW - 60}},
        {"outbox": {"num_webhooks": 1}, "sealing_key": True},
    ],
)
def test_what_passes_by_itself_is_not_said(changes: dict[str, Any]) -> None:
    assert said(**changes) == []


def test_problems_come_first() -> None:
    levels = [level for level, _ in said(outbox={"num_given_up": 2}, rollup_delay_s=500)]
    assert levels == ["problem", "advice"]

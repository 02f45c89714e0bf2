"""The tables of an export: columns with their units, the key that orders the rows, and what filters them.

A time is Unix seconds in the database and a moment in UTC in a file (``…_utc``). What belongs to an attempt begins with
its number and its id, and is read one attempt after another; the rest is of the job as a whole.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .. import models
from .schemas import Cell, Kind, Row, What

_Expand = Callable[[Row], Iterator[Row]]


@dataclass(frozen=True)
class Column:
    """A column of a file, and where its value comes from; ``of`` is None for what a row is expanded to."""

    name: str
    kind: Kind
    of: Any = None


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One kind of row. ``key`` is unique within an attempt (or within the job) and orders the rows."""

    columns: tuple[Column, ...]
    key: tuple[Any, ...]
    owner: Any
    """the column that holds the attempt's row id where ``by_attempt``, else the job's"""
    time: Any
    by_attempt: bool = False
    joined: Any = None
    expand: _Expand | None = None

    @property
    def stored(self) -> tuple[Any, ...]:
        """What a row is read from; weights last where rows are a source each."""
        found = tuple(column.of for column in self.columns if column.of is not None)
        return (*found, self.key[0].class_.weights_ppm) if self.columns[-2:] == _WEIGHTS else found

    @property
    def shown(self) -> tuple[Column, ...]:
        """The columns of the file."""
        return (*OF_ATTEMPT, *self.columns) if self.by_attempt else self.columns


_WEIGHTS = (Column("source", "text"), Column("weight_ppm", "integer"))
OF_ATTEMPT = (Column("attempt_number", "integer"), Column("attempt", "text"))


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _by_source(position: int) -> _Expand:
    """Rows with weights at ``position``, as a row for each source: its name and its weight, last."""

    def expand(row: Row) -> Iterator[Row]:
        weights: Any = row[position]
        for source, ppm in weights.items():
            yield (*row[:position], *row[position + 1 :], source, ppm)

    return expand


def _with_json(*positions: int) -> _Expand:
    def expand(row: Row) -> Iterator[Row]:
        yield tuple(_json(value) if place in positions else value for place, value in enumerate(row))

    return expand


_WAITS = ("wait_p50_ms", "wait_p99_ms", "wait_max_ms", "wait_share")


def _plain(table: Any, kinds: Mapping[str, Kind], names: Mapping[str, str] | None = None) -> tuple[Column, ...]:
    """Columns of a table, times and counts named with their unit."""
    renamed = names or {}
    found = []
    for name, kind in kinds.items():
        shown = renamed.get(name, f"{name}_utc" if kind == "time" else name)
        found.append(Column(shown, kind, getattr(table, name)))
    return tuple(found)


def _rolled(metric: str, unit: str = "") -> tuple[Column, ...]:
    return tuple(
        Column(f"{metric}{unit}_{of}", "number", getattr(models.JobRollup, f"{metric}_{of}"))
        for of in ("min", "max", "mean", "last")
    )


_COUNTED = {"queue_depth": "queue_depth_batches", "dropped": "dropped_reports"}

_REPORTS = Dataset(
    columns=_plain(
        models.RankReport,
        {
            "time": "time",
            "received_at": "time",
            "rank": "integer",
            "seq": "integer",
            "interval_s": "number",
            "step": "integer",
            "steps": "integer",
            "tokens": "integer",
            "total_tokens": "integer",
            **dict.fromkeys(_WAITS, "number"),
            "queue_depth": "number",
            "rss_bytes": "integer",
            "bytes_read": "integer",
            "dropped": "integer",
            "mix_version": "integer",
            "mix_revision": "text",
        },
        _COUNTED,
    ),
    key=(models.RankReport.rank, models.RankReport.seq),
    owner=models.RankReport.attempt_id,
    time=models.RankReport.time,
    by_attempt=True,
)

_RANKS = Dataset(
    columns=(
        *_plain(
            models.RankState,
            {
                "rank": "integer",
                "dp_rank": "integer",
                "local_rank": "integer",
                "host": "text",
                "time": "time",
                "received_at": "time",
                "advanced_at": "time",
                "step": "integer",
                "total_tokens": "integer",
                "tokens_per_s": "number",
                **dict.fromkeys(_WAITS, "number"),
                "queue_depth": "number",
                "rss_bytes": "integer",
                "bytes_read": "integer",
                "dropped": "integer",
                "masked_tokens": "integer",
                "mix_version": "integer",
                "mix_revision": "text",
            },
            _COUNTED,
        ),
        Column("sources_json", "text", models.RankState.sources),
    ),
    key=(models.RankState.rank,),
    owner=models.RankState.attempt_id,
    time=models.RankState.received_at,
    by_attempt=True,
    expand=_with_json(21),
)

_SERIES = Dataset(
    columns=(
        *_plain(
            models.JobRollup,
            {
                "minute": "time",
                "num_ranks": "integer",
                "num_reports": "integer",
                "step_first": "integer",
                "step": "integer",
            },
            {"step": "step_last"},
        ),
        *_rolled("tokens_per_s"),
        *(column for wait in _WAITS for column in _rolled(wait)),
        *_rolled("queue_depth", "_batches"),
        *_rolled("rss_bytes"),
    ),
    key=(models.JobRollup.minute,),
    owner=models.JobRollup.attempt_id,
    time=models.JobRollup.minute,
    by_attempt=True,
)

_SOURCES = Dataset(
    columns=(
        Column("minute_utc", "time", models.SourceRollup.minute),
        Column("source", "text", models.JobSource.name),
        *_plain(
            models.SourceRollup,
            {
                "step": "integer",
                "ordinal": "integer",
                "epoch": "integer",
                "target_ppm": "integer",
                "tokens": "integer",
                "loss_sum": "number",
                "loss_count": "integer",
                "loss_min": "number",
                "loss_max": "number",
                "loss_last": "number",
            },
            {"step": "step_last", "ordinal": "delivered_sequences"},
        ),
    ),
    key=(models.SourceRollup.minute, models.SourceRollup.source_id),
    owner=models.SourceRollup.attempt_id,
    time=models.SourceRollup.minute,
    by_attempt=True,
    joined=(models.JobSource, models.JobSource.id == models.SourceRollup.source_id),
)

_MIX = Dataset(
    columns=(
        *_plain(
            models.MixVersion,
            {
                "version": "integer",
                "created_at": "time",
                "author": "text",
                "reason": "text",
                "origin": "text",
                "parent": "integer",
                "reverts": "integer",
                "from_step": "integer",
                "ramp_steps": "integer",
                "seen_at": "time",
                "agreed_step": "integer",
                "agreed_at": "time",
                "applied_at": "time",
                "superseded_at": "time",
            },
        ),
        *_WEIGHTS,
    ),
    key=(models.MixVersion.version,),
    owner=models.MixVersion.job_id,
    time=models.MixVersion.created_at,
    expand=_by_source(14),
)

_ACTIVATIONS = Dataset(
    columns=(
        Column("attempt_number", "integer", models.Attempt.number),
        *_plain(
            models.MixActivation,
            {
                "step": "integer",
                "version": "integer",
                "revision": "text",
                "lineage": "text",
                "ramp_steps": "integer",
                "at": "time",
                "reason": "text",
            },
        ),
        *_WEIGHTS,
    ),
    key=(models.MixActivation.id,),
    owner=models.MixActivation.job_id,
    time=models.MixActivation.at,
    joined=(models.Attempt, models.Attempt.id == models.MixActivation.attempt_id),
    expand=_by_source(8),
)

_ATTEMPTS = Dataset(
    columns=_plain(
        models.Attempt,
        {
            "number": "integer",
            "uuid": "text",
            "state": "text",
            "state_reason": "text",
            "started_at": "time",
            "ended_at": "time",
            "world_size": "integer",
            "dp_size": "integer",
            "resumed_from_step": "integer",
            "lineage": "text",
            "parent_lineage": "text",
            "loader_version": "text",
            "hostname": "text",
        },
        {"number": "attempt_number", "uuid": "attempt"},
    ),
    key=(models.Attempt.number,),
    owner=models.Attempt.job_id,
    time=models.Attempt.started_at,
)

_AUDIT = Dataset(
    columns=(
        *_plain(
            models.AuditEvent,
            {"id": "integer", "at": "time", "actor": "text", "action": "text", "reason": "text", "request_id": "text"},
        ),
        Column("before_json", "text", models.AuditEvent.before),
        Column("after_json", "text", models.AuditEvent.after),
    ),
    key=(models.AuditEvent.id,),
    owner=models.AuditEvent.job_id,
    time=models.AuditEvent.at,
    expand=_with_json(6, 7),
)

DATASETS: dict[What, Dataset] = {
    "reports": _REPORTS,
    "ranks": _RANKS,
    "series": _SERIES,
    "sources": _SOURCES,
    "mix": _MIX,
    "activations": _ACTIVATIONS,
    "attempts": _ATTEMPTS,
    "audit": _AUDIT,
}


def cell(kind: Kind, value: Any) -> Cell:
    """A value as a file takes it: ids as text, times as Unix seconds, numbers as they are."""
    if value is None or kind in ("integer", "number"):
        found: Cell = value
        return found
    return float(value) if kind == "time" else str(value)

"""From a body to rows: parsing, validating each record on its own, and what a batch adds to the history. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pydantic_core
from pydantic import ValidationError

from ..errors import InvalidError, MalformedBodyError
from ..problems import shown_value
from .schemas import RECORD, WHOLE_BATCH, Record, RejectedRecord

REPORT_COLUMNS = [
    "rank",
    "seq",
    "time",
    "interval_s",
    "step",
    "steps",
    "tokens",
    "total_tokens",
    "wait_p50_ms",
    "wait_p99_ms",
    "wait_max_ms",
    "wait_share",
    "queue_depth",
    "rss_bytes",
    "bytes_read",
    "dropped",
    "mix_version",
    "mix_revision",
]
_STATE = [
    "rank",
    "seq",
    "time",
    "step",
    "total_tokens",
    "interval_s",
    "wait_p50_ms",
    "wait_p99_ms",
    "wait_max_ms",
    "wait_share",
    "queue_depth",
    "rss_bytes",
    "bytes_read",
    "dropped",
    "host",
    "local_rank",
    "dp_rank",
    "mix_version",
    "mix_revision",
]
_CURSOR = ("name", "ordinal", "epoch", "file", "row")
Row = dict[str, Any]
# A rate over less than this says nothing (seconds).
MIN_INTERVAL_S = 0.001
# Rollups are by the minute (seconds).
MINUTE_S = 60


@dataclass(frozen=True)
class ParsedBatch:
    """The envelope of a batch; ``checked`` says whether its records are known to be right in themselves."""

    attempt: UUID
    records: list[Any]
    checked: bool = False


def _parse_json(body: bytes) -> Any:
    try:
        return pydantic_core.from_json(body)
    except ValueError:
        # Lone surrogates (undecodable file names) are legal JSON that only the slow parser takes; the record that
        # holds one is then rejected alone.
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise MalformedBodyError(f"the body is not valid JSON: {error}") from error


def parse_batch(body: bytes, max_records: int) -> ParsedBatch:
    """Read the envelope. Raises MalformedBodyError, or InvalidError when it isn't {attempt, records}."""
    try:
        whole = WHOLE_BATCH.validate_json(body)
    except ValueError:
        return _parse_apart(body, max_records)
    _refuse_too_many(whole["records"], max_records)
    return ParsedBatch(attempt=whole["attempt"], records=whole["records"], checked=True)


def _refuse_too_many(records: Sequence[object], max_records: int) -> None:
    if len(records) > max_records:
        raise InvalidError(f"the batch has {len(records)} records; at most {max_records} are taken")


def _parse_apart(body: bytes, max_records: int) -> ParsedBatch:
    batch = _parse_json(body)
    if not isinstance(batch, dict) or not isinstance(batch.get("records"), list):
        raise InvalidError("the body must be an object {attempt: uuid, records: [...]}")
    try:
        attempt = UUID(batch["attempt"])
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        value = shown_value(batch.get("attempt"))
        item = {"loc": ["body", "attempt"], "msg": "must be a UUID", "value": value}
        raise InvalidError(f"attempt is {value!r}; it must be a UUID", errors=[item]) from error  # type: ignore[list-item]
    _refuse_too_many(batch["records"], max_records)
    return ParsedBatch(attempt=attempt, records=batch["records"])


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "record"
    return f"{where}: {first['msg']} (got {shown_value(first.get('input'))!r})".encode("utf-8", "replace").decode()


def check_records(
    batch: ParsedBatch, source_ids: Mapping[str, int], world_size: int
) -> tuple[list[Record], list[RejectedRecord]]:
    """Split a batch into good records and rejected ones, each with its index and reason."""
    good: list[Record] = []
    rejected: list[RejectedRecord] = []
    for index, raw in enumerate(batch.records):
        try:
            record: Record = raw if batch.checked else RECORD.validate_python(raw)
        except ValidationError as error:
            rejected.append(RejectedRecord(index=index, code="invalid", detail=_first_fault(error)))
            continue
        unknown = next((s["name"] for s in record["sources"] if s["name"] not in source_ids), None)
        if unknown is not None:
            detail = f"unknown source {shown_value(unknown)!r}; the job has {sorted(source_ids)[:20]}"
            rejected.append(RejectedRecord(index=index, code="unknown_source", detail=detail))
        elif record["rank"] >= world_size:
            detail = f"rank {record['rank']} is outside the attempt's world size {world_size}"
            rejected.append(RejectedRecord(index=index, code="rank_out_of_range", detail=detail))
        else:
            good.append(record)
    return good, rejected


def once_each(records: Sequence[Record]) -> list[Record]:
    """The first record of each identity, in the order of the key, so that concurrent writers lock in one order."""
    found: dict[tuple[int, int], Record] = {}
    for record in records:
        found.setdefault((record["rank"], record["seq"]), record)
    return [found[identity] for identity in sorted(found)]


def those_of(records: Sequence[Record], identities: set[tuple[int, int]]) -> list[Record]:
    """The records with these identities."""
    if len(identities) == len(records):
        return list(records)
    return [record for record in records if (record["rank"], record["seq"]) in identities]


def report_columns(records: Sequence[Record]) -> list[list[Any]]:
    """The records column by column, as REPORT_COLUMNS names them."""
    return [[record[name] for record in records] for name in REPORT_COLUMNS]  # type: ignore[literal-required]


def minutes_touched(records: Sequence[Record]) -> list[int]:
    """The minutes (Unix seconds) whose rollups these records may change.

    A source's history has the time of the first rank that reported the step: up to an interval away from the others'.
    """
    found: set[int] = set()
    for record in records:
        time, reach_s = record["time"], min(record["interval_s"], MINUTE_S)
        found.update((int(time // MINUTE_S), int((time - reach_s) // MINUTE_S), int((time + reach_s) // MINUTE_S)))
    return [MINUTE_S * minute for minute in sorted(found)]


def state_rows(records: Sequence[Record], attempt_id: int, now: float) -> list[Row]:
    """The newest record of each rank as a row of the latest state."""
    newest: dict[int, Record] = {}
    for record in records:
        held = newest.get(record["rank"])
        if held is None or record["seq"] > held["seq"]:
            newest[record["rank"]] = record
    rows: list[Row] = []
    for rank in sorted(newest):
        record = newest[rank]
        row: Row = {name: record[name] for name in _STATE}  # type: ignore[literal-required]
        interval_s = record["interval_s"]
        row["tokens_per_s"] = record["tokens"] / interval_s if interval_s >= MIN_INTERVAL_S else 0.0
        row["sources"] = [{name: source[name] for name in _CURSOR} for source in record["sources"]]  # type: ignore[literal-required]
        row["masked_tokens"], row["masked_at"] = record.get("masked_tokens", 0), record.get("masked_at")
        row.update(attempt_id=attempt_id, received_at=now, advanced_at=now)
        rows.append(row)
    return rows


def progress_rows(records: Sequence[Record], attempt_id: int, source_ids: Mapping[str, int]) -> list[Row]:
    """What the records add to the per-source history: one row for each (step, source), losses and tokens summed."""
    rows: dict[tuple[int, int], Row] = {}
    for record in records:
        for source in record["sources"]:
            key = (record["step"], source_ids[source["name"]])
            row = rows.get(key)
            if row is None:
                rows[key] = {
                    "attempt_id": attempt_id,
                    "step": key[0],
                    "source_id": key[1],
                    "time": record["time"],
                    "ordinal": source["ordinal"],
                    "epoch": source["epoch"],
                    "target_ppm": source["target_ppm"],
                    "tokens": source["tokens"],
                    "loss_sum": source["loss_sum"],
                    "loss_count": source["loss_count"],
                }
            else:
                row["tokens"] += source["tokens"]
                row["loss_sum"] += source["loss_sum"]
                row["loss_count"] += source["loss_count"]
    return [rows[key] for key in sorted(rows)]

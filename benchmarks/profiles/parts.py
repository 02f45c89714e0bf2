"""The parts of each work, by words of the frames that they run in; compiled functions have none, but a line that calls.

A stack belongs to the first part that names one of its.
"""

from __future__ import annotations

from benchmarks.profiles.sampler import Part

_LOADER = (
    Part("write ids, labels, positions (compiled)", ("= write_spans(", "= sequence_bounds(")),
    Part("decode Parquet (pyarrow)", ("formats/parquet.py",)),
    Part("read objects (pyarrow)", ("places/remote.py", "places/filesystem.py", "formats/remote.py")),
    Part("plan the step", ("plan_step (",)),
    Part("order: where sequences lie", ("order.py", "permute.py", "rest.py")),
    Part("open blocks, order documents", ("reader.py", "order_documents (", "formats/", "ahead.py", "fetching.py")),
    Part("spans to rows of the kernel", ("pieces.py",)),
    Part("tensors and batches", ("assemble.py", "batch.py")),
    Part("stream, hand over", ("stream.py", "prefetch.py", "run.py", "loader.py")),
)
_SERVER = (
    Part("parse and check (pydantic)", ("parse_batch (",)),
    Part("rows of a batch", ("ingest/records.py",)),
    Part("SQLite, in its thread", ("aiosqlite/core.py", "sqlalchemy_adapter")),
    Part("statement: reports", ("insert_reports (",)),
    Part("statement: progress of sources", ("add_progress (",)),
    Part("statement: states of ranks", ("upsert_states (",)),
    Part(
        "statement: due rollups, mix, attempt",
        ("add_due (", "note_reports (", "target_of (", "find_job (", "sources ("),
    ),
    Part("begin and commit", ("commit (", "_committed (", "before_commit")),
    Part("authentication", ("_check (headrace_server/middleware/authentication.py",)),
    Part(
        "rollups and other work of the server itself",
        ("rollups/", "alerts/", "events/", "changes/", "ingest/uptime.py"),
    ),
    Part("routing (FastAPI, Starlette)", ("fastapi/", "starlette/", "middleware/")),
    Part("SQLAlchemy, for all statements", ("sqlalchemy/",)),
    Part("event loop, HTTP, sockets (uvloop, uvicorn)", ("uvicorn/", "asyncio/", "uvloop/")),
)
_FIGURES = (
    Part("draw (Plotly figure as data)", ("headrace_server/figures/",)),
    Part("read and reduce the series", ("headrace_server/series/",)),
    Part("validate and encode the reply", ("serialize_response", "pydantic/", "json")),
)
_REPORTER = (
    Part("training loop: hand over a step", ("step_ended (",)),
    Part("add up an interval", ("interval.py",)),
    Part("make and encode a report", ("_report (",)),
    Part("write the spool", ("spool_writer.py", "spool.py")),
    Part("send: HTTP", ("client.py", "httpx", "httpcore")),
    Part("drain, retries", ("drain.py", "backlog.py", "registrar.py")),
    Part("listen for a new mix", ("mix_feed.py",)),
    Part("the thread itself", ("reporter.py",)),
    Part("the service that answers, in this process", ("tests/loader/telemetry/services.py", "telemetry/services.py")),
)

PARTS: dict[str, tuple[Part, ...]] = {
    "steady": _LOADER,
    "parquet": _LOADER,
    "s3": _LOADER,
    "planner": (
        Part("choose sources (compiled)", ("assign_steps(", "assign_capped(weights")),
        Part("lanes of ordinals", ("lanes_of (",)),
        Part("numbers, sort, position", ("plan_step (",)),
    ),
    "reporter": _REPORTER,
    "ingest_sqlite": _SERVER,
    "ingest_postgresql": _SERVER,
    "figures": (*_FIGURES, *_SERVER),
}
ON_SERVER = ("ingest_sqlite", "ingest_postgresql", "figures")
"works of which the server's process is looked at, not that which asks"

"""OpenTelemetry traces over OTLP/HTTP, where the standard OTEL_* variables ask for them.

A request is a span by its route, its statements are spans in it by what they do to which table. No span holds a path,
a query, a header, a body, a statement or a value, only names and the request's id. Needs ``headrace-server[otel]``.
"""

import os
import re
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import __version__
from .errors import StartRefusedError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
# At the end, what is not sent yet gets this long.
_FLUSH_S = 2.0
_VERB = re.compile(r"\s*(\w+)")
_TABLE = re.compile(r"\b(?:FROM|INTO|UPDATE)\s+\"?(\w+)", re.IGNORECASE)
_SPANS = "headrace_spans"


def wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment asks for traces. Raises StartRefusedError for what can't be done."""
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true" or exporter == "none":
        return False
    if exporter not in ("", "otlp"):
        raise StartRefusedError(f"OTEL_TRACES_EXPORTER is {exporter!r}; this server sends traces by otlp, or none")
    if not exporter and not any(environ.get(name, "").strip() for name in _ENDPOINTS):
        return False
    protocol = next((environ[name].strip() for name in _PROTOCOLS if environ.get(name, "").strip()), "http/protobuf")
    if protocol != "http/protobuf":
        raise StartRefusedError(f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol!r}; this server speaks http/protobuf")
    return True


def _provider() -> "TracerProvider":
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as error:
        raise StartRefusedError(
            "the environment asks for traces (OTEL_…), but OpenTelemetry is not installed here: "
            "pip install 'headrace-server[otel]', or set OTEL_SDK_DISABLED=true"
        ) from error
    named = {"service.name": os.environ.get("OTEL_SERVICE_NAME") or "headrace-server", "service.version": __version__}
    provider = TracerProvider(resource=Resource.create(named), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def refuse_unusable() -> None:
    """Raise StartRefusedError where traces are asked for and can't be had: before anything is bound."""
    if wanted():
        _provider().shutdown()


def traced(app: ASGIApp, engine: AsyncEngine) -> ASGIApp:
    """The app, with traces where the environment asks for them; itself where not."""
    return Traced(app, engine, _provider()) if wanted() else app


class Traced:
    """A span a request, and in it one a statement."""

    def __init__(self, app: ASGIApp, engine: AsyncEngine, provider: "TracerProvider") -> None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

        self.app = app
        self._provider = provider
        self._tracer = provider.get_tracer("headrace_server", __version__)
        self._propagator = TraceContextTextMapPropagator()
        _trace_statements(engine, self._tracer)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, or the whole life of the server."""
        if scope["type"] == "http":
            await self._request(scope, receive, send)
            return
        try:
            await self.app(scope, receive, send)
        finally:
            self._flush()

    def _flush(self) -> None:
        # A collector that is away must not keep the server from stopping.
        ending = threading.Thread(target=self._provider.shutdown, daemon=True)
        ending.start()
        ending.join(_FLUSH_S)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        from opentelemetry import trace  # noqa: PLC0415

        headers = Headers(scope=scope)
        carrier = {name: headers[name] for name in ("traceparent", "tracestate") if name in headers}
        status = 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        state = scope.setdefault("state", {})
        with self._tracer.start_as_current_span(
            scope["method"],
            self._propagator.extract(carrier),
            trace.SpanKind.SERVER,
            {"http.request.method": scope["method"], "url.scheme": scope["scheme"]},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                await self.app(scope, receive, noting)
            except Exception as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(trace.StatusCode.ERROR)
                raise
            finally:
                _describe(span, scope["method"], state, status)


def _describe(span: "Span", method: str, state: Mapping[str, Any], status: int) -> None:
    from opentelemetry import trace  # noqa: PLC0415

    route = state.get("route")
    if route is not None:
        span.update_name(f"{method} {route}")
        span.set_attribute("http.route", route)
    span.set_attribute("headrace.request_id", state.get("request_id", ""))
    if status:
        span.set_attribute("http.response.status_code", status)
    if status >= 500:
        span.set_attribute("error.type", str(status))
        span.set_status(trace.StatusCode.ERROR)


def summary(statement: str) -> tuple[str, str]:
    """What a statement does, and to which table (empty where it isn't plain)."""
    verb, table = _VERB.match(statement), _TABLE.search(statement)
    return ("" if verb is None else verb[1].upper(), "" if table is None else table[1])


def _trace_statements(engine: AsyncEngine, tracer: "Tracer") -> None:
    from opentelemetry import trace  # noqa: PLC0415

    system = {"sqlite": "sqlite"}.get(engine.dialect.name, "postgresql")

    def begin(connection: sa.Connection, _cursor: Any, statement: str, *_: Any) -> None:
        held = connection.info.setdefault(_SPANS, [])
        if not trace.get_current_span().is_recording():
            held.append(None)  # not of a request
            return
        verb, table = summary(statement)
        attributes = {"db.system.name": system, "db.operation.name": verb, "db.collection.name": table}
        held.append(
            tracer.start_span(
                f"{verb} {table}".strip(),
                kind=trace.SpanKind.CLIENT,
                attributes={name: value for name, value in attributes.items() if value},
            )
        )

    def end(connection: sa.Connection, *_: Any) -> None:
        span = connection.info[_SPANS].pop()
        if span is not None:
            span.end()

    def fail(context: sa.engine.ExceptionContext) -> None:
        held = [] if context.connection is None else context.connection.info.get(_SPANS, [])
        span = held.pop() if held else None
        if span is not None:
            span.set_attribute("error.type", type(context.original_exception).__name__)
            span.set_status(trace.StatusCode.ERROR)
            span.end()

    sa.event.listen(engine.sync_engine, "before_cursor_execute", begin)
    sa.event.listen(engine.sync_engine, "after_cursor_execute", end)
    sa.event.listen(engine.sync_engine, "handle_error", fail)

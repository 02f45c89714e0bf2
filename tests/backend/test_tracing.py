"""Traces, sent by a real server to a collector on loopback, as the standard variables say."""

import gzip
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from headrace_server import tracing
from headrace_server.errors import StartRefusedError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.backend.builders import job_body
from tests.backend.process import command, new_key, serving

SECRET = "secret-in-a-query"
CALLER = "4bf92f3577b34da6a3ce929d0e0e4736"


class Collector(ThreadingHTTPServer):
    """Keeps what is posted to it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.bodies: list[bytes] = []
        self.paths: set[str] = set()

    @property
    def spans(self) -> list[Any]:
        """Every span, in the order they came."""
        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        return [s for r in requests for rs in r.resource_spans for ss in rs.scope_spans for s in ss.spans]


class _Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.bodies.append(gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body)
        self.server.paths.add(self.path)
        assert self.headers["content-type"] == "application/x-protobuf"
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with Collector() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.05,))
        thread.start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{running.server_port}")
        yield running
        running.shutdown()
        thread.join()


def values(span: Any) -> dict[str, Any]:
    return {pair.key: pair.value.string_value or pair.value.int_value for pair in span.attributes}


def test_a_request_and_its_statements_are_spans_without_values(tmp_path: Path, collector: Collector) -> None:
    with serving(tmp_path) as server:
        key = new_key(tmp_path)
        headers = {"Authorization": f"Bearer {key}", "traceparent": f"00-{CALLER}-00f067aa0ba902b7-01"}
        with httpx.Client(base_url=f"{server.url}/api/v1", headers=headers, trust_env=False, timeout=30) as http:
            job = http.post("projects/default/jobs", json=job_body("a-name-nobody-should-read")).json()["id"]
            found = http.get(f"jobs/{job}", params={"x": SECRET})
            missing = http.get("jobs/nothing")
            http.get("no/such/route")
        assert server.stop() < 10
    assert collector.paths == {"/v1/traces"}
    spans = collector.spans
    requests = {values(s)["headrace.request_id"]: s for s in spans if s.kind == s.SPAN_KIND_SERVER}
    got = requests[found.headers["x-request-id"]]
    assert got.name == "GET /api/v1/jobs/{job}"
    assert got.trace_id.hex() == CALLER
    about = values(got)
    assert about["http.route"] == "/api/v1/jobs/{job}"
    assert about["http.response.status_code"] == 200
    assert values(requests[missing.headers["x-request-id"]])["http.response.status_code"] == 404
    assert {s.name for s in requests.values()} >= {"POST /api/v1/projects/{project}/jobs", "GET"}
    statements = [s for s in spans if s.parent_span_id == got.span_id]
    assert {"SELECT job"} <= {s.name for s in statements}
    assert all(values(s)["db.system.name"] == "sqlite" for s in statements)
    assert all(s.end_time_unix_nano >= s.start_time_unix_nano > 0 for s in spans)
    everything = b"".join(collector.bodies)
    assert b"headrace-server" in everything
    for hidden in (key, SECRET, job, "a-name-nobody-should-read", "traceparent"):
        assert hidden.encode() not in everything


def test_a_collector_that_is_away_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    with serving(tmp_path) as server:
        for _ in range(5):
            assert httpx.get(f"{server.url}/healthz", trust_env=False).status_code == 200
        assert server.stop() < 10


def test_traces_without_the_package_are_refused_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As where only opentelemetry-api is there, which other packages bring.
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text("import sys\nsys.modules['opentelemetry.sdk'] = None\n")
    monkeypatch.setenv("PYTHONPATH", f"{hidden}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    refused = command(tmp_path, "serve", "--port", "0")
    assert refused.returncode == 1
    assert "pip install 'headrace-server[otel]'" in refused.stderr and "Traceback" not in refused.stderr
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with serving(tmp_path) as server:
        assert server.ready["url"]


def test_only_the_standard_variables_turn_it_on() -> None:
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
    assert not tracing.wanted({})
    assert tracing.wanted(endpoint)
    assert tracing.wanted({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"})
    assert tracing.wanted({"OTEL_TRACES_EXPORTER": "otlp"})
    assert not tracing.wanted({**endpoint, "OTEL_SDK_DISABLED": "TRUE"})
    assert not tracing.wanted({**endpoint, "OTEL_TRACES_EXPORTER": "none"})
    for wrong in ({"OTEL_TRACES_EXPORTER": "zipkin"}, {**endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}):
        with pytest.raises(StartRefusedError, match="this server"):
            tracing.wanted(wrong)


def test_a_statement_is_told_by_what_it_does() -> None:
    for statement, told in (
        ("SELECT job.id FROM job WHERE job.id = ?", ("SELECT", "job")),
        ("INSERT INTO rank_report (a) VALUES ($1)", ("INSERT", "rank_report")),
        ('UPDATE "user" SET x = 1', ("UPDATE", "user")),
        ("  BEGIN IMMEDIATE", ("BEGIN", "")),
        ("", ("", "")),
    ):
        assert tracing.summary(statement) == told

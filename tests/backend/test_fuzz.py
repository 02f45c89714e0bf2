"""Every operation of the API, with whatever its own description allows and with what it doesn't: never a 5xx.

The requests are made by schemathesis from the description that the server serves, and sent to a real server by somebody
who may do everything, half of them about records that exist. Each reply must be as described.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis.core.failures import FailureGroup
from schemathesis.core.transport import Response
from schemathesis.generation import GenerationMode

from tests.backend.builders import attempt_body, job_body, record
from tests.backend.conftest import DATABASES
from tests.backend.postgres import PostgresServer
from tests.backend.process import command, new_key, serving

EXAMPLES = 4
"of each operation and kind of request"
PASSWORD = "correct horse battery staple"
ENDING = {("DELETE", "/api/v1/session"), ("DELETE", "/api/v1/me/sessions")}
"what ends the session that the others need"


@dataclass
class Target:
    """A running server with a job in it, and a person who may do everything."""

    url: str
    known: dict[str, str]
    "path parameters of what exists"

    def sign_in(self) -> requests.Session:
        """A new session, CSRF token included."""
        session = requests.Session()
        reply = session.post(f"{self.url}/api/v1/session", json={"username": "root", "password": PASSWORD})
        assert reply.status_code == 200, reply.text
        session.headers["X-CSRF-Token"] = reply.json()["csrf_token"]
        return session


def populate(client: httpx.Client) -> dict[str, str]:
    """A job with an attempt, reports and versions."""
    made = client.post("/projects/default/jobs", json=job_body())
    assert made.status_code == 200, made.text
    job = made.json()["id"]
    attempt = attempt_body(2)
    assert client.post(f"/jobs/{job}/attempts", json=attempt).status_code == 200
    records = [record(rank, seq, 5 * seq) for rank in range(2) for seq in range(3)]
    assert client.post(f"/jobs/{job}/reports", json={"attempt": attempt["id"], "records": records}).status_code == 202
    edit = {"weights": {"web": 1, "code": 1, "legal": 1}, "reason": "more code"}
    assert client.put(f"/jobs/{job}/mix", json=edit, headers={"If-Match": '"v1"'}).status_code == 200
    return {
        "project": "default",
        "job": job,
        "attempt": attempt["id"],
        "version": "1",
        "name": "mix",
        "username": "bob",
    }


@pytest.fixture(scope="module", params=DATABASES)
def target(
    request: pytest.FixtureRequest, postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Target]:
    folder = tmp_path_factory.mktemp("fuzz")
    # Wrong passwords must not keep the next operation from signing in.
    chosen: dict[str, str] = {"max_reports_per_s": "100000", "login_failures": "100000"}
    with ExitStack() as stack:
        if request.param == "postgresql":
            name = postgres.create()
            stack.callback(postgres.drop, name)
            chosen["database_url"] = postgres.uri_of(name)
            assert command(folder, "migrate", **chosen).returncode == 0
        for user in (("root", "--admin"), ("bob", "--role", "viewer")):
            added = command(folder, "user", "create", *user, "--password-stdin", stdin=PASSWORD, **chosen)
            assert added.returncode == 0, added.stderr
        server = stack.enter_context(serving(folder, **chosen))
        headers = {"Authorization": f"Bearer {new_key(folder, **chosen)}"}
        with httpx.Client(base_url=f"{server.url}/api/v1", headers=headers, timeout=60) as client:
            known = populate(client)
        yield Target(server.url, known)
        assert server.process.poll() is None, server.log
        assert "Traceback" not in server.log, server.log[-4000:]


def send(session: requests.Session, target: Target, case: Any) -> requests.Response:
    """Send a request; a stream is left once it has begun."""
    made = case.as_transport_kwargs(base_url=target.url)
    made["headers"] = {**dict(made.get("headers") or {}), **{k: str(v) for k, v in session.headers.items()}}
    made.pop("cookies", None)
    reply = session.request(**made, stream=True, timeout=60, allow_redirects=False)
    if reply.headers.get("content-type", "").startswith("text/event-stream"):
        reply.close()
    else:
        _ = reply.content
    return reply


def check(case: Any, reply: requests.Response) -> None:
    """No failure of the server, and a problem or a reply as the description has it."""
    shown = (
        f"{reply.request.method} {reply.request.url} {reply.request.body!r} → {reply.status_code} {reply.text[:500]}"
    )
    assert reply.status_code < 500 or case.operation.path == "/readyz", shown
    if reply.status_code >= 400:
        assert reply.headers["content-type"] == "application/problem+json", shown
        assert {"type", "title", "status", "detail", "code", "request_id"} <= set(reply.json()), shown
    try:
        case.validate_response(
            Response.from_requests(reply, True),
            checks=[schemathesis.checks.not_a_server_error, schemathesis.checks.response_schema_conformance],
        )
    except FailureGroup as group:
        raise AssertionError(f"{shown}\n{[str(one) for one in group.exceptions]}") from group


def drive(operation: Any, mode: GenerationMode, target: Target, session: requests.Session) -> Counter[str]:
    """Send requests of one operation; how many were answered with 2xx, 4xx and so on."""
    answers = Counter[str]()

    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck), derandomize=True
    )
    @given(case=operation.as_strategy(generation_mode=mode), real=st.sampled_from((True, True, True, False)))
    def run(case: Any, real: bool) -> None:
        if real:
            named = case.path_parameters or {}
            case.path_parameters = {name: target.known.get(name, str(uuid.uuid4())) for name in named}
        reply = send(session, target, case)
        check(case, reply)
        answers[f"{reply.status_code // 100}xx"] += 1

    with suppress(Unsatisfiable):  # nothing that it takes can be wrong
        run()
    assert session.get(f"{target.url}/api/v1/session").status_code == 200, f"{operation.label} ended the session"
    restored = session.patch(f"{target.url}/api/v1/projects/default", json={"archived": False})
    assert restored.status_code == 200, "an archived project would take no more changes"
    return answers


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["allowed", "not allowed"])
def test_no_request_makes_the_server_fail(target: Target, mode: GenerationMode) -> None:
    session = target.sign_in()
    described = session.get(f"{target.url}/openapi.json").json()
    schema = schemathesis.openapi.from_dict(described)
    operations = [found.ok() for found in schema.get_all_operations()]
    answers = Counter[str]()
    for operation in operations:
        if (operation.method.upper(), operation.path) not in ENDING:
            answers += drive(operation, mode, target, session)
    print(json.dumps({"mode": mode.value, "operations": len(operations), **answers}))
    assert answers.total() > 2 * len(operations)
    if mode is GenerationMode.POSITIVE:
        assert answers["2xx"] > len(operations) / 2, "most requests came to nothing"

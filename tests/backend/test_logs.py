"""The log for machines: a JSON object a line, with what a request was and no secret (case A04)."""

import json
import logging
import sys
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from headrace_server.logs import JsonLines
from headrace_server.settings import Settings

from tests.backend.builders import job_body
from tests.backend.process import new_key, serving
from tests.backend.world import World

SECRET = "hr_secret-in-a-query"


def test_every_line_is_json_with_the_route_and_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_LOG_FORMAT", "json")
    with serving(tmp_path, log_format="json") as server:
        key = new_key(tmp_path)
        with httpx.Client(base_url=f"{server.url}/api/v1", trust_env=False, timeout=30) as http:
            http.headers["Authorization"] = f"Bearer {key}"
            job = http.post("projects/default/jobs", json=job_body('quo"te\n'.strip())).json()["id"]
            answers = [
                http.get(f"jobs/{job}/series", params={"metric": "loss", "cursor": SECRET}),
                http.get("jobs/nothing"),
                http.get("no/such/route"),
                http.get("audit", headers={"Authorization": f"Bearer {SECRET}"}),
            ]
        server.stop()
        log = server.log
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    plain = [line for line in log.splitlines() if not line.startswith("{")]
    assert [line for line in plain if not line.startswith(("Headrace is at", "First start", "It is shown"))] == []
    said = {line.get("request_id"): line for line in lines if line["logger"] == "headrace_server.access"}
    routes = []
    for answer in answers:
        line = said[answer.headers["x-request-id"]]
        assert line["status"] == answer.status_code and line["method"] == "GET" and line["ms"] >= 0
        routes.append((line["route"], line["caller"]))
    assert routes == [
        ("/api/v1/jobs/{job}/series", "key:test"),
        ("/api/v1/jobs/{job}", "key:test"),
        (None, "key:test"),
        (None, None),
    ]
    created = next(line for line in lines if line.get("method") == "POST")
    assert (created["route"], created["status"]) == ("/api/v1/projects/{project}/jobs", 200), (
        "a body makes no difference"
    )
    for secret in (key, SECRET, server.ready["password"]):
        assert secret not in log.replace(f"with the password {server.ready['password']}", "")


def test_an_exception_is_one_line() -> None:
    try:
        int("two\nlines")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "went %s", ("wrong",), sys.exc_info())
    line = JsonLines().format(record)
    assert "\n" not in line
    found = json.loads(line)
    assert (found["level"], found["message"]) == ("error", "went wrong")
    assert found["exception"].splitlines()[-1].startswith("ValueError")


async def test_a_failed_statement_is_logged_without_its_values(world: World, caplog: pytest.LogCaptureFixture) -> None:
    async with world.runtime.database.engine.begin() as connection:
        await connection.execute(sa.text("ALTER TABLE job RENAME TO gone"))
    reply = await world.loader.post("/api/v1/projects/default/jobs", json=job_body("a-name-nobody-should-read"))
    assert reply.status_code == 500
    assert "Traceback" in caplog.text and reply.headers["x-request-id"] in caplog.text
    assert "a-name-nobody-should-read" not in caplog.text


def test_the_format_is_set_by_either_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings().log_format == "text"
    monkeypatch.setenv("HEADRACE_SERVER_LOG_FORMAT", "json")
    assert Settings().log_format == "json"
    monkeypatch.setenv("HEADRACE_LOG_FORMAT", "text")
    assert Settings().log_format == "text"
    assert Settings(log_format="json").log_format == "json"
    monkeypatch.setenv("HEADRACE_LOG_FORMAT", "xml")
    with pytest.raises(ValueError, match="xml"):
        Settings()

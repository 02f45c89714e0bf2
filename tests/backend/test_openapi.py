"""The API description is deterministic, complete, and the committed copy is fresh."""

import json
from pathlib import Path

import pytest
from headrace_server import cli
from headrace_server.app import build_app
from headrace_server.openapi import as_text
from headrace_server.settings import Settings

COMMITTED = Path(__file__).parents[2] / "frontend" / "src" / "api" / "openapi.json"


def text() -> str:
    return as_text(build_app(Settings(database_url="sqlite:////nowhere/never.db")))


def test_the_committed_description_is_what_the_server_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["openapi"]) == 0
    assert capsys.readouterr().out == COMMITTED.read_text(encoding="utf-8"), (
        "frontend/src/api/openapi.json is stale; run: headrace-server openapi --output frontend/src/api/openapi.json"
    )


def test_it_is_the_same_every_time(tmp_path: Path) -> None:
    assert text() == text()
    assert cli.main(["openapi", "--output", str(tmp_path / "api.json")]) == 0
    assert (tmp_path / "api.json").read_text(encoding="utf-8") == text()


def test_every_operation_has_a_name_a_summary_a_typed_reply_and_typed_problems() -> None:
    document = json.loads(text())
    names = []
    for path, methods in document["paths"].items():
        for operation in methods.values():
            names.append(operation["operationId"])
            assert operation["description"], path
            problem = operation["responses"]["default"]["content"]["application/problem+json"]["schema"]
            assert problem == {"$ref": "#/components/schemas/Problem"}
            for status, reply in operation["responses"].items():
                for media, content in reply.get("content", {}).items():
                    if media == "application/json":
                        assert content["schema"].get("$ref"), (path, status)
    assert len(names) == len(set(names))
    assert "HTTPValidationError" not in text()
    assert {"SnapshotEvent", "JobEvent", "MixEvent", "ActivationEvent"} <= document["components"]["schemas"].keys()


def test_every_reference_resolves() -> None:
    document = json.loads(text())
    schemas = document["components"]["schemas"]

    def walk(node: object) -> None:
        if isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str):
                assert reference.removeprefix("#/components/schemas/") in schemas
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(document)

"""The API description: deterministic, every error a problem document, every event payload typed."""

import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from . import __version__
from .events.schemas import EVENT_PAYLOADS
from .figures.canvas import plotlyjs_version
from .ingest.schemas import ReportBatchBody
from .middleware.authentication import COOKIE, is_public
from .problems import MEDIA_TYPE, Problem

_REF = "#/components/schemas/{model}"
# What FastAPI says about validation errors; ours are problems.
_FOREIGN = ("HTTPValidationError", "ValidationError")


def operation_id(route: APIRoute) -> str:
    """Operations are called what their functions are called."""
    return route.name


def _extra_schemas() -> dict[str, Any]:
    models: list[type[BaseModel]] = [*EVENT_PAYLOADS, ReportBatchBody, Problem]
    _, definitions = models_json_schema([(model, "serialization") for model in models], ref_template=_REF)
    schemas: dict[str, Any] = definitions["$defs"]
    return schemas


def _finish_operation(method: str, path: str, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    responses.pop("422", None)
    for status, response in responses.items():
        if status.startswith("4") and "application/json" in response.get("content", {}):
            response["content"] = {MEDIA_TYPE: response["content"]["application/json"]}
    problem = {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="Problem")}}}
    responses["default"] = {"description": "what went wrong, with a stable code", "content": problem}
    if is_public(method.upper(), path):
        operation["security"] = []


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of the app."""
    document = get_openapi(title="Headrace", version=__version__, summary=app.summary, routes=app.routes)
    # The dashboard's bundle is checked against this: figures are made for one plotly.js.
    document["info"]["x-plotlyjs-version"] = plotlyjs_version()
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in _FOREIGN:
        schemas.pop(name, None)
    for name, schema in _extra_schemas().items():
        schemas.setdefault(name, schema)
    components["schemas"] = dict(sorted(schemas.items()))
    components["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer"},
        "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
    }
    document["security"] = [{"key": []}, {"session": []}]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            _finish_operation(method, path, operation)
    return document


def as_text(app: FastAPI) -> str:
    """The document as committed: two-space indent, one trailing newline."""
    return json.dumps(app.openapi(), indent=2, ensure_ascii=False) + "\n"

"""The API description: deterministic, every error a problem document, every event payload typed."""

import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from . import __version__
from .auth.cookies import COOKIE
from .events.schemas import EVENT_PAYLOADS
from .figures.canvas import plotlyjs_version
from .ingest.schemas import ReportBatchBody
from .middleware.authentication import is_public
from .problems import MEDIA_TYPE, Problem
from .work import scopes_of

_REF = "#/components/schemas/{model}"
# What FastAPI says about validation errors; ours are problems.
_FOREIGN = ("HTTPValidationError", "ValidationError")


def operation_id(route: APIRoute) -> str:
    """Operations are called what their functions are called."""
    return route.name


def _declared(route: RouteContext) -> list[str]:
    path = route.path or ""
    if all(is_public(method, path) for method in route.methods or ()):
        return ["public"]
    dependencies = route.dependant.dependencies
    found = [scopes for dependency in dependencies if (scopes := scopes_of(dependency.call)) is not None]
    if len(found) != 1:
        raise AssertionError(f"{path} must say once who may call it: reading(…), writing(…) or calling(…)")
    return sorted(found[0])


def declared_scopes(app: FastAPI) -> dict[str, list[str]]:
    """By operation: the scopes of which its caller needs one, or ``public``.

    Raises AssertionError for a route that says nothing: what can't be described can't be shipped.
    """
    routes = iter_route_contexts(app.routes)
    return {route.name or "": _declared(route) for route in routes if isinstance(route.original_route, APIRoute)}


def _extra_schemas() -> dict[str, Any]:
    models: list[type[BaseModel]] = [*EVENT_PAYLOADS, ReportBatchBody, Problem]
    _, definitions = models_json_schema([(model, "serialization") for model in models], ref_template=_REF)
    schemas: dict[str, Any] = definitions["$defs"]
    return schemas


def _finish_operation(operation: dict[str, Any], scopes: list[str]) -> None:
    operation["x-headrace-scope"] = scopes
    responses = operation["responses"]
    responses.pop("422", None)
    for status, response in responses.items():
        if status.startswith("4") and "application/json" in response.get("content", {}):
            response["content"] = {MEDIA_TYPE: response["content"]["application/json"]}
    problem = {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="Problem")}}}
    responses["default"] = {"description": "what went wrong, with a stable code", "content": problem}
    if scopes == ["public"]:
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
    scopes = declared_scopes(app)
    for methods in document["paths"].values():
        for operation in methods.values():
            _finish_operation(operation, scopes[operation["operationId"]])
    return document


def as_text(app: FastAPI) -> str:
    """The document as committed: two-space indent, one trailing newline."""
    return json.dumps(app.openapi(), indent=2, ensure_ascii=False) + "\n"

"""Errors as RFC 9457 problem documents, never echoing a secret and always valid JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.responses import Response
from pydantic import ConfigDict, Field

from .errors import ErrorItem, HeadraceError, InvalidError, MalformedBodyError, NotFoundError
from .fields import Reply

MEDIA_TYPE = "application/problem+json"
# Where one of these is in a value's place, the value may be a secret; URLs of webhooks are.
_SECRET_WORDS = ("password", "key", "token", "url")
_MAX_VALUE_CHARS = 200


class ProblemItem(Reply):
    """One wrong value."""

    loc: list[str | int]
    msg: str
    value: Any = None


class Problem(Reply):
    """RFC 9457 with a stable ``code``."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[ProblemItem] = Field(default_factory=list)
    request_id: str


def shown_value(value: object) -> object:
    """The value as it may appear in an error: scalars only, finite, valid text, cut at 200 characters."""
    if value is None or isinstance(value, bool | int):
        return value if not isinstance(value, int) or abs(value) < 2**53 else str(value)[:_MAX_VALUE_CHARS]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return value[:_MAX_VALUE_CHARS].encode("utf-8", "replace").decode()
    return f"({type(value).__name__})"


def validation_items(errors: Sequence[Mapping[str, Any]]) -> list[ErrorItem]:
    """Pydantic's errors as items; the value is left out wherever it could be a secret."""
    items: list[ErrorItem] = []
    for error in errors:
        loc = [part if isinstance(part, int) else str(shown_value(str(part))) for part in error["loc"]]
        item: ErrorItem = {"loc": loc, "msg": error["msg"]}
        if error["type"] != "missing" and not any(word in str(loc).lower() for word in _SECRET_WORDS):
            item["value"] = shown_value(error.get("input"))
        items.append(item)
    return items


def invalid_request(errors: Sequence[Mapping[str, Any]]) -> HeadraceError:
    """The error for a request that doesn't match its schema; a wrong id in the path is simply not found."""
    items = validation_items(errors)
    if any(error["type"] == "json_invalid" for error in errors):
        return MalformedBodyError("the body is not valid JSON", errors=items)
    if any(error["loc"] and error["loc"][0] == "path" for error in errors):
        return NotFoundError("nothing with this id")
    where = ", ".join(".".join(map(str, item["loc"])) for item in items[:5])
    return InvalidError(f"{len(items)} value(s) refused: {where}; see errors", errors=items)


def problem_body(error: HeadraceError, request_id: str) -> bytes:
    """The problem document, as bytes."""
    document = {
        "type": f"urn:headrace:problem:{error.code}",
        "title": error.title,
        "status": error.status,
        "detail": error.detail,
        "code": error.code,
        "errors": error.errors,
        "request_id": request_id,
        **error.extra,
    }
    return json.dumps(document, allow_nan=False, default=str).encode("utf-8", "replace")


def problem_response(error: HeadraceError, request_id: str) -> Response:
    """The response an error becomes."""
    return Response(
        problem_body(error, request_id), status_code=error.status, media_type=MEDIA_TYPE, headers=error.headers
    )

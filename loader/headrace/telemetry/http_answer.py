"""What an HTTP response means: an answer about this very request, or a reason to try again later."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import httpx

from headrace.telemetry.failures import ServiceError

_MOST_BYTES = 4 << 20
_LONGEST_PAUSE_S = 300.0
_UNAUTHORISED_PAUSE_S = 60.0
_ABOUT_THE_REQUEST = (400, 404, 409, 413, 415, 422)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the service said: 200–299, 304, or one of 400, 404, 409, 413, 415, 422 about this very request."""

    status: int
    body: Mapping[str, object]
    "the JSON object; empty when there was none, which only 304 and 413 may lack"
    etag: str | None

    @property
    def ok(self) -> bool:
        """Whether the request was carried out, or nothing has changed since."""
        return self.status < 400

    @property
    def reason(self) -> str:
        """Status, code and detail on one short line, for people."""
        code, detail = self.body.get("code"), self.body.get("detail")
        return f"{self.status} {str(code or '')[:60]} {str(detail or '')[:300]}".strip()


def read_answer(response: httpx.Response, url: str) -> Answer:
    """Read a response to the end. Raises ServiceError for all that is no `Answer`, and for more than 4 MiB."""
    status, content = response.status_code, _bounded_body(response)
    body = _json_object(content)
    if status in (401, 403):
        raise ServiceError(
            "unauthorised",
            f"the control plane at {url} refuses this job's key ({status}): set HEADRACE_TOKEN to a key of the project"
            " with the scope 'ingest'",
            _UNAUTHORISED_PAUSE_S,
        )
    pause_s = retry_after_s(response.headers.get("Retry-After"))
    if status == 429 or (status == 503 and pause_s > 0):
        raise ServiceError("busy", f"the control plane at {url} asks to wait {pause_s:g} s ({status})", pause_s)
    if status >= 500:
        raise ServiceError("failing", f"the control plane at {url} fails ({status})", pause_s)
    has_body = body is not None and (200 <= status < 300 or status in _ABOUT_THE_REQUEST)
    if not has_body and status not in (304, 413):
        request = f"{response.request.method} {response.request.url.path}"
        what = f"{url} answers {request} with {status} and {len(content)} bytes that are not a control plane's"
        raise ServiceError("not headrace", f"{what}: check HEADRACE_URL", pause_s)
    return Answer(status, body or {}, response.headers.get("ETag"))


def retry_after_s(value: str | None) -> float:
    """Seconds from a Retry-After header (a number or a date), from 0 to 300; 0 for none or garbage."""
    if value is None:
        return 0.0
    try:
        seconds = float(value) if value.strip().isdigit() else parsedate_to_datetime(value).timestamp() - time.time()
    except (ValueError, OverflowError, TypeError):
        return 0.0
    return min(max(seconds, 0.0), _LONGEST_PAUSE_S)


def _bounded_body(response: httpx.Response) -> bytes:
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise ServiceError("not headrace", "the answer is compressed, which was not asked for: check HEADRACE_URL")
    content = bytearray()
    for chunk in response.iter_raw():
        content += chunk
        if len(content) > _MOST_BYTES:
            raise ServiceError("not headrace", f"the answer is longer than {_MOST_BYTES} bytes: check HEADRACE_URL")
    return bytes(content)


def _json_object(content: bytes) -> Mapping[str, object] | None:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None

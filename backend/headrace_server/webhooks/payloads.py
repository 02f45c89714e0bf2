"""The body of a request and its headers: signed JSON, or what Slack takes. Pure."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any, Literal

from .. import __version__

Format = Literal["json", "slack"]


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """``v1=`` and the HMAC-SHA256, in hex, of the timestamp (Unix seconds), a dot and the body."""
    signed = str(timestamp).encode() + b"." + body
    return "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def _slack(payload: Mapping[str, Any]) -> dict[str, Any]:
    # Escaped as Slack asks for: a job called "<!channel>" rings nobody's phone.
    text = str(payload["text"]).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"text": text, "unfurl_links": False, "unfurl_media": False}


def request_of(
    shape: Format, payload: Mapping[str, Any], kind: str, delivery: str, secret: str | None, now: float
) -> tuple[dict[str, str], bytes]:
    """Headers and body of a delivery, sent at ``now``; the body of a repeat is the same."""
    shown = _slack(payload) if shape == "slack" else dict(payload)
    body = json.dumps(shown, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    headers = {"Content-Type": "application/json", "User-Agent": f"headrace-server/{__version__}"}
    if shape == "json":
        timestamp = int(now)
        headers |= {
            "X-Headrace-Event": kind,
            "X-Headrace-Delivery": delivery,
            "X-Headrace-Timestamp": str(timestamp),
        }
        if secret is not None:
            headers["X-Headrace-Signature"] = signature(secret, timestamp, body)
    return headers, body

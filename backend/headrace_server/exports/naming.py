"""The name of a downloaded file: what no browser or disk stumbles over, whatever the job is called."""

import re
from urllib.parse import quote

_MAX_CHARS = 100
# Separators, what Windows refuses, controls, and what turns the direction of writing round.
_REFUSED = re.compile(r'[\x00-\x1f\x7f-\x9f/\\:*?"<>|\u200e\u200f\u202a-\u202e\u2066-\u2069]+')


def file_name(job: str, what: str, ending: str) -> str:
    """``<job>-<what>.<ending>``, with ``_`` for what a file name can't hold."""
    safe = _REFUSED.sub("_", job).strip(". ")[:_MAX_CHARS].strip(". ") or "job"
    return f"{safe}-{what}.{ending}"


def content_disposition(name: str) -> str:
    """The header (RFC 6266): the name in plain ASCII, and in full for those who read it."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name)
    full = quote(name.encode("utf-8", "replace"), safe="")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{full}"

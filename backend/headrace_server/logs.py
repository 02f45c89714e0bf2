"""The log on standard error: a line an event, as text for people or as JSON for machines.

A request's line has its id, method, route, status, time taken and caller, and nothing that the caller sent but the
path: never the query, the headers or the body, any of which may hold a secret.
"""

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

LogFormat = Literal["text", "json"]
_TEXT = "%(asctime)s %(levelname)s %(name)s %(message)s"


class JsonLines(logging.Formatter):
    """One JSON object a line; what a record says of a request (``extra={"request": …}``) beside it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        request: Mapping[str, Any] | None = getattr(record, "request", None)
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        line |= {"message": record.getMessage()} if request is None else {"message": "request", **request}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_to_stderr(how: LogFormat) -> None:
    """One line a request and what goes wrong, on standard error; the server's own loggers and libraries' alike."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if how == "json" else logging.Formatter(_TEXT))
    logging.basicConfig(handlers=[handler], level=logging.INFO)
    logging.getLogger("alembic").setLevel(logging.WARNING)

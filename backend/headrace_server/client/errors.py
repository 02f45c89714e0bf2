"""What a call can end with.

ClientError
├── NotConfiguredError            no URL or no token
├── UnreachableError              no answer: refused, timed out, broken off, or not from a Headrace server
│   └── BrokenOffError            a download that ended early; nothing is left of it
├── NotAppliedError               a mix version that was not applied in time, or never will be
└── ProblemError                  the server says no: status, code, detail, errors, request_id
    ├── UnauthenticatedError 401
    ├── ForbiddenError 403
    ├── NotFoundError 404
    ├── ConflictError 409
    ├── MixChangedError 412       ``current`` is the version to start from
    ├── InvalidError 400 413 415 422 428
    ├── BusyError 429 503         after the retries; ``retry_after_s``
    └── ServerFailedError 5xx
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from ..changes.schemas import MixChange
from ..mix.schemas import MixVersion


class ClientError(Exception):
    """Base of everything a call can end with."""


class NotConfiguredError(ClientError):
    """There is no URL or no token; the message says how to give one."""


class UnreachableError(ClientError):
    """There was no answer, or none of a Headrace server."""


class BrokenOffError(UnreachableError):
    """A download ended early; what had come is deleted."""


class AwaitingApprovalError(ClientError):
    """The change is recorded and waits for a second person to approve it; it has made no version yet."""

    def __init__(self, change: MixChange) -> None:
        super().__init__(f"the change waits for an approval by somebody else than {change.author}: {change.id}")
        self.change = change


class NotAppliedError(ClientError):
    """A mix version is not in force on every rank; ``version`` is how far it has come."""

    def __init__(self, message: str, version: MixVersion) -> None:
        super().__init__(message)
        self.version = version


class ProblemError(ClientError):
    """The server refused; what it said (RFC 9457)."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(problem.get("code", "unknown"))
        self.detail = str(problem.get("detail", "no detail"))
        errors = problem.get("errors")
        self.errors: Sequence[Mapping[str, Any]] = errors if isinstance(errors, list) else []
        self.request_id = str(problem.get("request_id", ""))
        super().__init__(f"{self.detail} ({status} {self.code})")


class UnauthenticatedError(ProblemError):
    """The token is unknown, expired or revoked."""


class ForbiddenError(ProblemError):
    """The token may not do this."""


class NotFoundError(ProblemError):
    """Nothing with this id or name that the token may see."""


class ConflictError(ProblemError):
    """The record can't be changed as asked."""


class InvalidError(ProblemError):
    """A value is wrong; ``errors`` names each."""


class ServerFailedError(ProblemError):
    """The server failed; its log has the details under ``request_id``."""


class MixChangedError(ProblemError):
    """Somebody changed the mix first; ``current`` is the version to start from."""

    def __init__(self, status: int, problem: Mapping[str, Any], current: MixVersion) -> None:
        super().__init__(status, problem)
        self.current = current


class BusyError(ProblemError):
    """The server has its hands full, after every retry; come back in ``retry_after_s`` seconds (None: not said)."""

    def __init__(self, status: int, problem: Mapping[str, Any], retry_after_s: float | None) -> None:
        super().__init__(status, problem)
        self.retry_after_s = retry_after_s


_BY_STATUS: dict[int, type[ProblemError]] = {
    400: InvalidError,
    401: UnauthenticatedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    413: InvalidError,
    415: InvalidError,
    422: InvalidError,
    428: InvalidError,
}


def problem_error(status: int, problem: Mapping[str, Any], retry_after_s: float | None) -> ProblemError:
    """The exception that a problem document becomes."""
    if status == 412:
        try:
            return MixChangedError(status, problem, MixVersion.model_validate(problem.get("current")))
        except ValidationError:
            return ConflictError(status, problem)
    if status in (429, 503):
        return BusyError(status, problem, retry_after_s)
    kind = _BY_STATUS.get(status, ServerFailedError if status >= 500 else ProblemError)
    return kind(status, problem)

"""The error tree of the service; each error maps to one HTTP status and one ``code``.

    HeadraceError
    ├── Unauthenticated 401          no key or session, or one that is unknown, expired or revoked
    ├── LoginFailed 401              wrong user name or password
    ├── Forbidden 403                the key lacks a scope
    ├── CsrfRefused 403              a browser write without its token, or from another origin
    ├── NotFound 404                 nothing with this id in the caller's project
    ├── RequestTimedOut 408          the body did not arrive in time
    ├── Conflict 409                 the record can't be made as asked
    │   └── AttemptSuperseded 409    a newer attempt of the job has started
    ├── MixConflict 412              somebody else changed the mix first
    ├── BodyTooLarge 413
    ├── MediaTypeRefused 415
    ├── Invalid 422                  a value is wrong; ``errors`` names each
    ├── PreconditionMissing 428      a change of the mix without If-Match
    ├── TooManyRequests 429
    ├── MalformedBody 400            not JSON, or not what its Content-Encoding says
    └── HostRefused 400              the Host header is not one this server answers to

Services raise these; ``problems`` renders them as RFC 9457 problem documents.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, NotRequired, TypedDict


class ErrorItem(TypedDict):
    """One wrong value: where it is, what is wrong, and the value if it is safe to show."""

    loc: list[str | int]
    msg: str
    value: NotRequired[object]


class HeadraceError(Exception):
    """Base of every error a request can end with. ``detail`` says what to do about it."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"
    title: ClassVar[str] = "Internal error"

    def __init__(
        self,
        detail: str,
        *,
        errors: Sequence[ErrorItem] = (),
        extra: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = list(errors)
        self.extra = dict(extra or {})
        self.headers = dict(headers or {})


class Unauthenticated(HeadraceError):
    """The request carries no valid key or session."""

    status = 401
    code = "unauthenticated"
    title = "Sign in or send an API key"

    def __init__(self, detail: str) -> None:
        super().__init__(detail, headers={"WWW-Authenticate": "Bearer"})


class LoginFailed(HeadraceError):
    """Wrong user name or password; which of the two is never said."""

    status = 401
    code = "login_failed"
    title = "Login failed"


class Forbidden(HeadraceError):
    """The caller is known but may not do this."""

    status = 403
    code = "insufficient_scope"
    title = "Not allowed"


class CsrfRefused(HeadraceError):
    """A browser write without its CSRF token, or from another origin."""

    status = 403
    code = "csrf_refused"
    title = "Cross-site request refused"


class NotFound(HeadraceError):
    """Nothing with this id that the caller may see."""

    status = 404
    code = "not_found"
    title = "Not found"


class MethodNotAllowed(HeadraceError):
    """The path exists, but not for this method."""

    status = 405
    code = "method_not_allowed"
    title = "Method not allowed"


class RequestTimedOut(HeadraceError):
    """The body did not arrive in time."""

    status = 408
    code = "request_timeout"
    title = "Request timed out"


class Conflict(HeadraceError):
    """The record can't be made or changed as asked."""

    status = 409
    code = "conflict"
    title = "Conflict"


class AttemptSuperseded(Conflict):
    """A newer attempt of the job has started; this one may no longer steer it."""

    code = "attempt_superseded"
    title = "A newer attempt has started"


class MixConflict(HeadraceError):
    """If-Match names a version that is no longer the newest; ``current`` in the problem is."""

    status = 412
    code = "mix_changed"
    title = "The mix has changed"


class BodyTooLarge(HeadraceError):
    """The body, as sent or decompressed, is over the cap."""

    status = 413
    code = "body_too_large"
    title = "Body too large"


class MediaTypeRefused(HeadraceError):
    """A body that is neither plain nor gzipped JSON."""

    status = 415
    code = "unsupported_media_type"
    title = "Unsupported media type"


class Invalid(HeadraceError):
    """One or more values are wrong; ``errors`` names them."""

    status = 422
    code = "invalid"
    title = "Invalid request"


class PreconditionMissing(HeadraceError):
    """A change of the mix without saying which version it changes."""

    status = 428
    code = "if_match_required"
    title = "If-Match required"


class TooManyRequests(HeadraceError):
    """Too many attempts; Retry-After says when to come back (seconds)."""

    status = 429
    code = "too_many_requests"
    title = "Too many requests"

    def __init__(self, detail: str, *, retry_after_s: int) -> None:
        super().__init__(detail, headers={"Retry-After": str(retry_after_s)})


class MalformedBody(HeadraceError):
    """Not JSON, or not what its Content-Encoding says."""

    status = 400
    code = "malformed_body"
    title = "Malformed body"


class HostRefused(HeadraceError):
    """The Host header is not one this server answers to."""

    status = 400
    code = "host_refused"
    title = "Unknown host"


class StartRefused(Exception):
    """The server can't start as configured; the message says what to do."""

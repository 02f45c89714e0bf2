"""The error tree of the service; each error maps to one HTTP status and one ``code``.

    HeadraceError
    ├── UnauthenticatedError 401          no key or session, or one that is unknown, expired or revoked
    ├── LoginFailedError 401              wrong user name or password
    ├── ForbiddenError 403                the key lacks a scope
    │   └── OwnChangeError 403            who made a change of the mix can't approve it
    ├── CsrfRefusedError 403              a browser write without its token, or from another origin
    ├── NotFoundError 404                 nothing with this id in the caller's project
    ├── MethodNotAllowedError 405         the path exists, but not for this method
    ├── RequestTimedOutError 408          the body did not arrive in time
    ├── ConflictError 409                 the record can't be made as asked
    │   └── AttemptSupersededError 409    a newer attempt of the job has started
    ├── MixConflictError 412              somebody else changed the mix first
    ├── BodyTooLargeError 413
    ├── MediaTypeRefusedError 415
    ├── InvalidError 422                  a value is wrong; ``errors`` names each
    │   └── IdempotencyKeyReusedError 422 the key was used for another request
    ├── PreconditionMissingError 428      a change of the mix without If-Match
    ├── TooManyRequestsError 429
    ├── StreamsFullError 503              as many streams are open as the server holds
    ├── SignInRefusedError 403            the provider's answer proves nobody, or nobody who may come in
    ├── ProviderUnavailableError 502      the provider can't be reached or understood
    ├── MalformedBodyError 400            not JSON, or not what its Content-Encoding says
    └── HostRefusedError 400              the Host header is not one this server answers to

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


class UnauthenticatedError(HeadraceError):
    """The request carries no valid key or session."""

    status = 401
    code = "unauthenticated"
    title = "Sign in or send an API key"

    def __init__(self, detail: str) -> None:
        super().__init__(detail, headers={"WWW-Authenticate": "Bearer"})


class LoginFailedError(HeadraceError):
    """Wrong user name or password; which of the two is never said."""

    status = 401
    code = "login_failed"
    title = "Login failed"


class ForbiddenError(HeadraceError):
    """The caller is known but may not do this."""

    status = 403
    code = "insufficient_scope"
    title = "Not allowed"


class OwnChangeError(ForbiddenError):
    """Somebody wants to approve a change that is their own."""

    code = "own_change"
    title = "Somebody else must approve"


class CsrfRefusedError(HeadraceError):
    """A browser write without its CSRF token, or from another origin."""

    status = 403
    code = "csrf_refused"
    title = "Cross-site request refused"


class NotFoundError(HeadraceError):
    """Nothing with this id that the caller may see."""

    status = 404
    code = "not_found"
    title = "Not found"


class MethodNotAllowedError(HeadraceError):
    """The path exists, but not for this method."""

    status = 405
    code = "method_not_allowed"
    title = "Method not allowed"


class RequestTimedOutError(HeadraceError):
    """The body did not arrive in time."""

    status = 408
    code = "request_timeout"
    title = "Request timed out"


class ConflictError(HeadraceError):
    """The record can't be made or changed as asked."""

    status = 409
    code = "conflict"
    title = "Conflict"


class AttemptSupersededError(ConflictError):
    """A newer attempt of the job has started; this one may no longer steer it."""

    code = "attempt_superseded"
    title = "A newer attempt has started"


class MixConflictError(HeadraceError):
    """If-Match names a version that is no longer the newest; ``current`` in the problem is."""

    status = 412
    code = "mix_changed"
    title = "The mix has changed"


class BodyTooLargeError(HeadraceError):
    """The body, as sent or decompressed, is over the cap."""

    status = 413
    code = "body_too_large"
    title = "Body too large"


class MediaTypeRefusedError(HeadraceError):
    """A body that is neither plain nor gzipped JSON."""

    status = 415
    code = "unsupported_media_type"
    title = "Unsupported media type"


class InvalidError(HeadraceError):
    """One or more values are wrong; ``errors`` names them."""

    status = 422
    code = "invalid"
    title = "Invalid request"


class IdempotencyKeyReusedError(InvalidError):
    """The Idempotency-Key was used for another request."""

    code = "idempotency_key_reused"
    title = "Idempotency-Key used before"


class PreconditionMissingError(HeadraceError):
    """A change of the mix without saying which version it changes."""

    status = 428
    code = "if_match_required"
    title = "If-Match required"


class TooManyRequestsError(HeadraceError):
    """Too many attempts; Retry-After says when to come back (seconds)."""

    status = 429
    code = "too_many_requests"
    title = "Too many requests"

    def __init__(self, detail: str, *, retry_after_s: int) -> None:
        super().__init__(detail, headers={"Retry-After": str(retry_after_s)})


class StreamsFullError(HeadraceError):
    """As many streams are open as this process holds; Retry-After says when to come back (seconds)."""

    status = 503
    code = "streams_full"
    title = "No more streams"

    def __init__(self, detail: str, *, retry_after_s: int) -> None:
        super().__init__(detail, headers={"Retry-After": str(retry_after_s)})


class MalformedBodyError(HeadraceError):
    """Not JSON, or not what its Content-Encoding says."""

    status = 400
    code = "malformed_body"
    title = "Malformed body"


class SignInRefusedError(HeadraceError):
    """What came back from the provider proves nobody, or nobody who may come in."""

    status = 403
    code = "sign_in_refused"
    title = "Sign-in refused"


class ProviderUnavailableError(HeadraceError):
    """The provider can't be reached, or says what can't be understood."""

    status = 502
    code = "provider_unavailable"
    title = "The sign-in provider is unavailable"


class HostRefusedError(HeadraceError):
    """The Host header is not one this server answers to."""

    status = 400
    code = "host_refused"
    title = "Unknown host"


class StartRefusedError(Exception):
    """The server can't start as configured; the message says what to do."""

"""Requests: the token on each, time-outs, retries of what can be repeated, problems as exceptions.

Repeated are reads whose answer got lost, changes that carry a key under which the server makes them once, and any
request that the server refused with 429 or 503 before it did anything. Another change whose answer got lost is never
repeated: it may have been made.
"""

import random
import time
import uuid
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from ..changes.schemas import MixChange
from ..mix.schemas import MixVersion
from .errors import AwaitingApprovalError, BrokenOffError, BusyError, UnreachableError, problem_error

Value = str | int | float | bool | Sequence[str] | None
Params = Mapping[str, Value]
_M = TypeVar("_M", bound=BaseModel)
_KEY = "Idempotency-Key"
_FIRST_WAIT_S = 0.25
_LONGEST_WAIT_S = 30.0
_CONNECT_S = 10.0


class _Bearer(httpx.Auth):
    """The token on each request; as ``auth``, so that a .netrc can't take its place."""

    def __init__(self, token: str) -> None:
        self._header = f"Bearer {token}"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = self._header
        yield request


class Transport:
    """One connection pool to one server. Redirects are not followed: a token goes where it was meant for."""

    def __init__(self, url: str, token: str, *, timeout_s: float, retries: int) -> None:
        self.url = url.rstrip("/")
        self._retries = retries
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1",
            auth=_Bearer(token),
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, _CONNECT_S)),
            headers={"Accept": "application/json", "User-Agent": "headrace-client"},
        )

    def close(self) -> None:
        """Close every connection."""
        self._http.close()

    def get(self, model: type[_M], path: str, **params: Value) -> _M:
        """What is there."""
        return self._parsed(model, self._request("GET", path, params=params))

    def send(self, model: type[_M], method: str, path: str, body: Mapping[str, Any]) -> _M:
        """Change something; sent once, whatever becomes of its answer."""
        return self._parsed(model, self._request(method, path, body=body))

    def change(self, method: str, path: str, body: Mapping[str, Any], if_match: str | None) -> MixVersion:
        """Change a mix, once, though the request may be sent again. Raises AwaitingApprovalError."""
        headers = {_KEY: str(uuid.uuid4()), **({} if if_match is None else {"If-Match": if_match})}
        answer = self._request(method, path, body=body, headers=headers)
        if answer.status_code == httpx.codes.ACCEPTED:
            raise AwaitingApprovalError(self._parsed(MixChange, answer))
        return self._parsed(MixVersion, answer)

    @contextmanager
    def download(self, path: str, **params: Value) -> Iterator[Iterator[bytes]]:
        """The chunks of a file. Raises BrokenOffError for one that ends early."""
        answer = self._request("GET", path, params=params, stream=True)
        try:
            yield self._chunks(answer)
        finally:
            answer.close()

    def _chunks(self, answer: httpx.Response) -> Iterator[bytes]:
        try:
            yield from answer.iter_bytes()
        except httpx.TransportError as error:
            raise BrokenOffError(f"the download from {self.url} broke off: {error}; nothing of it is kept") from error

    def _request(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        stream: bool = False,
    ) -> httpx.Response:
        given: dict[str, Any] = {name: value for name, value in (params or {}).items() if value is not None}
        for number in range(self._retries + 1):
            last = number == self._retries
            request = self._http.build_request(method, path, params=given, json=body, headers=headers)
            try:
                answer = self._http.send(request, stream=stream)
                if answer.is_success:
                    return answer
                answer.read()
            except httpx.TransportError as error:
                if last or not (method == "GET" or _KEY in request.headers):
                    raise UnreachableError(
                        f"no answer of {self.url} to {method} {path}: {error or type(error).__name__}"
                    ) from error
                self._wait(number, None)
                continue
            refusal = self._refused(answer)
            if last or not isinstance(refusal, BusyError):
                raise refusal
            self._wait(number, refusal.retry_after_s)
        raise AssertionError("the last try returned or raised")

    def _refused(self, answer: httpx.Response) -> Exception:
        try:
            problem = answer.json()
        except ValueError:
            problem = None
        if not isinstance(problem, dict) or "code" not in problem:
            if answer.status_code not in (429, 503):
                return UnreachableError(
                    f"{self.url} answers {answer.status_code} and not as a Headrace server does; check HEADRACE_URL"
                )
            problem = {"code": "unavailable", "detail": f"{self.url} is not available"}
        return problem_error(answer.status_code, problem, _seconds(answer.headers.get("retry-after")))

    @staticmethod
    def _wait(number: int, asked_s: float | None) -> None:
        own = _FIRST_WAIT_S * 2**number * random.uniform(0.5, 1.0)
        time.sleep(min(_LONGEST_WAIT_S, own if asked_s is None else asked_s))

    def _parsed(self, model: type[_M], answer: httpx.Response) -> _M:
        try:
            return model.model_validate_json(answer.content)
        except ValidationError as error:
            raise UnreachableError(
                f"{self.url} does not answer as this client's server does; are both of one version?\n{error}"
            ) from error


def _seconds(retry_after: str | None) -> float | None:
    try:
        return None if retry_after is None else max(0.0, float(retry_after))
    except ValueError:
        return None  # a date: rare, and the wait of one's own will do

"""Routes that heed Idempotency-Key: a router says so once, for all of its POSTs and PUTs."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from . import service

_METHODS = frozenset({"POST", "PUT"})
_PARAMETER = {
    "name": service.HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    "description": "a key of the caller's choice: the same request under it is carried out once, for 24 h",
}


class RepeatableRoute(APIRoute):
    """A route whose unit of work (see ``work``) takes the request's key, and whose reply is kept under it."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if not _METHODS.isdisjoint(options.get("methods") or ()):
            options["openapi_extra"] = {"parameters": [_PARAMETER]}
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, once for each key."""
        original = super().get_route_handler()

        async def handle(request: Request) -> Response:
            given = await service.repeatable(request) if request.method in _METHODS else None
            if given is None:
                return await original(request)
            request.state.repeatable = given
            try:
                response = await original(request)
            except service.RepeatedRequest as repeated:
                return repeated.response
            await service.keep(given, response)
            return response

        return handle

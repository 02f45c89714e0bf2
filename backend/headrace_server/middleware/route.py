"""The innermost layer: which route a request took, for the log and for traces. A template: its values are not in it."""

from starlette.types import ASGIApp, Receive, Scope, Send

_PREFIX = "/api/v1"


def template_of(scope: Scope) -> str | None:
    """The route's path with its parameters by name, such as /api/v1/jobs/{job}; None where no route was found."""
    path: str | None = getattr(scope.get("route"), "path", None)
    if path is None:
        return None
    below = scope["path"].startswith(f"{_PREFIX}/") and not path.startswith(_PREFIX)
    return _PREFIX + path if below else path


class RouteNote:
    """Notes the route in ``scope['state']``, which outer layers share; the scope itself they may not."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        try:
            await self.app(scope, receive, send)
        finally:
            if scope["type"] == "http":
                scope["state"]["route"] = template_of(scope)

"""The session cookie: for this site only, and never for scripts."""

from fastapi import Response

from ..settings import Settings
from .sessions import Token

COOKIE = "headrace_session"


def set_session(response: Response, settings: Settings, token: Token) -> None:
    """Have the browser keep a session's token."""
    response.set_cookie(
        COOKIE,
        token.secret,
        max_age=int(token.lasts_s),
        httponly=True,
        samesite="strict",
        secure=settings.secure_cookie,
        path="/",
    )


def clear_session(response: Response, settings: Settings) -> None:
    """Have the browser forget it."""
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=settings.secure_cookie)

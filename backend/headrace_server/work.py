"""What an endpoint hands to a service: one session, the caller, the time. One commit a request, before the reply."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from fastapi import Depends, Request
from sqlalchemy.ext.asyncio import AsyncSession

from .errors import ForbiddenError
from .runtime import Runtime
from .security import Principal, Scope


@dataclass(frozen=True, kw_only=True)
class Work:
    """One unit of work. ``now`` is Unix seconds, the same for everything the request does."""

    session: AsyncSession
    principal: Principal
    now: float
    request_id: str
    runtime: Runtime


def runtime_of(request: Request) -> Runtime:
    """The process's runtime."""
    runtime: Runtime = request.app.state.runtime
    return runtime


def caller(request: Request, *scopes: Scope) -> Principal:
    """Who is calling, having one of ``scopes``. Raises ForbiddenError."""
    principal: Principal = request.state.principal
    if principal.scopes.isdisjoint(scopes):
        raise ForbiddenError(
            f"{principal.label} has the scopes {sorted(principal.scopes)}; this needs one of {sorted(scopes)}"
        )
    return principal


def signed_in(request: Request) -> Principal:
    """Who is calling, being a person. Raises ForbiddenError for a key: a key can't make keys."""
    principal: Principal = request.state.principal
    if not principal.is_user:
        raise ForbiddenError("only a signed-in user may do this; an API key may not")
    return principal


def _unit(request: Request, session: AsyncSession, principal: Principal) -> Work:
    runtime = runtime_of(request)
    return Work(
        session=session,
        principal=principal,
        now=runtime.now(),
        request_id=request.state.request_id,
        runtime=runtime,
    )


def _dependency(who: Callable[[Request], Principal], *, write: bool) -> Any:
    async def unit(request: Request) -> AsyncIterator[Work]:
        principal = who(request)
        database = runtime_of(request).database
        async with database.write() if write else database.read() as session:
            yield _unit(request, session, principal)

    # scope="function": the commit happens before the reply is sent, so what is acknowledged is durable.
    return Depends(unit, scope="function")


def reading(*scopes: Scope) -> Any:
    """A dependency: a unit of work that reads, for callers with one of ``scopes``."""
    return _dependency(lambda request: caller(request, *scopes), write=False)


def writing(*scopes: Scope) -> Any:
    """A dependency: a unit of work that commits once, for callers with one of ``scopes``."""
    return _dependency(lambda request: caller(request, *scopes), write=True)


def administering() -> Any:
    """A dependency: a unit of work that commits once, for signed-in users."""
    return _dependency(signed_in, write=True)

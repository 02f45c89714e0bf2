"""What an endpoint hands to a service: one session, the caller, the time. One commit a request, before the reply.

``reading``, ``writing`` and ``calling`` are how a route says who may call it. A route that says nothing is for nobody:
the description of the API refuses to be made (see ``openapi``), and so do the tests of all routes.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from fastapi import Depends, Request
from sqlalchemy.ext.asyncio import AsyncSession

from . import place
from .idempotency import service as idempotency
from .models import Job
from .principal import Principal, Scope
from .runtime import Runtime

_SCOPES = "headrace_scopes"
_OWN: frozenset[Scope] = frozenset({"operate"})


@dataclass(frozen=True, kw_only=True)
class Work:
    """One unit of work. ``now`` is Unix seconds, the same for everything the request does.

    ``scopes`` are those of which the caller needs one wherever it acts; ``job`` is the one that the path names.
    """

    session: AsyncSession
    principal: Principal
    scopes: tuple[Scope, ...]
    job: Job | None
    now: float
    request_id: str
    runtime: Runtime

    @property
    def projects(self) -> frozenset[int] | None:
        """Row ids of the projects in which the caller may do this; None means every project."""
        return self.principal.projects(*self.scopes)

    def admit(self, project_id: int, what: str, *, job: str | None = None) -> None:
        """Check what was found other than by the path, such as "job 'x'". Raises NotFoundError, ForbiddenError."""
        self.principal.admit(self.scopes, project_id, what, job=job)


def own_work(runtime: Runtime, session: AsyncSession, what: str) -> Work:
    """A unit of work that the server does by itself, in any project; ``what`` is who the audit log says it was."""
    return Work(
        session=session,
        principal=Principal(label=what, everywhere=_OWN),
        scopes=("operate",),
        job=None,
        now=runtime.now(),
        request_id=what,
        runtime=runtime,
    )


def runtime_of(request: Request) -> Runtime:
    """The process's runtime."""
    runtime: Runtime = request.app.state.runtime
    return runtime


def scopes_of(dependency: Callable[..., Any] | None) -> tuple[Scope, ...] | None:
    """The scopes that a dependency made here asks for; None for any other."""
    return getattr(dependency, _SCOPES, None)


def _unit_of_work(scopes: tuple[Scope, ...], *, write: bool) -> Any:
    async def unit(request: Request) -> AsyncIterator[Work]:
        principal: Principal = request.state.principal
        principal.admit_anywhere(scopes)
        runtime = runtime_of(request)
        async with runtime.database.write() if write else runtime.database.read() as session:
            job = await place.admit(session, principal, scopes, request.path_params, write=write)
            if write and (given := getattr(request.state, "repeatable", None)) is not None:
                await idempotency.claim(session, principal.identity, given, runtime.now())
            yield Work(
                session=session,
                principal=principal,
                scopes=scopes,
                job=job,
                now=runtime.now(),
                request_id=request.state.request_id,
                runtime=runtime,
            )

    setattr(unit, _SCOPES, scopes)
    # scope="function": the commit happens before the reply is sent, so what is acknowledged is durable.
    return Depends(unit, scope="function")


def reading(*scopes: Scope) -> Any:
    """A dependency: a unit of work that reads, for callers with one of ``scopes`` where the path leads."""
    return _unit_of_work(scopes, write=False)


def writing(*scopes: Scope) -> Any:
    """A dependency: a unit of work that commits once, for callers with one of ``scopes`` where the path leads."""
    return _unit_of_work(scopes, write=True)


def calling(*scopes: Scope) -> Any:
    """A dependency: the Principal, with one of ``scopes``, and no session. Not for paths that lead to a project."""

    def caller(request: Request) -> Principal:
        principal: Principal = request.state.principal
        principal.admit_anywhere(scopes)
        return principal

    setattr(caller, _SCOPES, scopes)
    return Depends(caller)

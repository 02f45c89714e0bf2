"""Assembly: routes, middleware, error rendering, and what runs beside the requests."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from . import caretaker, health, openapi
from .alerts import endpoints as alerts
from .alerts import watch
from .audit import endpoints as audit
from .auth import endpoints as auth
from .changes import carrier
from .changes import endpoints as changes
from .comparison import endpoints as comparison
from .errors import HeadraceError, MalformedBodyError, MethodNotAllowedError, NotFoundError
from .events import endpoints as events
from .events.composer import Composer
from .events.fanout import Fanout
from .exports import endpoints as exports
from .ingest import endpoints as ingest
from .ingest import uptime
from .jobs import endpoints as jobs
from .keys import endpoints as keys
from .middleware.authentication import Authentication
from .middleware.bodies import BodyLimits
from .middleware.context import RequestContext
from .middleware.hosts import HostAllowList
from .middleware.route import RouteNote
from .mix import endpoints as mix
from .oidc import endpoints as oidc
from .problems import invalid_request, problem_response
from .projects import endpoints as projects
from .reports import endpoints as reports
from .rollups import service as rollups
from .runtime import Runtime, build_runtime
from .series import endpoints as series
from .settings import Settings
from .site import SITE, add_site, is_site_path
from .system import endpoints as system
from .trace import endpoints as trace
from .users import endpoints as users
from .webhooks import endpoints as webhooks
from .webhooks.delivery import Deliverer

# Each of the last things at shutdown gets this long.
_LAST_S = 2.0
FEATURES = (
    auth,
    oidc,
    users,
    projects,
    keys,
    jobs,
    ingest,
    series,
    mix,
    changes,
    alerts,
    webhooks,
    audit,
    events,
    exports,
    reports,
    system,
    trace,
    comparison,
)


@asynccontextmanager
async def running(runtime: Runtime) -> AsyncIterator[None]:
    """Everything that runs beside the requests, started and stopped; the database is closed at the end."""
    fanout = Fanout(runtime)
    runtime.database.before_commit = fanout.before_commit
    runtime.database.on_commit = fanout.committed
    await uptime.begin(runtime)
    beside = (
        caretaker.run(runtime),
        rollups.run(runtime),
        watch.run(runtime),
        Deliverer(runtime).run(),
        carrier.run(runtime),
        Composer(runtime).run(),
        fanout.run(),
    )
    tasks = [asyncio.create_task(work) for work in beside]
    try:
        yield
    finally:
        runtime.broker.close()
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
        # A database that doesn't answer must not keep the server from stopping.
        for last in (caretaker.tick(runtime, key_uses=True), runtime.database.close()):
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_S):
                    await last


def _to_response(request: Request, error: HeadraceError) -> Response:
    return problem_response(error, request.state.request_id)


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HeadraceError)
    return _to_response(request, error)


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return _to_response(request, invalid_request(error.errors()))


def _leads_somewhere(request: Request) -> bool:
    """Whether some method is possible on the path, the dashboard's route for every path aside."""
    if is_site_path(request.url.path):
        return True
    routes = (route for route in request.app.routes if getattr(route, "name", "") != SITE)
    return any(route.matches(request.scope)[0] is not Match.NONE for route in routes)


async def _on_http(request: Request, error: Exception) -> Response:
    """What the router and the body parser raise by themselves."""
    assert isinstance(error, HTTPException)
    if error.status_code == 404 or (error.status_code == 405 and not _leads_somewhere(request)):
        return _to_response(request, NotFoundError("no such resource"))
    if error.status_code == 405:
        return _to_response(request, MethodNotAllowedError(f"{request.method} is not possible here"))
    return _to_response(request, MalformedBodyError("the body can't be read as JSON"))


def build_app(
    settings: Settings, now: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
) -> FastAPI:
    """The application. Its database must be migrated and have its first user before it serves."""
    runtime = build_runtime(settings, now, steady)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with running(runtime):
            yield

    app = FastAPI(
        title="Headrace",
        summary="Watch training data loaders and steer their mix.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        generate_unique_id_function=openapi.operation_id,
    )
    app.state.runtime = runtime
    app.openapi = lambda: openapi.describe(app)  # type: ignore[method-assign]
    api = APIRouter(prefix="/api/v1")
    for feature in FEATURES:
        api.include_router(feature.router)
    app.include_router(health.router)
    app.include_router(api)
    add_site(app, settings)
    app.add_exception_handler(HeadraceError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    # The last added is the outermost.
    app.add_middleware(RouteNote)
    app.add_middleware(BodyLimits, cap_bytes=settings.max_body_bytes, timeout_s=settings.body_timeout_s)
    app.add_middleware(Authentication, runtime=runtime)
    app.add_middleware(HostAllowList, known=settings.known_hosts)
    app.add_middleware(RequestContext)
    return app

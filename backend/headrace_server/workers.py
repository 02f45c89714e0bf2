"""What a serving process does besides serving, alone or as one of several: it ends streams when it is told to stop.

Several processes share one listening socket under uvicorn's supervisor, which starts one anew that dies. Streams would
keep a server from stopping until their time is up, so they are ended as soon as the signal comes.
"""

import asyncio
import http.client
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.supervisors import Multiprocess

from . import tracing
from .app import build_app
from .errors import StartRefusedError
from .events.broker import Broker
from .logs import log_to_stderr
from .runtime import Runtime
from .settings import Settings

_STOP = (signal.SIGINT, signal.SIGTERM)
_PARENT_CHECK_S = 1.0
_READY_POLL_S = 0.1
# A worker that does not answer its supervisor for so long is replaced; a busy machine is no reason.
_HUNG_S = 30


class EndsStreams:
    """The app, whose streams end when the process is told to stop; a worker also stops when its parent has died."""

    def __init__(self, app: ASGIApp, broker: Broker, parent: int | None) -> None:
        self.app = app
        self.broker = broker
        self.parent = parent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, or the whole life of the server."""
        if scope["type"] != "lifespan":
            await self.app(scope, receive, send)
            return
        loop = asyncio.get_running_loop()
        for number in _STOP:
            self._wrap(number, loop)
        watch = None if self.parent is None else asyncio.create_task(self._watch(self.parent))
        try:
            await self.app(scope, receive, send)
        finally:
            if watch is not None:
                watch.cancel()
                with suppress(asyncio.CancelledError):
                    await watch

    def _wrap(self, number: signal.Signals, loop: asyncio.AbstractEventLoop) -> None:
        before = signal.getsignal(number)

        def stop(given: int, frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self.broker.close)
            if callable(before):
                before(given, frame)

        signal.signal(number, stop)

    async def _watch(self, parent: int) -> None:
        while os.getppid() == parent:
            await asyncio.sleep(_PARENT_CHECK_S)
        os.kill(os.getpid(), signal.SIGTERM)


def serving_app(settings: Settings, parent: int | None = None) -> EndsStreams:
    """The app as a process serves it; ``parent`` is the process without which it should not go on."""
    app = build_app(settings)
    runtime: Runtime = app.state.runtime
    return EndsStreams(tracing.traced(app, runtime.database.engine), runtime.broker, parent)


def _worker_app(settings: Settings, parent: int) -> EndsStreams:
    log_to_stderr(settings.log_format)
    return serving_app(settings, parent)


def config_of(settings: Settings, app: Callable[[], EndsStreams]) -> uvicorn.Config:
    """How uvicorn is to serve."""
    return uvicorn.Config(
        app,
        factory=True,
        workers=settings.workers,
        loop="uvloop",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=settings.shutdown_s,
        timeout_worker_healthcheck=_HUNG_S,
    )


def serve_with_workers(settings: Settings, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve with several processes until told to stop; ``ready`` is called once when they answer.

    Raises StartRefusedError when they can't start.
    """
    supervisor = Multiprocess(config_of(settings, partial(_worker_app, settings, os.getpid())), [listener])
    waiting = threading.Thread(target=_tell_when_ready, args=(supervisor, listener, ready), daemon=True)
    waiting.start()
    supervisor.run()
    waiting.join()
    if any(process.exitcode == uvicorn.config.STARTUP_FAILURE for process in supervisor.processes):
        raise StartRefusedError("the workers can't start; the log above says why")


def _tell_when_ready(supervisor: Multiprocess, listener: socket.socket, ready: Callable[[], None]) -> None:
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    while not supervisor.should_exit.is_set():
        connection = http.client.HTTPConnection(host, port, timeout=5)
        with suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                connection.close()
                ready()
                return
        connection.close()
        time.sleep(_READY_POLL_S)

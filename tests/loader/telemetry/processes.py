"""Other processes for telemetry tests, quick to start: forked from a server that has imported the loader once."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.context import ForkServerContext, ForkServerProcess

SPAWN: ForkServerContext = multiprocessing.get_context("forkserver")
SPAWN.set_forkserver_preload(["headrace.telemetry.connect"])


def process(target: Callable[..., object], *args: object) -> ForkServerProcess:
    """A started process that runs `target(*args)`."""
    started = SPAWN.Process(target=target, args=args)
    started.start()
    return started

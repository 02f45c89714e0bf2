"""What lives as long as the server: settings, database, broker, clock, and small in-memory counters."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .db import Database
from .events.broker import Broker
from .ingest.liveness import Downtime
from .ingest.pace import Load
from .oidc.provider import Provider
from .peers import Peers, Standing, here
from .settings import Settings
from .webhooks.sender import Sender


@dataclass
class Runtime:
    """One per process; ``now`` is Unix seconds and replaceable, so that time can be tested."""

    settings: Settings
    database: Database
    broker: Broker
    sender: Sender
    # Where people can sign in besides here, if set up.
    provider: Provider | None = None
    now: Callable[[], float] = time.time
    # Seconds that pass whatever the clock is set to, since some moment.
    steady: Callable[[], float] = time.monotonic
    downtime: Downtime = field(default_factory=Downtime)
    # When keys were last used, by key hash; written once a minute by the caretaker, never in a request.
    key_uses: dict[bytes, float] = field(default_factory=dict)
    # When leaders last asked for the mix, by job row id; written by the caretaker every few seconds.
    leader_polls: dict[int, float] = field(default_factory=dict)
    # How far reports are stretched, as all processes on the database know it, and this one's load since the last look.
    stretch: float = 1.0
    looked_at: float = 0.0
    load: Load = field(default_factory=Load)
    # Batches of reports that are being stored.
    num_batches: int = 0
    # Files that are being made and sent.
    num_exports: int = 0
    # When this process began to serve, and what others on the database told of themselves.
    started_at: float = 0.0
    peers: Peers = field(default_factory=Peers)

    def standing(self) -> Standing:
        """What this process has in hand."""
        return here(
            started_at=self.started_at,
            num_streams=self.broker.num_streams,
            num_batches=self.num_batches,
            num_exports=self.num_exports,
        )


def build_runtime(
    settings: Settings, now: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
) -> Runtime:
    """A runtime that has opened nothing yet."""
    return Runtime(
        settings=settings,
        database=Database(settings),
        broker=Broker(settings.max_streams),
        sender=Sender(settings.allowed_by_webhooks),
        provider=Provider(settings) if settings.oidc_issuer is not None else None,
        now=now,
        steady=steady,
        started_at=now(),
    )

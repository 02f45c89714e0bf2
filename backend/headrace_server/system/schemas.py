"""The state of the service as its administrators see it."""

from typing import Literal

from ..fields import Reply, Timestamp


class SystemProcess(Reply):
    """A serving process on this database; ``answered`` marks the one that this reply is from."""

    host: str
    pid: int
    version: str
    started_at: Timestamp
    num_streams: int
    num_batches: int
    num_exports: int
    answered: bool


class SystemDatabase(Reply):
    """The database: its kind and version, its size, and the revision it is at against the one this server needs."""

    kind: Literal["sqlite", "postgresql"]
    version: str
    size_bytes: int
    revision: str | None
    needed_revision: str


class MinuteOfReports(Reply):
    """How many reports of all ranks fell into the minute that begins at ``minute``."""

    minute: Timestamp
    num_reports: int


class SystemIngest(Reply):
    """Reports of all live ranks: how often they come, how old they are when stored, and how far they are spaced out.

    ``reports_per_s`` follows from the ranks' last intervals. Lags are of the last report of each rank, in seconds from
    the moment that its node says to the moment it was stored; null where no rank reports. ``stretch`` is 1 when ranks
    report as often as the settings ask for. ``per_minute`` ends with the last minute that was rolled up.
    """

    num_ranks: int
    reports_per_s: float
    lag_mean_s: float | None
    lag_max_s: float | None
    stretch: float
    per_minute: list[MinuteOfReports]


class SystemPartitions(Reply):
    """The daily partitions of a table: how many, the first and last day, days without one, and days of strays."""

    table: str
    num_days: int
    first: Timestamp | None
    last: Timestamp | None
    missing: list[Timestamp]
    strays: list[Timestamp]


class SystemOutbox(Reply):
    """Webhook deliveries of all projects: waiting now, and given up in the last 24 hours."""

    num_webhooks: int
    num_pending: int
    oldest_pending_at: Timestamp | None
    num_given_up: int


class SystemNotice(Reply):
    """Something that an administrator should do, in words, with the command or the setting that does it."""

    level: Literal["problem", "advice"]
    text: str
    command: str | None


class System(Reply):
    """How the service is doing. All figures are of all processes on this database; ``notices`` say what to do."""

    now: Timestamp
    version: str
    processes: list[SystemProcess]
    max_streams: int
    database: SystemDatabase
    ingest: SystemIngest
    partitions: list[SystemPartitions]
    rollup_delay_s: float
    outbox: SystemOutbox
    alerts_looked_at: Timestamp | None
    sealing_key: bool
    provider: str | None
    notices: list[SystemNotice]

"""What an administrator should do about the service, in words. Pure."""

from collections.abc import Iterator

from .schemas import System, SystemNotice, SystemPartitions

# A minute that waits longer than this to be rolled up is no matter of a tick that came late (seconds).
LATE_ROLLUP_S = 180.0
LATE_LOOK_S = 90.0
LATE_DELIVERY_S = 600.0
_FULL = 0.9


def _problem(text: str, command: str | None = None) -> SystemNotice:
    return SystemNotice(level="problem", text=text, command=command)


def _advice(text: str, command: str | None = None) -> SystemNotice:
    return SystemNotice(level="advice", text=text, command=command)


def _of_database(system: System) -> Iterator[SystemNotice]:
    database = system.database
    if database.revision != database.needed_revision:
        yield _problem(
            f"The database is at revision {database.revision or '(empty)'}; this server needs "
            f"{database.needed_revision}.",
            "headrace-server migrate",
        )
    versions = sorted({process.version for process in system.processes})
    if len(versions) > 1:
        yield _advice(f"Processes of versions {', '.join(versions)} serve together; bring them to one version.")
    for table in system.partitions:
        yield from _of_partitions(table)


def _of_partitions(table: SystemPartitions) -> Iterator[SystemNotice]:
    if table.missing:
        days = ", ".join(f"{day:%Y-%m-%d}" for day in table.missing)
        yield _problem(
            f"{table.table} has no partition for {days}. A server makes them within the hour; until then rows go to "
            "the default partition, which is slow to drop. If this stays, the log says why: "
            "look for “rolling up failed”.",
        )
    if table.strays:
        days = ", ".join(f"{day:%Y-%m-%d}" for day in table.strays[:5])
        yield _advice(
            f"{table.table} holds rows of {days} in its default partition; a server moves them within the hour. "
            "Rows of days to come are from nodes whose clock is ahead."
        )


def _of_work(system: System) -> Iterator[SystemNotice]:
    if system.rollup_delay_s > LATE_ROLLUP_S:
        yield _problem(
            f"Reports have been waiting for {system.rollup_delay_s:.0f} s to be rolled up; long plots end that much "
            "earlier. The log says why: look for “rolling up failed”."
        )
    looked = system.alerts_looked_at
    if looked is not None and (late_s := (system.now - looked).total_seconds()) > LATE_LOOK_S:
        yield _problem(
            f"Nobody has looked at the alert rules for {late_s:.0f} s, so nothing fires. The log says why: look for "
            "“looking at alert rules failed”."
        )
    if system.ingest.stretch > 1.05:
        yield _advice(
            f"Ranks are told to report {system.ingest.stretch:.1f} times less often than the settings ask for, because "
            "the server has its hands full or there are many ranks. On PostgreSQL more processes help.",
            "headrace-server serve --workers N",
        )
    for process in system.processes:
        if process.num_streams >= _FULL * system.max_streams:
            yield _problem(
                f"Process {process.pid} on {process.host} holds {process.num_streams} of {system.max_streams} event "
                "streams; more browsers will be told to come back.",
                "HEADRACE_SERVER_MAX_STREAMS",
            )


def _of_webhooks(system: System) -> Iterator[SystemNotice]:
    outbox = system.outbox
    oldest = outbox.oldest_pending_at
    if oldest is not None and (late_s := (system.now - oldest).total_seconds()) > LATE_DELIVERY_S:
        yield _advice(
            f"{outbox.num_pending} webhook deliveries wait, the oldest for {late_s / 60:.0f} min; a project's settings "
            "say what its receivers answer."
        )
    if outbox.num_given_up:
        yield _advice(f"{outbox.num_given_up} webhook deliveries were given up in the last 24 hours.")
    if outbox.num_webhooks and not system.sealing_key:
        yield _advice(
            "URLs and secrets of webhooks lie in the database as they are: whoever reads a backup can send in your "
            "name. With a key, new webhooks are sealed; make the old ones anew.",
            "HEADRACE_SERVER_SEALING_KEY",
        )


def notices_of(system: System) -> list[SystemNotice]:
    """What to do, problems first."""
    found = [*_of_database(system), *_of_work(system), *_of_webhooks(system)]
    return sorted(found, key=lambda notice: notice.level != "problem")

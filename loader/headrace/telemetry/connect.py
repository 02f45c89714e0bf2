"""From what a user wrote to a running `Telemetry`, or none."""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from headrace.cache import cache_root
from headrace.errors import ConfigError
from headrace.telemetry.client import Client, Endpoint
from headrace.telemetry.description import JobDescription, RankIdentity, registration
from headrace.telemetry.drain import Drain
from headrace.telemetry.failures import Notices
from headrace.telemetry.mix_feed import MixFeed
from headrace.telemetry.plain_text import plain_text
from headrace.telemetry.port import Telemetry
from headrace.telemetry.registrar import Registrar
from headrace.telemetry.reporter import Reporter
from headrace.telemetry.spool import Spool

_SPOOL_BYTES = (256 << 20, 1 << 20)
"by default, and at least"
_UNWRITTEN = (1024, 1)
_DRAIN_DELAY_S = 3.0
"the leader registers this start first, after what earlier ones left"

logger = logging.getLogger("headrace.telemetry")


def connect(
    identity: RankIdentity,
    description: JobDescription,
    *,
    job: str | None = None,
    url: str | None = None,
    token: str | None = None,
    project: str | None = None,
    cache: Path | None = None,
    spool_bytes: int | None = None,
    unwritten_reports: int | None = None,
    report_every_s: float = 1.0,
) -> Telemetry | None:
    """Telemetry for this rank, already running, or None without a job. Waits for no network.

    What is not given comes from HEADRACE_JOB, HEADRACE_URL, HEADRACE_TOKEN, HEADRACE_PROJECT (default `default`) and
    HEADRACE_CACHE (default `~/.cache/headrace`). `spool_bytes` bounds the reports kept on this node's disk (default
    HEADRACE_SPOOL_BYTES, or 256 MiB), `unwritten_reports` those that this rank keeps in memory while the disk refuses
    them (default HEADRACE_UNWRITTEN_REPORTS, or 1,024). Beyond, the oldest go first, and are counted.

    Raises:
        ConfigError: a job without a URL; a URL, token or limit that can't be used; proxy or certificate settings of the
            environment that httpx can't use.
    """
    job = job or os.environ.get("HEADRACE_JOB") or None
    if job is None:
        return None
    endpoint = endpoint_of(job, url, token)
    project = project or os.environ.get("HEADRACE_PROJECT") or "default"
    for what, name in (("job", job), ("project", project), *(("source", s.name) for s in description.sources)):
        if name != plain_text(name, 200) or name != name.strip():
            raise ConfigError(
                f"{what} name is {name!r}; to be reported it must be at most 200 characters, on one line, without"
                " spaces around it"
            )
    disk = _limit("HEADRACE_SPOOL_BYTES", os.environ.get("HEADRACE_SPOOL_BYTES"), spool_bytes, _SPOOL_BYTES)
    memory = _limit(
        "HEADRACE_UNWRITTEN_REPORTS", os.environ.get("HEADRACE_UNWRITTEN_REPORTS"), unwritten_reports, _UNWRITTEN
    )
    if not 0.1 <= report_every_s <= 3600:
        raise ConfigError(f"report_every_s is {report_every_s}; it must be from 0.1 to 3600 seconds")
    start = registration(job, identity, description)
    notices = Notices(endpoint.token)
    spool = _spool(cache, endpoint.url, project, job, disk)
    feed = None
    if identity.leader:
        client = _client(endpoint)
        registrar = Registrar(client, project, spool, start)
        feed = MixFeed(spool, client, registrar, start, notices, stream_client=_client(endpoint))
    client = _client(endpoint)
    drain = Drain(
        spool,
        client,
        Registrar(client, project, spool, start),
        start,
        identity.rank,
        notices,
        on_mix_version=feed.hint if feed is not None else None,
    )
    reporter = Reporter(
        identity, start, spool, drain, feed, notices, report_every_s=report_every_s, most_records=memory
    )
    reporter.start(_DRAIN_DELAY_S)
    return reporter


def endpoint_of(job: str, url: str | None, token: str | None) -> Endpoint:
    """Where `job` reports to; what is None comes from HEADRACE_URL and HEADRACE_TOKEN.

    Raises:
        ConfigError: no URL, or a URL or token that can't be used.
    """
    url = url or os.environ.get("HEADRACE_URL")
    token = token or os.environ.get("HEADRACE_TOKEN")
    if not url:
        raise ConfigError(
            f"job is {job!r}, but there is no control plane to report it to: set HEADRACE_URL (such as"
            " http://127.0.0.1:8400), or leave the job out to train without telemetry and live mixing"
        )
    allowed = "HEADRACE_URL must be http(s)://host[:port][/prefix]"
    try:
        parts = urlsplit(url.strip())
        _ = parts.port
    except ValueError as error:
        raise ConfigError(f"HEADRACE_URL can't be read ({error}); {allowed}") from None
    if parts.username is not None or parts.password is not None:
        raise ConfigError("HEADRACE_URL holds a user name or a password; put the key in HEADRACE_TOKEN instead")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ConfigError(f"HEADRACE_URL is {url!r}; {allowed}")
    token = token.strip() if token else None
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise ConfigError("HEADRACE_TOKEN holds a space, a line break or a character outside ASCII; set it to a key")
    return Endpoint(urlunsplit((parts.scheme, parts.netloc.lower(), parts.path.rstrip("/"), "", "")), token)


def _limit(name: str, text: str | None, given: int | None, default_and_least: tuple[int, int]) -> int:
    """A limit as given, as the environment has it, or by default."""
    default, least = default_and_least
    value = default if given is None else given
    if given is None and text:
        value = int(text) if text.strip().isdecimal() else -1
    if value < least:
        shown = text if given is None else given
        raise ConfigError(f"{name} is {shown}; it must be a whole number of at least {least}")
    return value


def _client(endpoint: Endpoint) -> Client:
    try:
        return Client(endpoint)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise ConfigError(
            f"no HTTP client for HEADRACE_URL {endpoint.url} ({what}); check the proxy and certificate variables of the"
            " environment (HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE, SSL_CERT_DIR)"
        ) from error


def _spool(cache: Path | None, url: str, project: str, job: str, most_bytes: int) -> Spool:
    """The spool in the cache directory; where that can't be written or locked, loudly one of this process alone."""
    root = cache or cache_root()
    try:
        return Spool(root / "spool", url=url, project=project, job=job, most_bytes=most_bytes)
    except OSError as error:
        refused = f"reports can't be kept in {root} ({error.strerror or error})"
        remedy = "set HEADRACE_CACHE to a writable directory on a local disk"
    try:
        private = Path(tempfile.mkdtemp(prefix="headrace-"))
        spool = Spool(private, url=url, project=project, job=job, most_bytes=most_bytes, private=True)
    except OSError as error:
        raise ConfigError(f"{refused}, nor in {tempfile.gettempdir()} ({error.strerror or error}); {remedy}") from error
    logger.warning("%s; they are kept in %s, which the next start will not send: %s", refused, private, remedy)
    return spool

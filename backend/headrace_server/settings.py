"""Settings of the server, from the environment (``HEADRACE_SERVER_…``) or the command line.

Every value has a default that is safe on one machine: loopback only, SQLite under ``data_dir``.
"""

import os
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from .errors import StartRefusedError
from .logs import LogFormat
from .loopback import is_loopback
from .oidc.settings import OidcSettings
from .webhooks.addresses import Allowed, parse_allowed


def _default_data_dir() -> Path:
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "headrace"


class Settings(OidcSettings, BaseSettings):
    """Everything an administrator may set. Times are in seconds, sizes in bytes."""

    model_config = SettingsConfigDict(env_prefix="HEADRACE_SERVER_", extra="ignore")

    data_dir: Path = Field(default_factory=_default_data_dir, description="where the SQLite file lives")
    database_url: str | None = Field(
        default=None, description="postgresql://… or sqlite:///…; unset: SQLite in data_dir"
    )
    host: str = Field(default="127.0.0.1", description="address to bind")
    port: int = Field(default=8400, ge=0, le=65535, description="port to bind; 0 takes a free one")
    public: bool = Field(default=False, description="allow a bind beyond loopback; TLS must be in front")
    allowed_hosts: Annotated[list[str], NoDecode] = Field(
        default=[], description="Host names, comma-separated, answered besides loopback and `host`; '*' for any"
    )
    workers: int = Field(default=1, ge=1, le=64, description="serving processes; more than one on PostgreSQL only")
    static_dir: Path | None = Field(default=None, description="the built dashboard; unset: the packaged one")

    report_every_s: float = Field(default=2.0, gt=0, le=30, description="how often a rank should report")
    max_reports_per_s: float = Field(
        default=1000.0, gt=0, description="per job; report_every_s stretches to stay below it"
    )
    max_total_reports_per_s: float = Field(
        default=4000.0, gt=0, description="of all jobs; report_every_s of all stretches to stay below it"
    )
    stuck_after_s: float = Field(
        default=120.0, gt=0, description="a reporting rank without a new step is stuck after this"
    )
    restart_grace_s: float = Field(
        default=30.0, ge=0, description="after a restart, how long silence is not held against ranks"
    )

    keep_reports_s: float = Field(
        default=72 * 3600.0, ge=3600, description="reports are kept this long, and older ones no longer taken"
    )
    keep_rank_rollups_s: float = Field(
        default=30 * 86_400.0, ge=86_400, description="one-minute rollups of each rank are kept this long"
    )

    schedule_late_s: float = Field(
        default=3600.0, ge=0, description="a scheduled change that the server missed is made up for within this"
    )
    approval_expires_s: float = Field(
        default=7 * 86_400.0, gt=0, description="a change that nobody approved ends after this"
    )

    session_lifetime_s: float = Field(default=12 * 3600.0, gt=0, description="a login lasts this long at most")
    session_idle_s: float = Field(default=2 * 3600.0, gt=60, description="and ends when not used for this long")
    session_rotate_s: float = Field(default=900.0, gt=0, description="a session's token is replaced this often")
    session_overlap_s: float = Field(default=60.0, gt=0, description="and the one before is good for this long yet")
    login_failures: int = Field(default=5, ge=1, description="failed logins of a user from an address before a pause")
    login_window_s: float = Field(default=300.0, gt=0, description="the window the failures are counted in")
    cookie_secure: bool | None = Field(default=None, description="Secure flag of the cookie; unset: same as `public`")

    webhook_allow: Annotated[list[str], NoDecode] = Field(
        default=[],
        validation_alias=AliasChoices("HEADRACE_WEBHOOK_ALLOW", "HEADRACE_SERVER_WEBHOOK_ALLOW", "webhook_allow"),
        description="networks (10.1.0.0/16) and host names, comma-separated, that webhooks may reach though not public",
    )
    sealing_key: str | None = Field(
        default=None,
        min_length=32,
        repr=False,
        description="seals URLs and secrets of webhooks in the database; unset: they are stored as they are",
    )

    max_body_bytes: int = Field(default=1 << 20, ge=1024, description="cap on a body, as sent and decompressed")
    body_timeout_s: float = Field(default=30.0, gt=0, description="a body must arrive within this")
    max_batch_records: int = Field(default=1000, ge=1, le=1400, description="records in one report batch")
    max_batches_at_once: int = Field(
        default=64, ge=1, description="batches stored at once by a process; more are told to come back (429)"
    )
    max_exports_at_once: int = Field(
        default=4, ge=1, description="exports and reports under way in a process; more are told to come back (429)"
    )
    max_streams: int = Field(
        default=2000, ge=1, description="event streams a process holds open; one more is told to come back (503)"
    )
    log_format: LogFormat = Field(
        default="text",
        validation_alias=AliasChoices("HEADRACE_LOG_FORMAT", "HEADRACE_SERVER_LOG_FORMAT", "log_format"),
        description="of the log on standard error: text, or json for a line of JSON each",
    )
    shutdown_s: int = Field(default=5, ge=1, description="open requests get this long at shutdown")

    @field_validator("allowed_hosts", "webhook_allow", mode="before")
    @classmethod
    def _split_hosts(cls, given: object) -> object:
        return [host.strip() for host in given.split(",") if host.strip()] if isinstance(given, str) else given

    @cached_property
    def url(self) -> str:
        """The database as an async SQLAlchemy URL. Raises StartRefusedError on an unknown kind."""
        raw = self.database_url
        if raw is None:
            return f"sqlite+aiosqlite:///{self.data_dir.expanduser().resolve() / 'headrace.db'}"
        scheme, separator, rest = raw.partition("://")
        drivers = {
            "sqlite": "sqlite+aiosqlite",
            "sqlite+aiosqlite": "sqlite+aiosqlite",
            "postgres": "postgresql+asyncpg",
            "postgresql": "postgresql+asyncpg",
            "postgresql+asyncpg": "postgresql+asyncpg",
        }
        if not separator or scheme not in drivers:
            # The URL may hold a password: only its scheme is shown.
            raise StartRefusedError(
                f"HEADRACE_SERVER_DATABASE_URL starts with {scheme if separator else '(no scheme)'!r}; "
                "it must be postgresql://user@host/name or sqlite:////absolute/path.db"
            )
        if scheme.startswith("sqlite") and rest.strip("/") in ("", ":memory:"):
            raise StartRefusedError("an SQLite database in memory would lose every report; give it a file")
        return f"{drivers[scheme]}://{rest}"

    @field_validator("webhook_allow")
    @classmethod
    def _check_allowed(cls, given: list[str]) -> list[str]:
        parse_allowed(given)
        return given

    @property
    def allowed_by_webhooks(self) -> Allowed:
        """What webhooks may reach besides public addresses."""
        return parse_allowed(self.webhook_allow)

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is the embedded one."""
        return self.url.startswith("sqlite")

    @property
    def secure_cookie(self) -> bool:
        """Whether the session cookie is sent over TLS (or to localhost) only."""
        return self.public if self.cookie_secure is None else self.cookie_secure

    @property
    def known_hosts(self) -> frozenset[str]:
        """Host names, lower case and without port, that requests may carry."""
        named = {host.lower().strip("[]") for host in self.allowed_hosts}
        return frozenset(named | {"localhost", "127.0.0.1", "::1", self.host.lower().strip("[]")})

    def refuse_unsafe_bind(self) -> None:
        """Raise StartRefusedError when `host` is reachable from elsewhere and nobody said that it may be."""
        if not is_loopback(self.host) and not self.public:
            raise StartRefusedError(
                f"refusing to bind {self.host}: it is reachable from other machines and this server speaks plain "
                "HTTP. Put TLS in front and pass --public (or HEADRACE_SERVER_PUBLIC=1), or bind 127.0.0.1."
            )

    def refuse_workers_on_sqlite(self) -> None:
        """Raise StartRefusedError when several processes would write to one SQLite file."""
        if self.workers > 1 and self.is_sqlite:
            raise StartRefusedError(
                f"refusing {self.workers} workers on SQLite: its one writer at a time would keep them waiting for each "
                "other, and they could not tell each other of edits. Set HEADRACE_SERVER_DATABASE_URL to a PostgreSQL "
                "database, or leave --workers at 1."
            )

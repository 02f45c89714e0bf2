"""The two jobs that are seeded over REST before the browser opens."""

from typing import Any

from .rest import Api, record

HOSTILE_NAME = '<img src=x onerror="window.pwned=1">{{7*7}}'
HOSTILE_SOURCES = (
    '<a href="https://evil.example/">free tokens</a>',
    '=HYPERLINK("https://evil.example/")',
    "<script>window.pwned=1</script>%{x}",
)
HOSTILE_REASON = '<b onmouseover="window.pwned=1">out of memory</b>'
BIG_NAME = "many-ranks"
BIG_WORLD = 10_240
BIG_SLOW_RANK = 1234
_SLOW_DISKS = range(4096, 4352)
_BIG_SOURCES = ("web", "code")


def seed_hostile_job(api: Api) -> str:
    """A job whose every name tries to be HTML, a link, a template or a formula; returns its id."""
    job = api.create_job(HOSTILE_NAME, HOSTILE_SOURCES)
    attempt = api.start_attempt(job, 1)
    host = "<svg/onload=window.pwned=1>"
    api.report(job, attempt, [record(0, 1, seq, HOSTILE_SOURCES, host=host) for seq in range(30)])
    api.end_attempt(job, attempt, "failed", HOSTILE_REASON)
    return job


class BigJob:
    """A job of thousands of ranks, one of them far behind the others."""

    def __init__(self, api: Api, name: str = BIG_NAME) -> None:
        """Register it and let every rank report once."""
        self._api = api
        self._seq = 0
        self.id = api.create_job(name, _BIG_SOURCES)
        self._attempt = api.start_attempt(self.id, BIG_WORLD)
        self.report()

    def report(self) -> None:
        """Let every rank report once more."""
        self._seq += 3
        self._api.report(self.id, self._attempt, [self._record(rank) for rank in range(BIG_WORLD)])

    def _record(self, rank: int) -> dict[str, Any]:
        seq = self._seq - 3 if rank == BIG_SLOW_RANK else self._seq
        # A little noise, and a stretch of hosts that wait for a slow disk.
        noise = (rank * 7919) % 101 / 100
        wait_ms = 40.0 + 8 * noise if rank in _SLOW_DISKS else 0.8 + noise
        more = {"wait_p99_ms": wait_ms, "wait_max_ms": 2 * wait_ms, "wait_share": wait_ms / 2000}
        more["rss_bytes"] = int(1.5e9 + 2e8 * noise)
        return record(rank, BIG_WORLD, seq, _BIG_SOURCES, tokens=640, **more)

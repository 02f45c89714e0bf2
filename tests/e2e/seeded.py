"""The two jobs that are seeded over REST before the browser opens."""

from .rest import Api, record

HOSTILE_NAME = '<img src=x onerror="window.pwned=1">{{7*7}}'
HOSTILE_SOURCES = (
    '<a href="https://evil.example/">free tokens</a>',
    '=HYPERLINK("https://evil.example/")',
    "<script>window.pwned=1</script>%{x}",
)
HOSTILE_REASON = '<b onmouseover="window.pwned=1">out of memory</b>'
BIG_NAME = "many-ranks"
BIG_WORLD = 3000


def seed_hostile_job(api: Api) -> str:
    """A job whose every name tries to be HTML, a link, a template or a formula; returns its id."""
    job = api.create_job(HOSTILE_NAME, HOSTILE_SOURCES)
    attempt = api.start_attempt(job, 1)
    host = "<svg/onload=window.pwned=1>"
    api.report(job, attempt, [record(0, 1, seq, HOSTILE_SOURCES, host=host) for seq in range(30)])
    api.fail_attempt(job, attempt, HOSTILE_REASON)
    return job


def seed_big_job(api: Api) -> str:
    """A job of thousands of ranks, rank 1234 far behind the others; returns its id."""
    sources = ("web", "code")
    job = api.create_job(BIG_NAME, sources)
    attempt = api.start_attempt(job, BIG_WORLD)
    api.report(
        job,
        attempt,
        [record(rank, BIG_WORLD, 0 if rank == 1234 else 3, sources, tokens=640) for rank in range(BIG_WORLD)],
    )
    return job

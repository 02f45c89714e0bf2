"""A thousand edits of one mix by sixteen editors at once: ``python -m benchmarks.edits``.

On SQLite over one server, on PostgreSQL (every commit on disk) over two, each in a process of its own. Each editor
edits the newest version it knows and goes on from what it is told. Afterwards each version must have exactly one
winner, and the audit log one line; the script fails otherwise.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.ingest import DATABASES, shown
from tests.backend.editors import check, contest
from tests.backend.postgres import postgres_server
from tests.backend.process import command, new_key, serving


@contextmanager
def services(database: str) -> Iterator[tuple[list[str], str]]:
    """The addresses of running servers on one database, and a key for them."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-edits-"))
    try:
        with ExitStack() as stack:
            settings: dict[str, str] = {}
            num_servers = 1
            if database == "postgresql":
                settings["database_url"] = stack.enter_context(postgres_server(durable=True)).uri
                made = command(folder, "migrate", **settings)
                assert made.returncode == 0, made.stderr
                num_servers = 2
            urls = []
            for number in range(num_servers):
                own = folder / str(number)
                own.mkdir()
                urls.append(stack.enter_context(serving(own, **settings)).url)
            yield urls, new_key(folder / "0", **settings)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(database: str, editors: int, edits: int) -> None:
    """Print what came of it on one database."""
    with services(database) as (urls, key):
        began = time.perf_counter()
        found = contest(urls, key, editors=editors, edits=edits)
        seconds = time.perf_counter() - began
        check(urls[-1], key, found, edits)
    num_won = len(found.won)
    print(
        f"{database}: {editors} editors over {len(urls)} server(s), {num_won + found.num_lost:,} edits in "
        f"{seconds:.0f} s: {num_won:,} won, one a version, {found.num_lost:,} told to start from the winner's, 0 lost"
    )
    print("  " + shown("an edit", found.took_s))


def main() -> None:
    """Measure, check and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--database", choices=DATABASES, action="append", help="default: both")
    parser.add_argument("--editors", type=int, default=16)
    parser.add_argument("--edits", type=int, default=1000, help="that win")
    args = parser.parse_args()
    for database in args.database or DATABASES:
        measure(database, args.editors, args.edits)


if __name__ == "__main__":
    main()

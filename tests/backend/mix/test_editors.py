"""Sixteen editors at once on real servers: one winner a version, nothing lost, the audit log complete."""

from contextlib import ExitStack
from pathlib import Path

from headrace_server.settings import Settings

from tests.backend.editors import check, contest
from tests.backend.process import new_key, serving

EDITORS = 16
EDITS = 30


def test_sixteen_editors_over_one_server_or_two(settings: Settings, tmp_path: Path) -> None:
    """On PostgreSQL over two processes; SQLite has one. The thousand edits are ``python -m benchmarks.edits``."""
    given = {} if settings.database_url is None else {"database_url": settings.database_url}
    folders = [settings.data_dir] if settings.is_sqlite else [tmp_path / "a", tmp_path / "b"]
    with ExitStack() as stack:
        servers = []
        for folder in folders:
            folder.mkdir(exist_ok=True)
            servers.append(stack.enter_context(serving(folder, **given)))
        key = new_key(folders[0], **given)
        found = contest([server.url for server in servers], key, editors=EDITORS, edits=EDITS)
        check(servers[-1].url, key, found, EDITS)
        assert found.num_lost > 0, "they did edit at once"

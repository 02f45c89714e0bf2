"""Files that appear under their name only when they are whole."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedWriter
from pathlib import Path


@contextmanager
def whole_file(path: Path, *, durable: bool) -> Iterator[BufferedWriter]:
    """A file to write that replaces `path` when the block ends well and is removed when it does not.

    It is written beside `path` as a hidden `.tmp` file of a unique name, so readers and other writers never meet it.
    With `durable` it is on disk before it gets its name. Raises OSError.
    """
    aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with aside.open("xb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Puts the names in a folder on disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

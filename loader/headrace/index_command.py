"""`headrace index`: the counts of a source in one file, so that its next starts read no footers."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from headrace.discovery import Found, discover
from headrace.errors import ConfigError, SourceError
from headrace.footers import read_footers
from headrace.formats import ShardIndex
from headrace.formats.allowance import UNLIMITED
from headrace.names import unwanted_name, wanted_extension
from headrace.places import Place, parse_place
from headrace.source_index import write_index

_EVERY_S = 5.0

EPILOG = """examples:
  headrace index /data/web -o web.parquet
  headrace index s3://corpus/web -o s3://corpus/indexes/web.parquet
  headrace index "s3://corpus/web?endpoint_override=10.0.0.7:9000&scheme=http" -o web.parquet

then, in the training script: Source("web", "s3://corpus/web", index="web.parquet")
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.description = "Count every shard of a source once, and write the counts to one Parquet file."
    parser.epilog = EPILOG
    parser.add_argument("path", help="a folder, a shard, or the URI of either on object storage")
    parser.add_argument("-o", "--output", required=True, help="the file to write: a path or a URI")
    parser.add_argument("--column", default="tokens", help="the column that holds the token ids (tokens)")


def run(args: argparse.Namespace) -> int:
    """Write the index; the exit status.

    Raises:
        ConfigError: an output that would be taken for a shard of the source.
        SourceError, ShardError: a source that can't be read, or an output that can't be written.
    """
    found = discover(args.path, parse_place(args.path))
    output = parse_place(args.output)
    _check_output(found, output)
    progress = _Progress(len(found.files))
    indexes = read_footers(args.path, found, args.column, lambda path: False, UNLIMITED)
    try:
        write_index(output, found, args.column, map(progress.passing, indexes))
    except OSError as error:
        raise SourceError(f"{output} can't be written ({error.strerror or error}); name another file") from error
    progress.end()
    print(
        f"{output}: {len(found.files)} shards of {found.root}, {progress.documents} documents, {progress.tokens} tokens"
    )
    return 0


def _check_output(found: Found, output: Place) -> None:
    """Refuses an output that the next listing would take for a shard."""
    inside = _relative(found.root, output)
    if inside is None or any(map(unwanted_name, inside.split("/"))) or not wanted_extension(inside):
        return
    raise ConfigError(
        f"--output {output} lies in {found.root}, where it would be taken for a shard; write it elsewhere, or call it "
        f"_{output.base}"
    )


def _relative(root: Place, output: Place) -> str | None:
    """What `output` is called below `root`; None where it isn't there."""
    if (root.remote is None) != (output.remote is None):
        return None
    if root.remote is None or output.remote is None:
        folder, file = Path(root.path).resolve(), Path(output.path).resolve()
        return file.relative_to(folder).as_posix() if file.is_relative_to(folder) else None
    is_below = root.remote.identity == output.remote.identity and output.path.startswith(f"{root.path}/")
    return output.path.removeprefix(f"{root.path}/") if is_below else None


class _Progress:
    """Shards counted so far, on standard error: in one line of a terminal, or every few seconds in a log."""

    def __init__(self, total: int) -> None:
        self.documents = 0
        self.tokens = 0
        self._done = 0
        self._total = total
        self._shown_at = time.monotonic()

    def passing(self, index: ShardIndex) -> ShardIndex:
        """Counts a shard, and passes it on."""
        self._done += 1
        self.documents += int(index.table.num_documents.sum())
        self.tokens += int(index.table.num_tokens.sum())
        every_s = 0.1 if sys.stderr.isatty() else _EVERY_S
        if time.monotonic() - self._shown_at >= every_s:
            self._show()
        return index

    def end(self) -> None:
        """Shows the last number."""
        self._show()
        if sys.stderr.isatty():
            print(file=sys.stderr)

    def _show(self) -> None:
        self._shown_at = time.monotonic()
        start, end = ("\r", "") if sys.stderr.isatty() else ("", "\n")
        print(f"{start}{self._done} of {self._total} shards", end=end, file=sys.stderr, flush=True)

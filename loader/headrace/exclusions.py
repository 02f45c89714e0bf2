"""Documents that a source leaves out: whole shards by glob, single rows by lists of (path, row) pairs.

    exclusions = read_exclusions("web", ("old/**", "/lists/duplicates.parquet"))
    kept = exclusions.left_out(manifest, exclusions.items)

Left out from the start, documents are not in the counts at all. Left out on resume they first become holes, which keep
their places in the epoch that is under way, and then leave the counts. Everything here is a pure function of the
manifest, the words and the lists.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from headrace.errors import SourceError
from headrace.manifest import Shard, SourceManifest, bounds_of
from headrace.patterns import path_pattern
from headrace.places.place import parse_place
from headrace.row_counts import count_rows
from headrace.row_lists import RowList, is_row_list, list_name, parse_rows

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Exclusion:
    """One item of `exclude`, as the user wrote it; `digest`, 16 hex digits, is of the glob or the list's content."""

    text: str
    digest: str
    rows: RowList | None
    "None: a glob"


@dataclass(frozen=True, slots=True)
class Exclusions:
    """What one source leaves out, in the order in which the user gave it."""

    items: tuple[Exclusion, ...] = ()

    def leaves_out(self, path: str) -> bool:
        """Whether a glob matches the shard at this relative path."""
        return any(path_pattern(item.text).fullmatch(path) for item in self.items if item.rows is None)

    def check(self, manifest: SourceManifest) -> None:
        """Raises SourceError for a glob or a pair that matches nothing in the whole source, or a row it lacks."""
        numbers = _numbers(manifest)
        for item in self.items:
            if item.rows is None:
                _check_glob(manifest, numbers, item.text)
            else:
                _check_rows(manifest, numbers, item.rows)

    def left_out(self, manifest: SourceManifest, items: Sequence[Exclusion]) -> SourceManifest:
        """`manifest`, or a part of it, without the documents of `items`, and with counts to match.

        Raises SourceError when no document is left; ShardError for a block that can't be read to count what is left
        out of it.
        """
        whole, rows = _places(manifest, items)
        documents, tokens = manifest.block_documents.copy(), manifest.block_tokens.copy()
        gone = np.isin(manifest.block_shard, list(whole))
        documents[gone] = tokens[gone] = 0
        counts = count_rows(manifest, rows)
        documents[counts.block] -= counts.documents
        tokens[counts.block] -= counts.tokens
        kept = np.flatnonzero(documents > 0)
        if len(kept) == 0:
            raise SourceError(
                f"source '{manifest.name}': exclude leaves out all of its {manifest.num_documents} documents; a source "
                "needs at least one: exclude less, or take the source away"
            )
        shards = _without(manifest, np.bincount(manifest.block_shard[kept], minlength=len(manifest.shards)), rows)
        low, high = bounds_of(shards)
        return replace(
            manifest,
            shards=shards,
            block_shard=manifest.block_shard[kept],
            block_index=manifest.block_index[kept],
            block_documents=documents[kept],
            block_tokens=tokens[kept],
            left_out=_merged(manifest.left_out, rows),
            num_excluded=manifest.num_excluded + manifest.num_documents - int(documents.sum()),
            min_token=low,
            max_token=high,
        )

    def with_holes(self, manifest: SourceManifest, items: Sequence[Exclusion]) -> SourceManifest:
        """`manifest`, or a part of it, with the documents of `items` as holes: counts and places stay."""
        whole, rows = _places(manifest, items)
        return replace(
            manifest, holes=_merged(manifest.holes, rows), hole_shards=manifest.hole_shards | frozenset(whole)
        )


def read_exclusions(source: str, texts: Iterable[str]) -> Exclusions:
    """The items of `Source.exclude`; raises SourceError, naming source and file, for a list that can't be read."""
    return Exclusions(tuple(_read(source, text) for text in texts))


def _read(source: str, text: str) -> Exclusion:
    name = list_name(text)
    if not is_row_list(text):
        return Exclusion(text, hashlib.blake2b(text.encode(), digest_size=8).hexdigest(), None)
    try:
        file = parse_place(text).open()
        rows = parse_rows(name, file.read(0, file.size_bytes).tobytes())
    except OSError as error:
        raise SourceError(
            f"source '{source}': exclude names the file {name}, which can't be read ({error.strerror or error}); a "
            "file of (path, row) pairs must be there at every start"
        ) from error
    except SourceError as error:
        raise SourceError(f"source '{source}': exclude: {error}") from error
    return Exclusion(text, rows.digest, rows)


def _numbers(manifest: SourceManifest) -> dict[str, int]:
    return {shard.path: number for number, shard in enumerate(manifest.shards)}


def _places(manifest: SourceManifest, items: Sequence[Exclusion]) -> tuple[set[int], dict[int, Ints]]:
    """(shards left out whole, sorted rows of other shards) by the shards' numbers."""
    numbers = _numbers(manifest)
    whole: set[int] = set()
    rows: dict[int, Ints] = {}
    for item in items:
        if item.rows is None:
            pattern = path_pattern(item.text)
            whole.update(number for path, number in numbers.items() if pattern.fullmatch(path))
        else:
            rows = _merged(rows, _numbered(manifest, numbers, item.rows))
    return whole, {number: own for number, own in rows.items() if number not in whole}


def _numbered(manifest: SourceManifest, numbers: Mapping[str, int], listed: RowList) -> dict[int, Ints]:
    found: dict[int, Ints] = {}
    for path, rows in listed.rows.items():
        number = _number(manifest, numbers, path)
        if number is not None:
            found[number] = np.union1d(found[number], rows) if number in found else rows
    return found


def _number(manifest: SourceManifest, numbers: Mapping[str, int], path: str) -> int | None:
    """The shard at a path that is relative to the source, or whole."""
    return numbers.get(path, numbers.get(path.removeprefix(f"{manifest.root}/")))


def _without(manifest: SourceManifest, num_blocks: Ints, rows: Mapping[int, Ints]) -> tuple[Shard, ...]:
    """The shards with so many blocks left; a file proves nothing of the ids that are left once some are gone."""
    firsts = np.cumsum(num_blocks) - num_blocks
    shards = []
    for number, shard in enumerate(manifest.shards):
        shards.append(replace(shard, first_block=int(firsts[number]), num_blocks=int(num_blocks[number])))
        if number in rows:
            shards[-1] = replace(shards[-1], min_token=None, max_token=None)
    return tuple(shards)


def _check_glob(manifest: SourceManifest, numbers: Mapping[str, int], glob: str) -> None:
    if not any(map(path_pattern(glob).fullmatch, numbers)):
        raise SourceError(
            f"source '{manifest.name}': exclude has {glob!r}, which matches none of the {len(numbers)} shards below "
            f"{manifest.root}, such as {next(iter(numbers))!r}; {_hint(glob, numbers)}"
        )


def _check_rows(manifest: SourceManifest, numbers: Mapping[str, int], listed: RowList) -> None:
    for path, rows in listed.rows.items():
        what = f"source '{manifest.name}': exclude: {listed.name} names row {rows[-1]} of {path!r}"
        number = _number(manifest, numbers, path)
        if number is None:
            raise SourceError(
                f"{what}, which is none of the {len(numbers)} shards below {manifest.root}, such as "
                f"{next(iter(numbers))!r}; correct the path, or take the pair away"
            )
        size = manifest.shards[number].num_rows
        if int(rows[-1]) >= size:
            raise SourceError(f"{what}, which has {size} rows (0 to {size - 1}); correct the row")


def _hint(glob: str, paths: Iterable[str]) -> str:
    folder = glob.rstrip("/") + "/"
    if any(path.startswith(folder) for path in paths):
        return f"write {folder + '**'!r} for everything in that folder"
    if Path(glob).is_file():
        return f"write {'./' + glob!r} if it is a file of (path, row) pairs"
    return "a glob is matched against the whole path below the source: '**/name*' finds names in any folder"


def _merged(one: Mapping[int, Ints], other: Mapping[int, Ints]) -> dict[int, Ints]:
    """The rows of both, by shard."""
    merged = dict(one)
    for number, rows in other.items():
        merged[number] = np.union1d(merged[number], rows) if number in merged else rows
    return merged

"""Some of a source's shards as a source of their own: what an earlier stretch of a run had, or what was appended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from headrace.manifest import SourceManifest, fingerprint_of

Ints = npt.NDArray[np.int64]

Ranges = tuple[tuple[int, int], ...]
"runs of shards by their numbers in the listing: (first, how many), ascending and apart"


def ranges_of(numbers: Iterable[int]) -> Ranges:
    """Shards' numbers, ascending, as runs."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][0] + runs[-1][1] == number:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((number, 1))
    return tuple(runs)


def numbers_of(ranges: Sequence[tuple[int, int]]) -> list[int]:
    """The shards of runs, by number, ascending."""
    return [number for first, count in ranges for number in range(first, first + count)]


def select_shards(manifest: SourceManifest, ranges: Ranges) -> SourceManifest:
    """`manifest` with these shards only; its fingerprint is the one that a folder of just them would have.

    Empty, null and excluded rows, which are not known by shard, stay those of the whole.
    """
    if ranges == ((0, len(manifest.shards)),):
        return manifest
    numbers = numbers_of(ranges)
    chosen = np.zeros(len(manifest.shards), np.bool_)
    chosen[numbers] = True
    blocks = np.flatnonzero(chosen[manifest.block_shard])
    place = np.cumsum(chosen) - 1
    shards = []
    first = 0
    for number in numbers:
        shards.append(replace(manifest.shards[number], first_block=first))
        first += shards[-1].num_blocks
    documents, tokens = manifest.block_documents[blocks], manifest.block_tokens[blocks]
    block_index = manifest.block_index[blocks]
    return replace(
        manifest,
        shards=tuple(shards),
        block_shard=place[manifest.block_shard[blocks]].astype(np.int32),
        block_index=block_index,
        block_documents=documents,
        block_tokens=tokens,
        num_rows=sum(shard.num_rows for shard in shards),
        fingerprint=fingerprint_of(tuple(shards), block_index, documents, tokens),
        left_out=_renumbered(manifest.left_out, place, chosen),
        holes=_renumbered(manifest.holes, place, chosen),
        hole_shards=frozenset(int(place[number]) for number in manifest.hole_shards if chosen[number]),
    )


def _renumbered(rows: Mapping[int, Ints], place: Ints, chosen: npt.NDArray[np.bool_]) -> dict[int, Ints]:
    return {int(place[number]): own for number, own in rows.items() if chosen[number]}

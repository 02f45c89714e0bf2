"""How long a source's documents are: exactly, in some of its blocks or in all.

The manifest holds no document's length, so blocks are opened; memory is a number for each distinct length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headrace.manifest import SourceManifest
from headrace.permute import permutation
from headrace.reader import SourceReader

Ints = npt.NDArray[np.int64]

SAMPLE_BLOCKS = 64
"blocks of a source whose documents are measured"

SAMPLE_TOKENS = 1 << 26
"tokens from which on no further block of a sample is opened"


@dataclass(frozen=True, slots=True)
class Lengths:
    """Document lengths in the blocks that were opened, in tokens without separators."""

    blocks: int
    documents: int
    whole_source: bool
    "whether those are all blocks, so that every figure here is of the whole source"
    min: int
    median: int
    p90: int
    max: int
    min_token: int
    "the smallest id in those blocks"
    max_token: int
    histogram: tuple[tuple[int, int, int], ...]
    "(from, to, documents): lengths from 2^n to 2^(n + 1) − 1"


def measure_lengths(manifest: SourceManifest, max_blocks: int, *, full: bool) -> Lengths:
    """Measure the documents of up to `max_blocks` blocks drawn at random, always the same ones.

    Holds a number for each distinct length, not for each document.
    """
    reader = SourceReader(manifest)
    lengths, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    bounds: list[tuple[int, int]] = []
    tokens = 0
    try:
        for block in sorted(permutation(1, manifest.num_blocks)[:max_blocks].tolist()):
            opened = reader.open_block(block)
            lengths, counts = _merged(lengths, counts, opened.lengths)
            bounds.append(_bounds(opened.tokens, opened.starts, opened.lengths))
            tokens += int(opened.lengths.sum())
            if tokens >= SAMPLE_TOKENS and not full:
                break
    finally:
        reader.close()
    documents = int(counts.sum())
    half, nine = (int(lengths[np.searchsorted(np.cumsum(counts), documents * share)]) for share in (0.5, 0.9))
    return Lengths(
        blocks=len(bounds),
        documents=documents,
        whole_source=len(bounds) == manifest.num_blocks,
        min=int(lengths[0]),
        median=half,
        p90=nine,
        max=int(lengths[-1]),
        min_token=min(low for low, _ in bounds),
        max_token=max(high for _, high in bounds),
        histogram=_histogram(lengths, counts),
    )


def _merged(lengths: Ints, counts: Ints, more: Ints) -> tuple[Ints, Ints]:
    """Distinct lengths in rising order, and how many documents have each, with those of `more` added."""
    new, new_counts = np.unique(more, return_counts=True)
    together, place = np.unique(np.concatenate((lengths, new)), return_inverse=True)
    totals = np.zeros(len(together), np.int64)
    np.add.at(totals, place, np.concatenate((counts, new_counts)))
    return together, totals


def _bounds(tokens: npt.NDArray[np.integer], starts: Ints, lengths: Ints) -> tuple[int, int]:
    """The smallest and largest id of a block's documents, whose tokens may be a view of a whole mapped file."""
    ends = starts + lengths
    breaks = np.flatnonzero(starts[1:] != ends[:-1]) + 1
    runs = zip(starts[np.r_[0, breaks]].tolist(), ends[np.r_[breaks - 1, -1]].tolist(), strict=True)
    parts = [tokens[start:end] for start, end in runs]
    return min(int(part.min()) for part in parts), max(int(part.max()) for part in parts)


def _histogram(lengths: Ints, counts: Ints) -> tuple[tuple[int, int, int], ...]:
    powers = np.frexp(lengths)[1] - 1
    first = int(powers[0])
    totals = np.zeros(int(powers[-1]) - first + 1, np.int64)
    np.add.at(totals, powers - first, counts)
    return tuple((1 << n, (2 << n) - 1, int(total)) for n, total in enumerate(totals, first))

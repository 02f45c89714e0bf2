"""What the loader's pure parts may be given, as Hypothesis strategies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from headrace.mix import PPM, Revision
from hypothesis import strategies as st

Ints = npt.NDArray[np.int64]

keys = st.integers(0, (1 << 64) - 1)
"permutation keys"

seeds = st.integers(0, (1 << 63) - 1)

TABLE_EDGE = tuple((1 << 16) + near for near in (-2, -1, 0, 1, 2, 3))
"sizes around the one where permutations change from a table to the Feistel network"

table_sizes = st.one_of(st.integers(0, 300), st.sampled_from((4095, 4096, 4097)), st.integers(300, 9000))
feistel_sizes = st.one_of(
    st.sampled_from(TABLE_EDGE[2:]), st.integers(1 << 16, 1 << 18), st.sampled_from((1 << 17, 1 << 18))
)
whole_sizes = st.one_of(table_sizes, st.sampled_from(TABLE_EDGE), feistel_sizes)
"sizes whose whole permutation can be looked at"

huge_sizes = st.one_of(st.integers(1 << 16, 1 << 62), st.sampled_from([1 << bits for bits in range(16, 63)]))
"sizes of which only a few indices can be looked at"


@dataclass(frozen=True)
class Shape:
    """The sizes that decide a source's order."""

    block_tokens: list[int]
    seq_len: int
    lanes: int

    @property
    def total_tokens(self) -> int:
        """Tokens of one epoch."""
        return sum(self.block_tokens)


@st.composite
def small_shapes(draw: st.DrawFn) -> Shape:
    """Sources of one full permutation: shorter than a sequence, than the lanes, and up to some hundred sequences."""
    blocks = draw(st.lists(st.integers(1, 400), min_size=1, max_size=30))
    return Shape(blocks, draw(st.integers(2, 64)), 1 << draw(st.integers(0, 10)))


@st.composite
def large_shapes(draw: st.DrawFn) -> Shape:
    """Sources dealt over lanes: more than 4,096 sequences an epoch, of odd sizes."""
    seq_len = draw(st.integers(2, 9))
    num_blocks = draw(st.integers(1, 300))
    wanted = draw(st.integers(4_200, 12_000)) * seq_len + draw(st.integers(0, seq_len))
    mean = max(1, wanted // num_blocks)
    blocks = draw(st.lists(st.integers(max(1, mean // 2), mean * 2), min_size=num_blocks, max_size=num_blocks))
    blocks[0] += max(0, 4_097 * seq_len - sum(blocks))
    return Shape(blocks, seq_len, 1 << draw(st.integers(0, 10)))


def weights_ppm(num_sources: int, *, may_pause: bool = True) -> st.SearchStrategy[Ints]:
    """int64 (num_sources,) that sum to 1,000,000: equal, skewed to single millionths, with and without pauses."""
    least = 0 if may_pause else 1
    value = st.one_of(st.integers(least, 1_000), st.integers(least, PPM), st.sampled_from((least, 1, 1_000, PPM)))
    lists = st.lists(value, min_size=num_sources, max_size=num_sources).filter(any)
    return lists.map(lambda values: _scaled(values, least))


def _scaled(values: list[int], least: int) -> Ints:
    exact = np.array(values, dtype=object)
    scaled = np.array([max(least if value else 0, value * PPM // sum(values)) for value in exact], np.int64)
    scaled[int(np.argmax(scaled))] += PPM - scaled.sum()
    return scaled


@st.composite
def logs(draw: st.DrawFn, names: tuple[str, ...], max_revisions: int = 12) -> list[Revision]:
    """Logs of changes in the order of agreement: several at one step, ramps, ramps cut short, pauses."""
    log = [Revision("config:1", 0, _named(names, draw(weights_ppm(len(names)))))]
    for number in range(draw(st.integers(0, max_revisions))):
        step = log[-1].from_step + draw(st.integers(0, 6))
        ramp = draw(st.sampled_from((0, 0, 1, 2, 5, 17)))
        log.append(Revision(f"service:{number + 2}", step, _named(names, draw(weights_ppm(len(names)))), ramp))
    return log


def _named(names: tuple[str, ...], weights: Ints) -> dict[str, int]:
    return dict(zip(names, weights.tolist(), strict=True))


TOKEN_TYPES = (np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64)


@st.composite
def documents(draw: st.DrawFn, dtype: npt.DTypeLike, max_documents: int = 12) -> list[list[int]]:
    """Documents of a block, each of at least one id that `dtype` and an int64 batch can hold, the largest too."""
    top = min(int(np.iinfo(dtype).max), (1 << 62) - 1)
    document = st.lists(st.one_of(st.integers(0, 9), st.integers(0, top), st.just(top)), min_size=1, max_size=20)
    return draw(st.lists(document, min_size=1, max_size=max_documents))

"""Best-fit packing: every token once, documents whole where they can be, hardly any padding."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from headrace.best_fit import WINDOW_DOCUMENTS, WINDOW_SEQUENCES, Layout, find_windows, pack_window
from hypothesis import given, settings
from hypothesis import strategies as st

Ints = npt.NDArray[np.int64]


def _check_exact(layout: Layout, sizes: Ints, seq_len: int, num_sequences: int) -> None:
    pieces: dict[int, list[tuple[int, int]]] = {}
    assert (layout.edges[0], layout.edges[-1]) == (0, len(layout.count))
    for sequence in range(num_sequences):
        here = slice(layout.edges[sequence], layout.edges[sequence + 1])
        assert layout.count[here].sum() <= seq_len
        for document, first, count in zip(layout.document[here], layout.first[here], layout.count[here], strict=True):
            pieces.setdefault(int(document), []).append((int(first), int(count)))
    for document, size in enumerate(sizes):
        at = 0
        for first, count in sorted(pieces[document]):
            assert (first, count > 0) == (at, True)
            at += count
        assert at == size


def _num_whole(layout: Layout, sizes: Ints, seq_len: int) -> int:
    """Documents no longer than a sequence that are in one piece."""
    parts = np.bincount(layout.document, minlength=len(sizes))
    return int(((parts == 1) & (sizes <= seq_len)).sum())


@settings(max_examples=200, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 80), min_size=1, max_size=60),
    seq_len=st.integers(2, 40),
    spare=st.integers(0, 3),
    seed=st.integers(0, 1 << 30),
)
def test_every_token_is_placed_once(sizes: list[int], seq_len: int, spare: int, seed: int) -> None:
    lengths = np.array(sizes, np.int64)
    num_sequences = -(-int(lengths.sum()) // seq_len) + spare
    order = np.random.default_rng(seed).permutation(len(sizes))
    layout = pack_window(order, lengths, seq_len, num_sequences)
    _check_exact(layout, lengths, seq_len, num_sequences)
    assert _num_whole(layout, lengths, seq_len) == (lengths <= seq_len).sum() - layout.num_cut
    again = pack_window(order, lengths, seq_len, num_sequences)
    assert all(
        (getattr(layout, name) == getattr(again, name)).all() for name in ("edges", "document", "first", "count")
    )


def test_documents_of_one_length_fit_without_a_cut() -> None:
    layout = pack_window(np.arange(120), np.full(120, 10), 30, 40)
    assert (layout.num_cut, np.diff(layout.edges).tolist()) == (0, [3] * 40)


def test_what_fits_nowhere_whole_is_split_over_the_gaps() -> None:
    """Three documents of 4 in two sequences of 6: the third can only go in two halves."""
    layout = pack_window(np.arange(3), np.full(3, 4), 6, 2)
    _check_exact(layout, np.full(3, 4), 6, 2)
    assert (layout.num_cut, layout.count.tolist()) == (1, [4, 2, 4, 2])


def test_web_like_documents_pad_under_one_percent_and_are_hardly_ever_cut() -> None:
    """2,048 lognormal documents of mean 820 at 8,192 tokens a sequence, as the promise is stated."""
    random = np.random.default_rng(0)
    padding, cut = [], 0
    for _ in range(20):
        sizes = np.maximum(1, random.lognormal(np.log(820) - 0.5, 1, 2048)).astype(np.int64) + 1
        windows = find_windows(np.array([2048]), np.array([sizes.sum()]), 8192)
        num_sequences = int(windows.num_sequences[0])
        layout = pack_window(random.permutation(2048), sizes, 8192, num_sequences)
        padding.append(1 - sizes.sum() / (num_sequences * 8192))
        cut += layout.num_cut
    print(f"padding {np.mean(padding):.4%} (worst {max(padding):.4%}), documents cut {cut / (20 * 2048):.4%}")
    assert max(padding) < 0.01
    assert cut / (20 * 2048) < 0.001


@settings(max_examples=100, deadline=None)
@given(
    blocks=st.lists(st.tuples(st.integers(1, 3000), st.integers(1, 300)), min_size=1, max_size=60),
    seq_len=st.integers(2, 5000),
)
def test_windows_are_whole_runs_of_blocks_with_room_for_all(blocks: list[tuple[int, int]], seq_len: int) -> None:
    documents = np.array([number for number, _ in blocks], np.int64)
    tokens = np.array([number * mean for number, mean in blocks], np.int64)
    windows = find_windows(documents, tokens, seq_len)
    edges = windows.first_block
    assert (edges[0], edges[-1], (np.diff(edges) > 0).all()) == (0, len(blocks), True)
    for window, num_sequences in enumerate(windows.num_sequences):
        here = slice(edges[window], edges[window + 1])
        assert num_sequences * seq_len >= tokens[here].sum()
        if len(windows.num_sequences) > 1:
            assert documents[here].sum() >= WINDOW_DOCUMENTS
            assert tokens[here].sum() >= WINDOW_SEQUENCES * seq_len

"""Permutations are bijections, look random, and never change between versions."""

from __future__ import annotations

import hashlib
import math
from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest
from headrace.permute import (
    TABLE_LIMIT,
    feistel,
    feistel_inverse,
    key_of,
    num_bits,
    permutation,
    permute,
    subkey,
    table_index,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loader import strategies

WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def excess(observed: npt.NDArray[np.int64], expected: float) -> float:
    """How many standard deviations Pearson's chi-squared statistic lies above its mean."""
    degrees = observed.size - 1
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return (statistic - degrees) / math.sqrt(2 * degrees)


# A reference in plain integers, written from the module's description.


def mixed(x: int) -> int:
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & WORD
    return x ^ (x >> 31)


def reference_table(key: int, size: int) -> list[int]:
    table = list(range(size))
    state = key
    for i in range(size - 1, 0, -1):
        while True:
            state = (state + GOLDEN) & WORD
            product = mixed(state) * (i + 1)
            if product & WORD >= (1 << 64) % (i + 1):
                break
        j = product >> 64
        table[i], table[j] = table[j], table[i]
    return table


def reference_feistel(key: int, size: int, index: int) -> int:
    bits = max(1, (size - 1).bit_length())
    low_bits = bits // 2
    while True:
        high, low = index >> low_bits, index & ((1 << low_bits) - 1)
        for number in range(6):
            of_round = mixed((key + (number + 1) * GOLDEN) & WORD)
            x = ((low if number % 2 == 0 else high) ^ of_round) * 0xD6E8FEB86659FD93 & WORD
            x = (x ^ (x >> 32) ^ of_round) * 0xBF58476D1CE4E5B9 & WORD
            if number % 2 == 0:
                high ^= (x >> 24) & ((1 << (bits - low_bits)) - 1)
            else:
                low ^= (x >> 24) & ((1 << low_bits) - 1)
        index = high << low_bits | low
        if index < size:
            return index


@settings(deadline=None, max_examples=60)
@given(strategies.keys, strategies.whole_sizes)
def test_every_size_is_a_bijection(key: int, size: int) -> None:
    assert np.array_equal(np.sort(permutation(key, size)), np.arange(size))


@pytest.mark.parametrize("size", strategies.TABLE_EDGE)
def test_the_sizes_where_the_construction_changes_are_bijections(size: int) -> None:
    assert np.array_equal(np.sort(permutation(3, size)), np.arange(size))


@settings(deadline=None, max_examples=60)
@given(strategies.keys, strategies.whole_sizes.filter(bool), st.data())
def test_permute_equals_permutation_at_any_indices(key: int, size: int, data: st.DataObject) -> None:
    picked = data.draw(st.lists(st.integers(0, size - 1), max_size=30))
    indices = np.array(picked, np.int64)
    assert np.array_equal(permute(key, size, indices), permutation(key, size)[indices])


@settings(deadline=None, max_examples=40)
@given(strategies.keys, st.integers(0, 300))
def test_tables_equal_the_reference(key: int, size: int) -> None:
    assert permutation(key, size).tolist() == reference_table(key, size)


@settings(deadline=None, max_examples=100)
@given(strategies.keys, strategies.huge_sizes, st.data())
def test_feistel_equals_the_reference_at_any_size(key: int, size: int, data: st.DataObject) -> None:
    indices = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=8))
    expected = [reference_feistel(key, size, index) for index in indices]
    assert permute(key, size, np.array(indices, np.int64)).tolist() == expected
    assert [int(feistel(np.uint64(key), size, index)) for index in indices] == expected


@settings(deadline=None, max_examples=60)
@given(strategies.keys, st.integers(1, 200))
def test_feistel_is_a_bijection_of_the_narrow_last_windows_too(key: int, size: int) -> None:
    """A lane's last window may be of any width, also where all others are wide enough for the Feistel network."""
    found = [int(feistel(np.uint64(key), size, index)) for index in range(size)]
    assert sorted(found) == list(range(size))
    assert found == [reference_feistel(key, size, index) for index in range(size)]


@settings(deadline=None, max_examples=40)
@given(strategies.keys, strategies.huge_sizes, st.data())
def test_distinct_indices_never_meet_at_huge_sizes(key: int, size: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, size - 5000))
    found = permute(key, size, np.arange(first, first + 5000))
    assert found.min() >= 0
    assert found.max() < size
    assert len(np.unique(found)) == 5000


@settings(deadline=None, max_examples=100)
@given(strategies.keys, st.one_of(st.integers(1, 300), strategies.huge_sizes), st.data())
def test_the_inverse_of_the_feistel_network(key: int, size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    assert feistel_inverse(np.uint64(key), size, int(feistel(np.uint64(key), size, index))) == index


@settings(deadline=None, max_examples=40)
@given(strategies.keys, strategies.table_sizes.filter(bool), st.data())
def test_the_inverse_of_a_table(key: int, size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    assert table_index(key, size, int(permutation(key, size)[index])) == index


def test_num_bits_is_the_smallest_power_that_holds_the_size() -> None:
    for size in (1, 2, 3, 4, 5, 255, 256, 257, 1 << 40, (1 << 40) + 1, 1 << 62):
        assert num_bits(size) == max(1, (size - 1).bit_length())


def test_golden_values() -> None:
    """A change of any of these would move the stream of every run and every checkpoint."""
    assert key_of(1234, "web", "order") == 11958207363584918101
    assert key_of(0) == 3774308934653935934
    assert int(subkey(np.uint64(1), 0, 1)) == 10435327332363382141
    assert int(subkey(np.uint64(WORD), 1 << 40, -1)) == 7278122090419442236
    assert permutation(7, 10).tolist() == [9, 5, 8, 6, 1, 2, 4, 7, 0, 3]
    assert permute(7, 10**11, np.arange(4)).tolist() == [20022910850, 51406069506, 85125256239, 90161852984]
    assert permute(7, (1 << 61) + 5, np.arange(2)).tolist() == [1133146051769415414, 1590429658823874399]
    digests = {
        1000: "fe4e2c75f36486e2",
        65535: "ece119612f4c99ec",
        65536: "177712a61fe8ae8f",
        65537: "7e7b3ff8c830da9d",
        100003: "86c790b1829cb00d",
    }
    for size, digest in digests.items():
        data = permutation(99, size).astype("<i8").tobytes()
        assert hashlib.blake2b(data, digest_size=8).hexdigest() == digest, size


def test_every_order_of_four_is_equally_likely() -> None:
    counts = dict.fromkeys(permutations(range(4)), 0)
    for number in range(24 * 400):
        counts[tuple(permutation(key_of(number, "orders"), 4).tolist())] += 1
    assert excess(np.array(list(counts.values())), 400) < 4


@pytest.mark.parametrize("size", [48, TABLE_LIMIT + 1])
def test_every_index_goes_everywhere_alike_over_keys(size: int) -> None:
    """Chi-squared of (index, image bucket) over 4,000 keys, neighbouring keys among them."""
    indices = np.linspace(0, size - 1, 16).astype(np.int64)
    num_buckets = 48
    counts = np.zeros((len(indices), num_buckets), np.int64)
    for key in range(4_000):
        counts[np.arange(len(indices)), permute(key, size, indices) * num_buckets // size] += 1
    for row in counts:
        assert excess(row, 4_000 / num_buckets) < 4.5


@pytest.mark.parametrize("size", [60_000, 65_536, 65_537, 1_000_003, 1 << 32, 10**11, (1 << 61) - 1])
def test_neighbours_land_independently(size: int) -> None:
    """Correlation and the spread of differences of images at lags 1 to 64, on 60,000 indices in a row."""
    number = 60_000
    image = permute(key_of(size, "lags"), size, np.arange(number))
    centred = image / size - 0.5
    for lag in range(1, 65):
        correlation = 12 * float(np.mean(centred[lag:] * centred[:-lag]))
        assert abs(correlation) < 5 / math.sqrt(number - lag), lag
    for lag in (1, 2, 3, 8, 64):
        apart = (image[lag:].astype(object) - image[:-lag]) % size * 100 // size
        counts = np.bincount(apart.astype(np.int64), minlength=100)
        assert excess(counts, len(apart) / 100) < 5, lag


@pytest.mark.parametrize("size", [1024, 1023, 1025, 70_001])
def test_keys_are_independent(size: int) -> None:
    """H04: orders of neighbouring keys are uncorrelated, and agree with each other as often as by chance."""
    orders = [permutation(key, size) for key in (*range(1, 6), 1 << 63, 1 | 1 << 63)]
    for one in range(len(orders)):
        for other in range(one):
            correlation = float(np.corrcoef(orders[one], orders[other])[0, 1])
            assert abs(correlation) < 5 / math.sqrt(size) < 0.2
            assert (orders[one] == orders[other]).sum() < 12


def test_one_bit_of_the_key_changes_everything() -> None:
    size, indices = 1 << 40, np.arange(64)
    base = permute(0, size, indices)
    for bit in range(64):
        changed = base ^ permute(1 << bit, size, indices)
        flipped = sum(int(word).bit_count() for word in changed)
        assert abs(flipped - 64 * 20) < 6 * math.sqrt(64 * 10), bit


def test_subkeys_of_neighbours_are_unrelated() -> None:
    grid = {(a, b): int(subkey(np.uint64(5), a, b)) for a in range(100) for b in range(100)}
    assert len(set(grid.values())) == len(grid)
    for (a, b), value in grid.items():
        if a and b:
            assert grid[a - 1, b] ^ value != grid[a - 1, b - 1] ^ grid[a, b - 1]
    bits = np.array([[value >> bit & 1 for bit in range(64)] for value in grid.values()])
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 5 * 0.5 / 100


def test_a_key_depends_on_every_part_its_type_and_its_borders() -> None:
    keys = [key_of(1, "a"), key_of("1", "a"), key_of(1, "b"), key_of("ab", "c"), key_of("a", "bc"), key_of("a", 1)]
    assert len(set(keys)) == len(keys)
    assert all(0 <= key <= WORD for key in keys)

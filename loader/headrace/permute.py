"""Keyed permutations: the same key always gives the same order, on every machine and in every version.

Two constructions, chosen by size alone:

- below 2^16: Fisher and Yates' shuffle (Knuth 3.4.2 P), drawing from a SplitMix64 sequence with Lemire's unbiased
  bounded numbers (Lemire 2019), as a table;
- from 2^16: a six-round Feistel network on the smallest power of two that holds the range, with cycle walking (Black
  and Rogaway 2002), one index at a time in constant memory.

Four Feistel rounds are measurably not random, and an affine map or LCG is worse; both were tried.
Everything here is integers in, integers out.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.kernels import compiled

Indices = npt.NDArray[np.int64]

TABLE_LIMIT = 1 << 16
"sizes below this are shuffled as a table; larger ones go through the Feistel network"


def key_of(*parts: int | str) -> int:
    """Hash `parts` to a 64-bit key. Any change of any part gives an unrelated key."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        text = f"{type(part).__name__}:{part}".encode()
        digest.update(len(text).to_bytes(4, "little") + text)
    return int.from_bytes(digest.digest(), "little")


@compiled
def mix64(x: np.uint64) -> np.uint64:
    """Stafford's variant 13 of the SplitMix64 finaliser: a bijection of 64-bit words that avalanches fully."""
    x = np.uint64(x)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def subkey(key: np.uint64, a: Any, b: Any) -> np.uint64:
    """A key for item (a, b), two integers, under `key`: two rounds of hashing, never adding alone."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    first = mix64((np.uint64(key) ^ mix64(np.uint64(a) + golden)) * golden + np.uint64(1))
    return mix64(first ^ mix64(np.uint64(b) + np.uint64(0xD1B54A32D192ED03)))


@compiled
def _high_product(a: np.uint64, b: np.uint64) -> np.uint64:
    """The upper 64 bits of a 64 × 32 bit product, as needed for numbers below 2^32."""
    low = (a & np.uint64(0xFFFFFFFF)) * b
    high = (a >> np.uint64(32)) * b
    return (high + (low >> np.uint64(32))) >> np.uint64(32)


@compiled
def fill_table(key: np.uint64, size: int, table: np.ndarray) -> None:
    """Write the keyed Fisher–Yates permutation of `range(size)` into `table[:size]`; `size` < 2^32."""
    for i in range(size):
        table[i] = i
    state = np.uint64(key)
    for i in range(size - 1, 0, -1):
        bound = np.uint64(i + 1)
        while True:
            state += np.uint64(0x9E3779B97F4A7C15)
            draw = mix64(state)
            # Lemire: reject the few draws that would favour small numbers.
            low = draw * bound
            if low >= bound or low >= (np.uint64(0) - bound) % bound:
                break
        j = np.int64(_high_product(draw, bound))
        held = table[i]
        table[i] = table[j]
        table[j] = held


@compiled
def _round(half: np.uint64, key: np.uint64) -> np.uint64:
    """The round function: two multiplications, of which the best-mixed middle bits are kept."""
    x = (half ^ key) * np.uint64(0xD6E8FEB86659FD93)
    x = (x ^ (x >> np.uint64(32)) ^ key) * np.uint64(0xBF58476D1CE4E5B9)
    return x >> np.uint64(24)


@compiled
def num_bits(size: int) -> np.int64:
    """The bits of the smallest power of two that is at least `size` (and at least 2)."""
    bits = np.int64(1)
    while (np.int64(1) << bits) < size:
        bits += 1
    return bits


@compiled
def _encipher(key: np.uint64, bits: np.int64, x: np.uint64) -> np.uint64:
    """Six Feistel rounds on a word of `bits` bits, halves as equal as they can be."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    base = np.uint64(key)
    low_bits = np.uint64(bits // 2)
    low_mask = (np.uint64(1) << low_bits) - np.uint64(1)
    high_mask = (np.uint64(1) << np.uint64(bits - bits // 2)) - np.uint64(1)
    high = x >> low_bits
    low = x & low_mask
    high ^= _round(low, mix64(base + golden)) & high_mask
    low ^= _round(high, mix64(base + np.uint64(2) * golden)) & low_mask
    high ^= _round(low, mix64(base + np.uint64(3) * golden)) & high_mask
    low ^= _round(high, mix64(base + np.uint64(4) * golden)) & low_mask
    high ^= _round(low, mix64(base + np.uint64(5) * golden)) & high_mask
    low ^= _round(high, mix64(base + np.uint64(6) * golden)) & low_mask
    return (high << low_bits) | low


@compiled
def feistel(key: np.uint64, size: int, index: int) -> np.int64:
    """Where the keyed Feistel permutation of `range(size)` sends `index`; 0 ≤ `index` < `size`."""
    bits = num_bits(size)
    x = _encipher(key, bits, np.uint64(index))
    while x >= np.uint64(size):
        x = _encipher(key, bits, x)
    return np.int64(x)


@compiled
def _decipher(key: np.uint64, bits: np.int64, x: np.uint64) -> np.uint64:
    """The word that `_encipher` sends to `x`."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    base = np.uint64(key)
    low_bits = np.uint64(bits // 2)
    low_mask = (np.uint64(1) << low_bits) - np.uint64(1)
    high_mask = (np.uint64(1) << np.uint64(bits - bits // 2)) - np.uint64(1)
    high = x >> low_bits
    low = x & low_mask
    low ^= _round(high, mix64(base + np.uint64(6) * golden)) & low_mask
    high ^= _round(low, mix64(base + np.uint64(5) * golden)) & high_mask
    low ^= _round(high, mix64(base + np.uint64(4) * golden)) & low_mask
    high ^= _round(low, mix64(base + np.uint64(3) * golden)) & high_mask
    low ^= _round(high, mix64(base + np.uint64(2) * golden)) & low_mask
    high ^= _round(low, mix64(base + golden)) & high_mask
    return (high << low_bits) | low


@compiled
def feistel_inverse(key: np.uint64, size: int, image: int) -> np.int64:
    """The index that `feistel` sends to `image`; 0 ≤ `image` < `size`."""
    bits = num_bits(size)
    x = _decipher(key, bits, np.uint64(image))
    while x >= np.uint64(size):
        x = _decipher(key, bits, x)
    return np.int64(x)


@compiled
def _feistel_all(key: np.uint64, size: int, indices: np.ndarray, out: np.ndarray) -> None:
    """`feistel` of every index. The first pass has no branch, so that the compiler vectorises it."""
    bits = num_bits(size)
    for i in range(indices.shape[0]):
        out[i] = np.int64(_encipher(key, bits, np.uint64(indices[i])))
    for i in range(indices.shape[0]):
        while out[i] >= size:
            out[i] = np.int64(_encipher(key, bits, np.uint64(out[i])))


@compiled
def _take(table: np.ndarray, indices: np.ndarray, out: np.ndarray) -> None:
    for i in range(indices.shape[0]):
        out[i] = table[indices[i]]


def permutation(key: int | None, size: int) -> Indices:
    """The keyed permutation of `range(size)` as a whole: int64 (size,); without a key, `range(size)` as it is."""
    if key is None:
        return np.arange(size, dtype=np.int64)
    out = np.empty(size, np.int64)
    if size < TABLE_LIMIT:
        fill_table(np.uint64(key), size, out)
    else:
        _feistel_all(np.uint64(key), size, np.arange(size, dtype=np.int64), out)
    return out


def permute(key: int, size: int, indices: Indices) -> Indices:
    """Where the keyed permutation of `range(size)` sends each of `indices`: int64, the same shape (n,).

    Equal to `permutation(key, size)[indices]` at any size, in constant memory from 2^16 on.
    """
    out = np.empty(len(indices), np.int64)
    if size < TABLE_LIMIT:
        _take(permutation(key, size), indices, out)
    else:
        _feistel_all(np.uint64(key), size, indices, out)
    return out


def table_index(key: int, size: int, image: int) -> int:
    """The index that the keyed Fisher–Yates permutation of `range(size)` sends to `image`; made anew each time."""
    table = np.empty(size, np.int64)
    fill_table(np.uint64(key), size, table)
    return int(np.flatnonzero(table == image)[0])

"""Long documents, encoded in pieces: where that is sure to give the same ids, or where the user said so."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from headrace.tokenize.encoders import Encoder

PIECE_CHARACTERS: Final = 1 << 16
"""From twice this on a document is cut where it is safe: libraries need up to 100 bytes of memory for each of text."""


def encode_documents(
    encoder: Encoder,
    texts: Sequence[str],
    split_long: int | None,
    *,
    group_characters: int,
    piece_characters: int = PIECE_CHARACTERS,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """The ids of all documents one after the other, and how many each has.

    With `split_long` documents of more characters are cut into pieces of at most so many, behind the last line feed, or
    else the last space, in the second half of each, or else at its end; ids may differ there from those of the whole.
    Pieces are encoded `group_characters` at a time, so that memory does not grow with a document.
    """
    cut = [_pieces(encoder, text, split_long, piece_characters) for text in texts]
    arrays: list[npt.NDArray[np.uint32]] = []
    lengths: list[npt.NDArray[np.int64]] = []
    for group in _groups(itertools.chain.from_iterable(cut), group_characters):
        ids, own = encoder.encode(group)
        arrays.append(ids)
        lengths.append(own)
    if not cut:
        return np.empty(0, np.uint32), np.empty(0, np.int64)
    firsts = np.cumsum([0, *(len(pieces) for pieces in cut[:-1])])
    return np.concatenate(arrays), np.add.reduceat(np.concatenate(lengths), firsts)


def _pieces(encoder: Encoder, text: str, split_long: int | None, piece_characters: int) -> list[str]:
    if split_long is not None and len(text) > split_long:
        return list(_split(text, split_long))
    if len(text) <= 2 * piece_characters:
        return [text]
    places = encoder.places(text, piece_characters) or []
    return [text[start:end] for start, end in itertools.pairwise([0, *places, len(text)])]


def _split(text: str, most: int) -> Iterator[str]:
    start = 0
    while len(text) - start > most:
        end = start + most
        for mark in ("\n", " "):
            place = text.rfind(mark, start + most // 2, start + most)
            if place >= 0:
                end = place + 1
                break
        yield text[start:end]
        start = end
    yield text[start:]


def _groups(pieces: Iterator[str], characters: int) -> Iterator[list[str]]:
    """Neighbouring pieces that have about so many characters together."""
    group: list[str] = []
    size = 0
    for piece in pieces:
        group.append(piece)
        size += len(piece)
        if size >= characters:
            yield group
            group, size = [], 0
    if group:
        yield group

"""A user's change of each sequence, such as fill-in-the-middle or masking of spans, that keeps the stream pure.

    def transform(tokens, boundaries, rng): ...

gets the ids of one sequence, int64 (seq_len,), where each of its documents' stretches begins and the last one ends,
int64 (stretches + 1,), and a generator whose numbers follow from the seed, the source and the sequence's ordinal alone.
It returns as many ids. Labels are made afterwards from what it returns; padding and holes stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.errors import ConfigError, TransformError
from headrace.packing import IGNORED
from headrace.permute import key_of

Ints = npt.NDArray[np.int64]

Transform = Callable[[Ints, Ints, np.random.Generator], Any]


def transform_name(transform: Transform | None, given: str | None) -> str | None:
    """What a checkpoint calls a transform: `given`, or the function's qualified name; None without one.

    Raises:
        ConfigError: not callable, a name without a transform, or a callable that has no name of its own.
    """
    if transform is None:
        if given is not None:
            raise ConfigError(f"transform_name is {given!r} but there is no transform; give both or neither")
        return None
    if not callable(transform):
        raise ConfigError(f"transform is {transform!r}; it must be a function of (tokens, boundaries, rng)")
    if given is not None:
        if not isinstance(given, str) or not given:
            raise ConfigError(f"transform_name is {given!r}; it must be a text that stays the same on every resume")
        return given
    name = getattr(transform, "__qualname__", None)
    if not isinstance(name, str):
        raise ConfigError(
            f"transform is {transform!r}, which has no name of its own; give transform_name, a text that changes "
            "whenever what the transform does changes"
        )
    return f"{transform.__module__}.{name}"


def generator_of(seed: int, source: str, ordinal: int) -> np.random.Generator:
    """The generator of one sequence; equal arguments give one with equal numbers."""
    key = np.array([key_of(seed, source, "transform"), ordinal], np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


@dataclass(frozen=True, slots=True)
class Sequences:
    """A micro-batch as it was packed; `ids` and `labels` are written, in place."""

    ids: npt.NDArray[np.integer]
    "(micro_batch, seq_len)"
    labels: npt.NDArray[np.integer]
    positions: Ints
    "int64 (micro_batch, seq_len), 0 where a stretch begins"
    filled: Ints
    "int64 (micro_batch,): where padding begins"
    is_hole: npt.NDArray[np.bool_]
    "(micro_batch, seq_len)"


class SequenceTransform:
    """Applies a transform to micro-batches, and checks what it returns."""

    def __init__(self, transform: Transform, *, seed: int, id_limit: int) -> None:
        """`id_limit`: what ids must stay below."""
        self._transform = transform
        self._seed = seed
        self._id_limit = id_limit

    def apply(self, made: Sequences, names: list[str], ordinals: Ints) -> int:
        """Change every sequence that has a token, and make its labels anew; returns how many places have a label.

        `names` are the sources' of the first len(names) sequences; the others are padding. A stretch that comes back as
        it was keeps its labels; one that was changed has none at its last place: what follows that lies in another
        sequence, if anywhere, and is transformed on its own.

        Raises:
            TransformError: what the transform returned is not of the same shape, not whole numbers or out of range.
        """
        num_trained = 0
        for row, (name, ordinal) in enumerate(zip(names, ordinals.tolist(), strict=True)):
            end = int(made.filled[row])
            if end == 0:
                continue
            begins = np.flatnonzero(made.positions[row, :end] == 0)
            kept = made.is_hole[row].copy()
            kept[end:] = True
            before = made.ids[row].astype(np.int64)
            ids = self._changed(before, np.append(begins, end), kept, name, ordinal)
            labels = np.where(kept, IGNORED, np.roll(ids, -1))
            lasts = np.append(begins[1:], end) - 1
            is_changed = np.logical_or.reduceat((ids != before)[:end], begins)
            labels[lasts] = np.where(is_changed, IGNORED, made.labels[row, lasts])
            made.ids[row], made.labels[row] = ids, labels
            num_trained += int((labels != IGNORED).sum())
        return num_trained

    def _changed(self, ids: Ints, boundaries: Ints, kept: npt.NDArray[np.bool_], source: str, ordinal: int) -> Ints:
        """What the transform makes of one sequence, where it may change it."""
        where = f"sequence {ordinal} of source {source!r}"
        try:
            given = self._transform(ids.copy(), boundaries, generator_of(self._seed, source, ordinal))
        except Exception as error:
            error.add_note(f"raised by the loader's transform on {where}")
            raise
        result = np.asarray(given)
        if result.shape != ids.shape or result.dtype.kind not in "iu":
            shown = f"{result.dtype} of shape {result.shape}" if isinstance(given, np.ndarray) else repr(type(given))
            raise TransformError(
                f"transform returned {shown} for {where}; it must return an array of integers of shape {ids.shape}, "
                "one for each token that it was given"
            )
        wrong = np.flatnonzero(~kept & ((result < 0) | (result >= self._id_limit)))
        if len(wrong):
            raise TransformError(
                f"transform returned id {result[wrong[0]]} at place {wrong[0]} of {where}; ids must be from 0 to "
                f"{self._id_limit - 1}"
            )
        return np.where(kept, ids, result).astype(np.int64)

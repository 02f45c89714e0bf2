"""The one check of saving and resuming that everything stateful passes."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import torch


class Stateful(Protocol):
    """What can be saved and resumed."""

    def state_dict(self) -> dict[str, Any]:
        """Where it stands."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from there."""


S = TypeVar("S", bound=Stateful)
Make = Callable[[], AbstractContextManager[S]]
Take = Callable[[S], Hashable]

LINKS = 5
"resumes in a row"


def _stored(state: dict[str, Any]) -> dict[str, Any]:
    """A state as it comes back from disk, through JSON and through `torch.save`."""
    file = io.BytesIO()
    torch.save(json.loads(json.dumps(state)), file)
    file.seek(0)
    loaded: dict[str, Any] = torch.load(file, weights_only=True)
    return loaded


def _unnamed(state: dict[str, Any]) -> dict[str, Any]:
    """Without what is drawn anew when a run begins."""
    return {key: value for key, value in state.items() if key != "run"}


def check_resume(make: Make[S], take: Take[S], number: int, points: Iterable[int] | None = None) -> list[Hashable]:
    """Resuming at any point gives what was still to come, and then the same states; returns all items.

    Args:
        make: a context that gives a fresh one, made the same way each time.
        take: its next item, as something that can be compared.
        number: items to take without interruption.
        points: how many items before each save; by default every one from 0 to `number`.
    """
    items: list[Hashable] = []
    with make() as whole:
        states = [whole.state_dict()]
        for _ in range(number):
            items.append(take(whole))
            states.append(whole.state_dict())
    frozen = copy.deepcopy(states)
    assert len({json.dumps(_unnamed(state)) for state in states}) == number + 1, "two points have the same state"
    for point in range(number + 1) if points is None else points:
        with make() as resumed:
            resumed.load_state_dict(_stored(states[point]))
            assert resumed.state_dict() == states[point], f"the state changed by loading it at {point}"
            for at in range(point, number):
                assert take(resumed) == items[at], f"item {at} differs when resumed at {point}"
                same = _unnamed(resumed.state_dict()) == _unnamed(states[at + 1])
                assert same, f"the state after item {at} differs when resumed at {point}"
            if point > 0:
                assert resumed.state_dict() == states[number]
    assert states == frozen, "a state that was handed out has changed"
    _check_chain(make, take, items)
    return items


def _check_chain(make: Make[S], take: Take[S], items: list[Hashable]) -> None:
    """Save, stop and resume five times over: the second resume goes on from the first, not from the start."""
    cuts = [len(items) * link // LINKS for link in range(LINKS + 1)]
    state: dict[str, Any] | None = None
    for first, last in pairwise(cuts):
        with make() as link:
            if state is not None:
                link.load_state_dict(_stored(state))
            assert [take(link) for _ in range(first, last)] == items[first:last]
            state = link.state_dict()

"""Loader and service turn the same weights into the same parts per million, or both refuse them."""

from collections.abc import Mapping, Sequence

import pytest
from headrace.errors import ConfigError
from headrace.mix import weights_to_ppm as in_loader
from headrace_server.mix.weights import WeightError
from headrace_server.mix.weights import weights_to_ppm as in_service
from hypothesis import given
from hypothesis import strategies as st

NAMES = ["web", "code", "books", "Zoë", "a b", "x" * 40, "0", ""]
ORDINARY = st.floats(0, 10) | st.integers(0, 100) | st.sampled_from([0.1, 0.7, 0.2, 1 / 3, 1e-6, 5e-7, 0.0])
ANY = ORDINARY | st.floats() | st.integers(-5, 10**30)


def _outcome(
    weights: Mapping[str, float], sources: Sequence[str]
) -> tuple[dict[str, int] | None, dict[str, int] | None]:
    loader: dict[str, int] | None
    service: dict[str, int] | None
    try:
        loader = in_loader(weights, sources)
    except ConfigError:
        loader = None
    try:
        service = in_service(weights, sources)
    except WeightError:
        service = None
    return loader, service


@st.composite
def _mixes(draw: st.DrawFn, values: st.SearchStrategy[float]) -> tuple[dict[str, float], list[str]]:
    sources = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=8, unique=True))
    return {name: draw(values) for name in draw(st.permutations(sources))}, sources


@given(_mixes(ORDINARY))
def test_the_same_weights_give_the_same_parts_per_million(mix: tuple[dict[str, float], list[str]]) -> None:
    loader, service = _outcome(*mix)
    assert loader == service
    if loader is not None:
        assert list(loader) == mix[1]
        assert sum(loader.values()) == 1_000_000


@given(_mixes(ANY), st.sampled_from(NAMES), st.booleans())
def test_what_one_refuses_the_other_refuses(mix: tuple[dict[str, float], list[str]], name: str, add: bool) -> None:
    weights, sources = mix
    if add:
        weights = {**weights, name: 1.0}
    else:
        weights.pop(name, None)
    loader, service = _outcome(weights, sources)
    assert loader == service


@pytest.mark.parametrize(
    ("weights", "ppm"),
    [
        ([0.1] * 10, [100_000] * 10),
        ([0.7, 0.2, 0.1], [700_000, 200_000, 100_000]),
        ([3, 1], [750_000, 250_000]),
        ([1, 1, 1], [333_334, 333_333, 333_333]),
        ([0, 0], None),
        ([-1, 2], None),
        ([float("nan"), 1], None),
        ([float("inf"), 1], None),
        ([True, 1], None),
        (["1", 1], None),
        ([None, 1], None),
    ],
)
def test_known_cases(weights: list[float], ppm: list[int] | None) -> None:
    sources = [f"s{k}" for k in range(len(weights))]
    loader, service = _outcome(dict(zip(sources, weights, strict=True)), sources)
    assert loader == service == (None if ppm is None else dict(zip(sources, ppm, strict=True)))

"""Weights as people write them become exact parts per million (case C02)."""

import math

import pytest
from headrace_server.mix.weights import PPM, WeightError, weights_to_ppm
from hypothesis import assume, given
from hypothesis import strategies as st

weight = st.one_of(st.just(0), st.floats(1e-3, 1e3), st.integers(1, 10**6))
mixes = st.dictionaries(st.text(min_size=1, max_size=5), weight, min_size=1, max_size=20)


@given(mixes)
def test_shares_sum_to_a_million_within_one_of_exact(weights: dict[str, float]) -> None:
    assume(sum(weights.values()) > 0)
    total = math.fsum(weights.values())
    assume(all(w == 0 or w / total > 2e-6 for w in weights.values()))
    shares = weights_to_ppm(weights, list(weights))
    assert sum(shares.values()) == PPM
    assert list(shares) == list(weights)
    for name, given_weight in weights.items():
        assert abs(shares[name] - given_weight / total * PPM) < 1.01
        assert (shares[name] == 0) == (given_weight == 0)


@given(mixes, st.integers(1, 1000))
def test_scale_does_not_matter(weights: dict[str, float], factor: int) -> None:
    whole = {name: round(w * 1000) for name, w in weights.items()}
    assume(sum(whole.values()) > 0)
    assume(all(w == 0 or w / sum(whole.values()) > 2e-6 for w in whole.values()))
    scaled = {name: w * factor for name, w in whole.items()}
    assert weights_to_ppm(scaled, list(whole)) == weights_to_ppm(whole, list(whole))


@pytest.mark.parametrize(
    ("weights", "shares"),
    [
        ([0.1] * 10, [100_000] * 10),
        ([0.7, 0.2, 0.1], [700_000, 200_000, 100_000]),
        ([3, 1], [750_000, 250_000]),
        ([1, 1, 1], [333_334, 333_333, 333_333]),
        ([1, 0], [1_000_000, 0]),
        ([1e308, 1e308], [500_000, 500_000]),
        ([5e-324, 5e-324], [500_000, 500_000]),
    ],
)
def test_known_mixes(weights: list[float], shares: list[int]) -> None:
    names = [f"s{i}" for i in range(len(weights))]
    assert list(weights_to_ppm(dict(zip(names, weights, strict=True)), names).values()) == shares


@pytest.mark.parametrize(
    ("weights", "source", "words"),
    [
        ({"a": -1, "b": 2}, "a", "at least 0"),
        ({"a": math.nan, "b": 1}, "a", "finite"),
        ({"a": 1, "b": math.inf}, "b", "finite"),
        ({"a": True, "b": 1}, "a", "finite"),
        ({"a": 1}, "b", "no weight"),
        ({"a": 1, "b": 1, "c": 1}, "c", "unknown source"),
        ({"a": 1e-9, "b": 1}, "a", "rounds to 0"),
        ({"a": 0, "b": 0}, None, "all weights are 0"),
    ],
)
def test_wrong_weights_name_their_source(weights: dict[str, float], source: str | None, words: str) -> None:
    with pytest.raises(WeightError, match=words) as refused:
        weights_to_ppm(weights, ["a", "b"])
    assert refused.value.source == source

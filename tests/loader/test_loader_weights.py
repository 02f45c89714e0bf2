"""P5, P6: new weights take effect at the first step not yet agreed, are in the state, and are exact from there."""

from __future__ import annotations

from collections import Counter

import pytest
from headrace import ConfigError, Loader
from headrace.mix import weights_at
from headrace.state import revisions_of

from tests.loader.corpora import Corpus, open_loader, random_corpus, sequences, take_step


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return random_corpus(tmp_path_factory.mktemp("weights"), {"web": 150, "code": 60, "books": 9})


def in_force(loader: Loader, step: int) -> dict[str, int]:
    return weights_at(revisions_of(loader.state_dict()), step, loader.source_names)


@pytest.mark.parametrize("prefetch", [0, 1, 2, 3])
@pytest.mark.parametrize("lease", [1, 5])
def test_new_weights_apply_at_the_first_step_not_agreed(corpus: Corpus, prefetch: int, lease: int) -> None:
    """Within prefetch + 2 steps and a lease; from then on the mix is exact."""
    names = ("web", "code", "books")
    with open_loader(corpus.sources(web=1, code=1, books=2), prefetch=prefetch, mix_lease_steps=lease) as loader:
        for _ in range(6):
            take_step(loader)
        loader.set_weights({"web": 6, "code": 1, "books": 1})
        taken = []
        for _ in range(30):
            batches = take_step(loader)
            taken.append(Counter(names[s] for batch in batches for s in batch.source.tolist()))
        (_, change) = revisions_of(loader.state_dict())
    assert 6 <= change.from_step <= 6 + prefetch + 2 + lease
    assert change.weights_ppm == {"web": 750_000, "code": 125_000, "books": 125_000}
    later = taken[change.from_step - 6 :]
    assert all(abs(count["web"] - 6) <= 1 for count in later)
    assert abs(sum(count["web"] for count in later) - 6 * len(later)) <= 2


def test_a_ramp_moves_the_mix_step_by_step_and_survives_a_resume(corpus: Corpus) -> None:
    sources = corpus.sources(web=1, code=1, books=0)
    with open_loader(sources, prefetch=0) as loader:
        for _ in range(4):
            take_step(loader)
        loader.set_weights({"web": 0, "code": 1, "books": 1}, ramp_steps=10)
        states, rows = [], []
        for _ in range(14):
            rows.append(sequences(take_step(loader)))
            states.append(loader.state_dict())
        weights = [in_force(loader, step)["web"] for step in range(3, 18)]
    assert weights == [500_000 - 50_000 * max(0, min(10, step - 4)) for step in range(3, 18)]
    for at in (0, 3, 8, 9, 12):
        with open_loader(sources) as resumed:
            resumed.load_state_dict(states[at])
            assert [sequences(take_step(resumed)) for _ in range(at + 1, 14)] == rows[at + 1 :]
            assert resumed.state_dict()["log"] == states[13]["log"]


def test_several_changes_between_two_steps_apply_in_order(corpus: Corpus) -> None:
    with open_loader(corpus.sources(web=1, code=1, books=1), prefetch=0) as loader:
        loader.set_weights({"web": 1, "code": 0, "books": 0})
        loader.set_weights({"web": 0, "code": 1, "books": 0})
        assert set(take_step(loader)[0].source.tolist()) == {1}
        assert [revision.from_step for revision in revisions_of(loader.state_dict())] == [0, 0, 0]


@pytest.mark.parametrize(
    ("weights", "ramp", "message"),
    [
        ({"web": 1, "code": 1}, 0, "no weight for source 'books'"),
        ({"web": 1, "code": 1, "books": float("nan")}, 0, "weight of 'books' is nan"),
        ({"web": 0, "code": 0, "books": 0}, 0, "every weight is 0"),
        ({"web": 1, "code": 1, "bokos": 1}, 0, "weight for 'bokos', which is not a source"),
        ({"web": 1, "code": 1, "books": 1}, -1, "ramp_steps is -1"),
        ({"web": 1, "code": 1, "books": 1}, 1.5, "ramp_steps is 1.5"),
    ],
)
def test_weights_that_are_not_allowed_change_nothing(
    corpus: Corpus, weights: dict[str, float], ramp: int, message: str
) -> None:
    with open_loader(corpus.sources(web=1, code=1, books=1), prefetch=0) as loader:
        take_step(loader)
        with pytest.raises(ConfigError) as refused:
            loader.set_weights(weights, ramp_steps=ramp)
        assert message in str(refused.value)
        take_step(loader)
        assert len(revisions_of(loader.state_dict())) == 1


def test_the_checkpoint_beats_the_script_with_a_warning(corpus: Corpus) -> None:
    with open_loader(corpus.sources(web=1, code=1, books=1), prefetch=0) as loader:
        take_step(loader)
        loader.set_weights({"web": 2, "code": 1, "books": 1})
        expected = [sequences(take_step(loader)) for _ in range(2)]
        state = loader.state_dict()
        expected = [sequences(take_step(loader)) for _ in range(2)]
    with open_loader(corpus.sources(web=0, code=0, books=1)) as loader:
        with pytest.warns(UserWarning, match=r"the checkpoint goes on with .*'web': 500000.*; the checkpoint wins"):
            loader.load_state_dict(state)
        assert [sequences(take_step(loader)) for _ in range(2)] == expected
    for weights in ({"web": 1, "code": 1, "books": 1}, {"web": 2, "code": 1, "books": 1}):
        with open_loader(corpus.sources(**weights)) as loader:
            loader.load_state_dict(state)


@pytest.mark.parametrize("prefetch", [0, 3])
def test_new_weights_before_the_first_batch_hold_from_the_first_step(corpus: Corpus, prefetch: int) -> None:
    """However far the loader prepares ahead: nothing is planned before they are agreed."""
    with open_loader(corpus.sources(web=1, code=1, books=0), prefetch=prefetch) as loader:
        loader.set_weights({"web": 0, "code": 1, "books": 0})
        drawn = {s for _ in range(4) for batch in take_step(loader) for s in batch.source.tolist()}
        (_, change) = revisions_of(loader.state_dict())
    assert (drawn, change.from_step) == ({1}, 0)

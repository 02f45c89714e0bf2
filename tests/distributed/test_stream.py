"""P1–P3, P6 on real ranks: the same global batches at any world size, through kills, restarts and new weights."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from headrace import Loader
from headrace.mix import Revision
from headrace.resume import resume
from headrace.state import decode, revisions_of
from torch.distributed.checkpoint.state_dict_loader import load

from tests.distributed.torchrun import Orders, Outcome, torchrun
from tests.loader.corpora import Corpus, open_loader, random_corpus, take_step
from tests.loader.several_ranks import data_of, stream_of

WEIGHTS = {"web": 0.5, "code": 0.3, "tiny": 0.2}
OTHER = {"web": 0.2, "code": 0.2, "tiny": 0.6}


pytestmark = [
    pytest.mark.filterwarnings("ignore:torch.distributed is disabled, unavailable or uninit:UserWarning"),
    pytest.mark.filterwarnings("ignore:source 'tiny' holds:UserWarning"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Several epochs of every source within a test."""
    return random_corpus(tmp_path_factory.mktemp("corpus"), {"web": 80, "code": 50, "tiny": 3}, mean=12)


def orders(corpus: Corpus, folder: Path, num_steps: int, **others: Any) -> Orders:
    sources = [(name, str(corpus.root / name), weight) for name, weight in WEIGHTS.items()]
    return Orders(str(folder), sources, num_steps, **others)


def hashes(loader: Loader) -> list[str]:
    """The sorted hashes of the sequences of the next step, as the ranks write them down."""
    return sorted(digest(row) for batch in take_step(loader) for row in batch.input_ids)


def expected(corpus: Corpus, num_steps: int, log: tuple[Revision, ...] = (), **options: Any) -> list[list[str]]:
    """The stream of one process that makes the changes of `log` at their steps."""
    steps = []
    with open_loader(corpus.sources(**WEIGHTS), prefetch=0, **options) as loader:
        for step in range(num_steps):
            for change in log[1:]:
                if change.from_step == step:
                    loader.set_weights(change.weights_ppm, ramp_steps=change.ramp_steps)
            steps.append(hashes(loader))
    return steps


def resumed(corpus: Corpus, state: Mapping[str, Any], num_steps: int) -> list[list[str]]:
    """What one process goes on with from a state."""
    with open_loader(corpus.sources(**WEIGHTS)) as loader:
        loader.load_state_dict(state)
        return [hashes(loader) for _ in range(loader.step, num_steps)]


def on_ranks(corpus: Corpus, state: Mapping[str, Any], world_size: int, number: int) -> list[list[str]]:
    """The next steps as so many ranks get them, each with a stream of its own in this process."""
    data = data_of(corpus.sources(**WEIGHTS), uneven="pad")
    restored, data = resume(decode(state, data.config), data)
    steps: list[list[str]] = [[] for _ in range(number)]
    for rank in range(world_size):
        for item in stream_of(data, rank, world_size, restored.position, restored.log).items():
            n = item.batch.step - restored.position.step
            if n == number:
                break
            steps[n] += [digest(row) for row in item.batch.input_ids[item.batch.source >= 0]]
    return [sorted(step) for step in steps]


def digest(row: torch.Tensor) -> str:
    return hashlib.blake2b(row.numpy().tobytes(), digest_size=8).hexdigest()


def states(outcome: Outcome) -> list[str]:
    """For each step, the one state that every rank has after it."""
    found = []
    for n in range(len(outcome.ranks[0])):
        of_ranks = {rank[n]["state"] for rank in outcome.ranks if n < len(rank)}
        assert len(of_ranks) == 1, f"ranks differ after step {n}: {of_ranks}"
        found.append(of_ranks.pop())
    return found


def test_two_ranks_in_step_and_a_loop_left_early(corpus: Corpus, tmp_path: Path) -> None:
    """E02, R09, M10: three epochs and more; weights changed by every rank apply at one step, ramp included."""
    job = torchrun(
        "stream",
        tmp_path,
        2,
        orders(
            corpus,
            tmp_path,
            40,
            all_reduce=True,
            leave_every=5,
            weights_at={"12": (OTHER, 6), "14": (WEIGHTS, 0), "30": (OTHER, 0)},
            save_at={"40": "save"},
        ),
    )
    steps = job.steps()
    log = revisions_of(json.loads(states(job)[-1]))
    assert len(log) == 4
    for change, asked in zip(log[1:], (12, 14, 30), strict=True):
        assert asked <= change.from_step <= asked + 4
    assert steps == expected(corpus, 40, log)
    for rank in job.ranks:
        assert all(len(step["sequences"]) == 4 for step in rank)

    with open_loader(corpus.sources(**WEIGHTS)) as loader:
        load({"loader": loader}, checkpoint_id=tmp_path / "40", no_dist=True)
        assert loader.step == 40
        assert revisions_of(loader.state_dict()) == log


def test_four_ranks_at_their_own_pace(corpus: Corpus, tmp_path: Path) -> None:
    """Free-running ranks: one is far ahead in seals, yet every rank saves the same bytes at a step.

    `dcp.save`, and `dcp.async_save` while training goes on, store the step they were called at; any number of ranks
    goes on from there, three of them with a batch that they don't divide.
    """
    first = tmp_path / "four"
    given = orders(
        corpus,
        first,
        30,
        options={"prefetch": 3},
        naps_ms=[1, 60, 5, 20],
        weights_at={"8": (OTHER, 3)},
        save_at={"16": "save", "20": "async_save"},
    )
    job = torchrun("stream", first, 4, given)
    log = revisions_of(json.loads(states(job)[-1]))
    assert job.steps() == expected(corpus, 30, log)
    for step in range(30):
        assert len({h for rank in job.ranks for h in rank[step]["sequences"]}) == len(set(job.steps()[step]))
    whole = job.steps()
    for step in (16, 20):
        with open_loader(corpus.sources(**WEIGHTS)) as loader:
            load({"loader": loader}, checkpoint_id=first / str(step), no_dist=True)
            state = loader.state_dict()
        assert json.dumps(state) == states(job)[step - 1]
        for world_size in (1, 2, 3, 6, 8):
            assert on_ranks(corpus, state, world_size, 3) == whole[step : step + 3]

    second = tmp_path / "three"
    padded = orders(corpus, second, 26, load=str(first / "20"), options={"uneven": "pad"})
    again = torchrun("stream", second, 3, padded)
    assert again.steps() == whole[20:26]
    assert {len(step["sequences"]) for rank in again.ranks for step in rank} == {2, 3}
    assert states(again) == states(job)[20:26]


def test_a_restart_by_torchrun_itself(corpus: Corpus, tmp_path: Path) -> None:
    """The agent's store outlives the ranks: seals of the first attempt must not be taken for the second's."""
    again = orders(
        corpus, tmp_path, 20, all_reduce=True, kill={"1": 7}, resume=str(tmp_path), weights_at={"1": (OTHER, 0)}
    )
    job = torchrun("stream", tmp_path, 2, again, max_restarts=1)
    assert job.code == 0, job.text
    log = revisions_of(json.loads(job.ranks[0][-1]["state"]))
    whole = expected(corpus, 20, log)
    for rank in job.ranks:
        assert sorted({step["step"] for step in rank}) == list(range(20))
    for step in range(20):
        lines = [line for rank in job.ranks for line in rank if line["step"] == step]
        assert {h for line in lines for h in line["sequences"]} == set(whole[step])


def test_model_parallel_peers_get_the_same_batches(corpus: Corpus, tmp_path: Path) -> None:
    """D01: four ranks as two data groups of two, from a mesh and from ranks; groups disjoint, union complete."""
    given = orders(corpus, tmp_path, 10, peers=2, mesh=True, naps_ms=[0, 20, 5, 0])
    job = torchrun("stream", tmp_path, 4, given)
    assert job.code == 0, job.text
    for a, b, c, d in zip(*job.ranks, strict=True):
        assert a["whole"] == b["whole"] != c["whole"] == d["whole"]
    halves = Outcome(job.code, job.text, [job.ranks[0], job.ranks[3]])
    assert halves.steps() == expected(corpus, 10)
    states(job)


def test_ranks_that_are_given_different_things(corpus: Corpus, tmp_path: Path) -> None:
    """P9: each stops before the first batch with both values named."""
    with open_loader(corpus.sources(web=0.5, code=0.5)) as loader:
        for _ in range(3):
            take_step(loader)
        (tmp_path / "state.json").write_text(json.dumps(loader.state_dict()))
        print_of = json.loads(loader.state_dict()["fingerprints"])
    given = {"folder": str(tmp_path), "corpus": str(corpus.root), "state": str(tmp_path / "state.json")}
    job = torchrun("differing", tmp_path, 2, given)
    assert job.code == 0, job.text
    found = {line["case"]: line["message"] for line in job.ranks[1]}
    assert found.pop("world size") == (
        "global_batch_size is 6, which 2 data ranks × micro_batch_size 2 = 4 does not divide; the nearest that fit are "
        "4 or 8; with 6, world sizes 1, 3 fit; or set uneven='pad' to fill up with rows of padding"
    )
    remedy = "; every rank must be given the same options, data and checkpoint"
    assert found.pop("nothing") == ""
    assert all(message.startswith("rank 1 has ") and message.endswith(remedy) for message in found.values())
    assert found["seed"] == f"rank 1 has seed = 2 but rank 0 has 1{remedy}"
    assert "mix_lease_steps = 4 but rank 0 has 1;" in found["mix_lease_steps"]
    assert "epochs = 3 but rank 0 has None;" in found["epochs"]
    assert "micro_batch_size = 1 but rank 0 has 2;" in found["batch"]
    assert "{'web': 333333, 'code': 666667} but rank 0 has {'web': 500000, 'code': 500000}" in found["weights"]
    assert f"'web': '{print_of['code'][0]}'" in found["data"]
    assert f"'web': '{print_of['web'][0]}'" in found["data"]
    assert "step = 3 but rank 0 has 0;" in found["checkpoint"]

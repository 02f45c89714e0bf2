"""The checkpoint: small, plain, the same whatever came later, and refused by name where it does not fit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from headrace.config import LoaderConfig, Source
from headrace.eras import MAX_ERAS, Era
from headrace.errors import StateError
from headrace.legs import LegRecord
from headrace.mix import PPM, Revision, weights_at
from headrace.plan import Position
from headrace.state import MAX_LOG, Holding, Restored, decode, encode, fold, revisions_of
from headrace.upgrades import FORMAT
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from tests.loader import strategies

NAMES = ("web", "code", "books")


def config(names: tuple[str, ...] = NAMES, **options: Any) -> LoaderConfig:
    chosen: dict[str, Any] = {"seq_len": 64, "global_batch_size": 8, "micro_batch_size": 4, "seed": 7, "eos_id": 0}
    sources = tuple(Source(name, f"/data/{name}", weight=1) for name in names)
    return LoaderConfig(sources=sources, **(chosen | options))


def position(step: int, num_sources: int = 3) -> Position:
    counts = np.arange(num_sources, dtype=np.int64) * 10**12 + step
    accumulators = np.zeros(num_sources, np.int64)
    accumulators[:2] = (-654_321, 654_321)
    return Position(step, counts, accumulators)


def saved(log: list[Revision], step: int = 100, **options: Any) -> dict[str, Any]:
    names = tuple(log[0].weights_ppm)
    where = position(step, len(names))
    return encode(config(names, **options), where, log, restored(names), holdings(where, names))


def restored(names: tuple[str, ...]) -> Restored:
    """A run that began with these sources."""
    start = Position.start(len(names))
    era = Era(start, names, ((0, 8),), 0, None, {})
    return Restored(start, (), "lineage-1", True, "llama", (era,), {})


def holdings(where: Position, names: tuple[str, ...]) -> dict[str, Holding]:
    """Three shards of each source, read in one leg."""
    legs = (LegRecord("whole", 64, ((0, 3),)),)
    return {
        name: Holding(int(count), f"{name:0>32}", 3, (), legs)
        for name, count in zip(names, where.counts.tolist(), strict=True)
    }


def equal_log(names: tuple[str, ...] = NAMES, number: int = 1, ramp: int = 0) -> list[Revision]:
    share = dict.fromkeys(names, PPM // len(names))
    share[names[0]] += PPM - sum(share.values())
    return [Revision(f"service:{n + 1}", n, dict(share), ramp) for n in range(number)]


@settings(deadline=None, max_examples=100)
@given(strategies.logs(NAMES), st.integers(0, 90))
def test_a_state_says_the_same_after_a_round_trip_through_json(log: list[Revision], step: int) -> None:
    state = json.loads(json.dumps(saved(log, step)))
    read = decode(state, config())
    found = read.restored
    assert found.position.step == step
    assert found.position.counts.tolist() == position(step).counts.tolist()
    assert found.position.accumulators.tolist() == position(step).accumulators.tolist()
    past = [revision for i, revision in enumerate(log) if i == 0 or revision.from_step < step]
    assert list(found.log) == past
    assert (found.lineage, found.had_service) == ("lineage-1", True)
    assert encode(config(), found.position, found.log, found, read.holdings) == saved(log, step)


@settings(deadline=None, max_examples=100)
@given(strategies.logs(NAMES), st.integers(0, 90), st.data())
def test_what_was_agreed_for_later_steps_is_not_in_it(log: list[Revision], step: int, data: st.DataObject) -> None:
    """R09: a rank that has read a later seal than another saves the same bytes."""
    known = data.draw(st.integers(0, len(log)))
    ahead = [revision for i, revision in enumerate(log) if i < known or revision.from_step < step]
    assert json.dumps(saved(log, step)) == json.dumps(saved(ahead or log[:1], step))


def test_a_state_from_before_the_first_step_goes_on_from_there() -> None:
    found = decode(saved(equal_log(), 0), config()).restored
    assert found.position.step == 0
    assert len(found.log) == 1


def test_the_lineage_is_the_last_that_was_opened_before_it() -> None:
    log = equal_log(number=4)
    opened = [log[0], Revision("service:9", 3, log[0].weights_ppm, 0, "lineage-2"), log[3]]
    assert decode(saved(opened, 3), config()).restored.lineage == "lineage-1"
    found = decode(saved(opened, 4), config()).restored
    assert found.lineage == "lineage-2"
    assert [revision.lineage for revision in found.log] == [None, "lineage-2", None]


def test_it_is_plain_and_small() -> None:
    """P3: only integers and strings; under 4 KB for a typical run, 64 KB at 50 sources and 100 revisions."""
    typical = saved(equal_log(tuple(f"source-{n}" for n in range(6)), 12, ramp=500), 4_000_000)
    assert {type(value) for value in typical.values()} == {int, str}
    size = len(json.dumps(typical))
    large = len(json.dumps(saved(equal_log(tuple(f"a-long-source-name-{n:02}" for n in range(50)), 100), 10**7)))
    print(f"\nstate: {size} bytes with 6 sources and 12 revisions, {large} with 50 and 100")
    assert size < 4096
    assert large < 64 * 1024


def test_only_the_newest_eras_are_kept() -> None:
    """So a state stays small however often a run goes on with something else."""
    names = tuple(f"a-long-source-name-{n:02}" for n in range(50))
    where = position(10**7, 50)
    eras = [Era(position(100 * n, 50), names, ((0, 8),), n, None, {"skipped_steps": 7}) for n in range(100)]
    began = replace(restored(names), eras=tuple(eras))
    state = encode(config(names), where, equal_log(names, 50), began, holdings(where, names))
    assert len(json.dumps(state)) < 64 * 1024
    kept = decode(state, config(names)).restored.eras
    assert [era.step for era in kept] == [era.step for era in eras[-MAX_ERAS:]]
    assert kept[-1].position.counts.tolist() == eras[-1].position.counts.tolist()
    assert (kept[-1].tokens, kept[-1].changes) == (99, {"skipped_steps": 7})


def test_its_size_does_not_depend_on_the_data() -> None:
    """T02: shards, blocks and documents are not in it, only one fingerprint a source."""
    state = saved(equal_log())
    assert "/data" not in json.dumps(state)
    assert json.loads(state["fingerprints"]) == {name: [f"{name:0>32}", 3, []] for name in NAMES}


@settings(deadline=None, max_examples=15)
@given(strategies.logs(NAMES, max_revisions=6), st.integers(0, 40), st.sampled_from((1, 3)))
def test_fold_is_exact_from_its_first_step_on(log: list[Revision], extra: int, pace: int) -> None:
    ids = [revision.id for revision in log]
    for number in range(MAX_LOG + extra - len(log)):
        base = log[number % 3 % len(log)]
        step = log[-1].from_step + number % pace
        ids.append(f"local:0a1b2c3d:{number}")
        log.append(Revision(ids[-1], step, base.weights_ppm, (0, 2, 900)[number % 3]))
    folded = fold(log, NAMES)
    assert len(folded) == min(len(log), MAX_LOG + 1)
    for step in range(folded[0].from_step, log[-1].from_step + 1000, 7):
        assert weights_at(folded, step, NAMES) == weights_at(log, step, NAMES)
    if len(log) > MAX_LOG:
        assert folded[1:] == log[-MAX_LOG:]
        assert folded[0].from_step == log[-MAX_LOG].from_step


def test_fold_remembers_the_newest_version_of_the_service() -> None:
    """Or a start from this state would take that version for an edit, and apply it again over later changes."""
    log = equal_log(number=5)
    log += [Revision(f"local:0a1b2c3d:{n}", 5 + n, log[0].weights_ppm) for n in range(2 * MAX_LOG)]
    assert max(revision.version or 0 for revision in fold(log, NAMES)) == 5
    twice = fold([*fold(log, NAMES), *log[-40:]], NAMES)
    assert max(revision.version or 0 for revision in twice) == 5


def test_a_folded_state_loads() -> None:
    log = equal_log(number=1000, ramp=3)
    found = decode(saved(log, 1000), config()).restored
    assert len(found.log) == MAX_LOG + 1
    assert weights_at(found.log, 1000, NAMES) == weights_at(log, 1000, NAMES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 8}, "saved with seed = 7 but this loader has 8"),
        ({"shuffle": False}, "saved with shuffle = 1 but this loader has 0"),
        ({"packing": "best_fit"}, "saved with packing = concat but this loader has best_fit"),
        ({"lanes": 64}, "saved with lanes = 512 but this loader has 64"),
        ({"eos_id": None}, "saved with separators = [null, 0] but this loader has [null, null]"),
        ({"bos_id": 1}, "saved with separators = [null, 0] but this loader has [1, 0]"),
    ],
)
def test_a_loader_of_another_stream_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(StateError) as refused:
        decode(saved(equal_log()), config(**options))
    assert message in str(refused.value)
    assert "make the loader with what the run was started with" in str(refused.value)


@pytest.mark.parametrize(
    "options",
    [
        {"global_batch_size": 16},
        {"seq_len": 128},
        {"micro_batch_size": 1},
        {"prefetch": 0},
        {"outputs": ("input_ids",)},
        {"vocab_size": 99},
    ],
)
def test_what_does_not_change_the_stream_may_change(options: dict[str, Any]) -> None:
    """S02: the batch size too: positions are sequences, not steps."""
    assert decode(saved(equal_log()), config(**options)).restored.position.step == 100


@pytest.mark.parametrize("version", [0, FORMAT + 1, "1", None, 1.0])
def test_other_formats_are_refused(version: object) -> None:
    with pytest.raises(StateError, match=f"this version reads 1 to {FORMAT}: install the headrace that wrote it"):
        decode(saved(equal_log()) | {"format": version}, config())


@pytest.mark.parametrize("key", sorted(saved(equal_log())))
def test_a_missing_key_is_named(key: str) -> None:
    state = saved(equal_log())
    del state[key]
    with pytest.raises(StateError, match=f"the state has no '{key}'; pass what Loader.state_dict"):
        decode(state, config())


@pytest.mark.parametrize("state", [None, {}, [], {"model": 1}])
def test_what_is_no_state_is_refused(state: Any) -> None:
    with pytest.raises(StateError, match="the state has no 'format'"):
        decode(state, config())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("step", -1),
        ("step", "100"),
        ("step", 99.5),
        ("step", None),
        ("counts", "[1, 2]"),
        ("counts", "[1, 2, -3]"),
        ("counts", "[1, 2, 3.5]"),
        ("counts", "[1, 2, true]"),
        ("counts", "[1, 2, 99999999999999999999]"),
        ("counts", "[[1, 2, 3]]"),
        ("counts", '"123"'),
        ("counts", "[1, 2"),
        ("counts", None),
        ("accumulators", "[1, 2, 3]"),
        ("accumulators", "[1, -1]"),
        ("accumulators", "{}"),
        ("log", "[]"),
        ("log", "{}"),
        ("log", "7"),
        ("log", '[["config:1",0,0,null]]'),
        ("log", '[["config:1",0,0,null,[1000000,0]]]'),
        ("log", '[["config:1",0,0,null,[999999,0,0]]]'),
        ("log", '[["config:1",0,0,null,[1000001,-1,0]]]'),
        ("log", '[["config:1",0,-1,null,[1000000,0,0]]]'),
        ("log", '[["config:1","0",0,null,[1000000,0,0]]]'),
        ("log", '[["config:1",101,0,null,[1000000,0,0]]]'),
        ("log", '[["config:1",5,0,null,[1000000,0,0]],["service:2",4,0,null,[1000000,0,0]]]'),
        ("fingerprints", "{}"),
        ("fingerprints", "null"),
        ("fingerprints", '{"web":["0",3,[]],"code":["0",-3,[]],"books":["0",3,[]]}'),
        ("legs", "{}"),
        ("legs", '{"web":[],"code":[],"books":[]}'),
        ("legs", '{"web":[["rest",64,[[0,3]],[],[],null]],"code":[],"books":[]}'),
        ("parked", "[]"),
        ("eras", "[]"),
        ("eras", "[[101,[0,1,2],[0,0,0],[0,0,0],[[0,8]],0,null,{}]]"),
        ("eras", "[[0,[0,1,7],[0,0,0],[0,0,0],[[0,8]],0,null,{}]]"),
        ("eras", "[[0,[0,1,2],[0,0,0],[0,0,0],[[1,8]],0,null,{}]]"),
        ("run", "{}"),
        ("run", "[]"),
        ("run", '{"lineage": 7, "had_service": false, "job": null, "undone_version": 0}'),
        ("run", '{"lineage": null, "had_service": false, "job": null, "undone_version": -1}'),
        ("run", '{"lineage": null, "had_service": false}'),
        ("run", '{"lineage": null, "had_service": false, "job": 7, "undone_version": 0}'),
    ],
)
def test_damage_is_found(key: str, value: object) -> None:
    with pytest.raises(StateError, match=r"the state is damaged \(.*\); load an earlier checkpoint"):
        decode(saved(equal_log()) | {key: value}, config())


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(("counts", "accumulators", "log", "fingerprints", "legs", "parked", "eras", "run")), st.data())
def test_cut_or_overwritten_text_never_gets_past(key: str, data: st.DataObject) -> None:
    """Either refused, or it still says something that is allowed: sums and lengths hold."""
    state = saved(equal_log(number=3))
    text = state[key]
    at = data.draw(st.integers(0, len(text) - 1))
    state[key] = text[:at] + data.draw(st.text(max_size=3)) + text[at + data.draw(st.integers(0, 5)) :]
    try:
        found = decode(state, config()).restored
    except StateError:
        return
    assert found.position.accumulators.sum() == 0
    assert (found.position.counts >= 0).all()
    for revision in found.log:
        assert sum(revision.weights_ppm.values()) == PPM


def test_it_goes_through_torch_save(tmp_path: Path) -> None:
    state = saved(equal_log(number=5))
    torch.save({"loader": state, "model": torch.zeros(3)}, tmp_path / "checkpoint.pt")
    assert torch.load(tmp_path / "checkpoint.pt", weights_only=True)["loader"] == state


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled, unavailable or uninitialized:UserWarning")
def test_it_goes_through_a_distributed_checkpoint(tmp_path: Path) -> None:
    state = saved(equal_log(number=5))
    save({"loader": state}, checkpoint_id=tmp_path / "step-100")
    template = {"loader": saved(equal_log(), 0)}
    load(template, checkpoint_id=tmp_path / "step-100")
    assert template["loader"] == state


def test_its_log_can_be_read_on_its_own() -> None:
    log = equal_log(number=5, ramp=2)
    assert list(revisions_of(saved(log, 3))) == log[:3]

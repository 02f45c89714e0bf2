"""`headrace trace --job`: a run is named from what the control plane recorded of it, without a checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from headrace import Loader, StateError, cli

from tests.contract.control_plane import ControlPlane
from tests.loader.corpora import Corpus, open_loader, random_corpus, take_step
from tests.loader.telemetry.services import new_uuid

WEIGHTS = {"web": 0.6, "code": 0.4}
OTHERS = {"web": 0.1, "code": 0.9}


def traced(capsys: pytest.CaptureFixture[str], corpus: Corpus, job: str, *more: str) -> tuple[int, Any]:
    sources = [str(corpus.root / name) for name in WEIGHTS]
    status = cli.main(["trace", *sources, "--job", job, "--eos-id", "0", "--json", *more])
    printed = capsys.readouterr()
    return status, json.loads(printed.out) if status == 0 else printed.err


def test_a_run_with_restarts_and_changes(
    control_plane: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes from the script, a crash that is resumed and replayed, and a rewind that departs from the record."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HEADRACE_URL", control_plane.url)
    monkeypatch.setenv("HEADRACE_TOKEN", control_plane.key("ingest,read"))
    corpus = random_corpus(tmp_path, {"web": 60, "code": 25}, mean=12)
    job = f"trace-{new_uuid()[:8]}"
    with open_loader(corpus.sources(**WEIGHTS), job=job, prefetch=0) as loader:
        for _ in range(5):
            take_step(loader)
        state = loader.state_dict()
        loader.set_weights(OTHERS)
        for _ in range(5):
            take_step(loader)
    with open_loader(corpus.sources(**WEIGHTS), job=job, prefetch=0) as loader:
        loader.load_state_dict(state)  # step 5 again: the change is replayed
        for _ in range(7):
            take_step(loader)
        loader.set_weights(WEIGHTS, ramp_steps=4)
        for _ in range(6):
            take_step(loader)
        expected = [[list(piece) for piece in loader.trace(step)] for step in range(18)]
        held = [list(found) for found in loader.find("web/00001.arrow", 3, until_step=17)]
    for step in (0, 4, 5, 9, 11, 12, 14, 17):
        status, printed = traced(capsys, corpus, job, "--step", str(step))
        assert status == 0, printed
        assert [list(piece.values()) for piece in printed["documents"]] == expected[step]
    document = ("--document", "web/00001.arrow:3", "--until-step", "17")
    assert [list(found.values()) for found in traced(capsys, corpus, job, *document)[1]["deliveries"]] == held
    _assert_service_says_the_same(control_plane, job, expected)

    status, error = traced(capsys, corpus, job.upper(), "--step", "0")
    assert (status, f"has no such job; those like it are {job}" in error) == (2, True), error
    other = random_corpus(tmp_path / "other", {"web": 61, "code": 25}, mean=12)
    status, error = traced(capsys, other, job, "--step", "0")
    assert (status, "source 'web' of job" in error and "had 3 shards, 60 documents" in error) == (1, True), error
    monkeypatch.setenv("HEADRACE_TOKEN", "hr_wrong")
    status, error = traced(capsys, corpus, job, "--step", "0")
    assert (status, "HEADRACE_TOKEN" in error) == (2, True), error


def _assert_service_says_the_same(control_plane: ControlPlane, job: str, expected: list[list[list[Any]]]) -> None:
    """Sequences by source and the mix, of every step; which attempt's record holds where two trained it."""
    job_id = control_plane.job(job)["id"]
    ordinals = dict.fromkeys(WEIGHTS, 0)
    for step, pieces in enumerate(expected):
        found = control_plane.get(f"/jobs/{job_id}/trace", step=step)
        assert found["certainty"] in ("recorded", "checked"), found
        for part in found["sources"]:
            num = len({piece[0] for piece in pieces if piece[1] == part["source"]})
            first = ordinals[part["source"]]
            assert (part["num_sequences"], part["first_ordinal"]) == (num, first if num else None), found
            ordinals[part["source"]] += num
        trained = [(attempt["number"], attempt["holds"]) for attempt in found["attempts"]]
        assert trained == ([(1, True)] if step < 5 else [(1, False), (2, True)] if step < 10 else [(2, True)])
        mix = found["mix"]
        assert mix["ramp_steps"] == (4 if step >= 12 else 0)
        assert mix["from_step"] == (0 if step < 5 else 5 if step < 12 else 12), found


@pytest.mark.parametrize("end_with", ["a resume", "skipped steps"])
def test_a_run_whose_steps_were_not_all_alike(
    control_plane: ControlPlane,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    end_with: str,
) -> None:
    """Longer sequences, another batch size, steps moved past: the record names every step all the same."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HEADRACE_URL", control_plane.url)
    monkeypatch.setenv("HEADRACE_TOKEN", control_plane.key("ingest,read"))
    corpus = random_corpus(tmp_path, {"web": 90, "code": 60}, mean=12)
    job = f"changed-{new_uuid()[:8]}"
    starts: list[tuple[dict[str, Any], int]] = [
        ({}, 0),
        ({"seq_len": 32}, 0),
        ({"seq_len": 32, "global_batch_size": 4}, 0),
        ({"seq_len": 32, "global_batch_size": 4}, 3),
    ]
    if end_with == "a resume":
        starts.append(({"seq_len": 32, "global_batch_size": 4}, 0))
    state: dict[str, Any] | None = None
    expected: dict[int, list[list[Any]] | None] = {}
    done = 0
    for options, skip_steps in starts:
        with open_loader(corpus.sources(**WEIGHTS), job=job, prefetch=0, **options) as loader:
            if state is not None:
                loader.load_state_dict(state, skip_steps=skip_steps)
            for number in range(5):
                if number == 2:
                    loader.set_weights(OTHERS if loader.weights_ppm["web"] > 500_000 else WEIGHTS)
                done = take_step(loader)[0].step
            state = loader.state_dict()
            expected = {step: _traced(loader, step) for step in range(done + 1)}
            held = [list(found) for found in loader.find("web/00001.arrow", 3, until_step=done)]
    assert [step for step, found in expected.items() if found is None] == [15, 16, 17]
    for step, pieces in expected.items():
        status, printed = traced(capsys, corpus, job, "--step", str(step))
        if pieces is None:
            assert (status, "moved past" in printed) == (1, True), printed
        else:
            assert status == 0, printed
            assert [list(piece.values()) for piece in printed["documents"]] == pieces, step
    told = control_plane.get(f"/jobs/{control_plane.job(job)['id']}/trace", step=done - 1)
    assert told["certainty"] == "unknown" and "steps were not all of" in told["statement"]
    document = ("--document", "web/00001.arrow:3", "--until-step", str(done))
    assert [list(found.values()) for found in traced(capsys, corpus, job, *document)[1]["deliveries"]] == held


def _traced(loader: Loader, step: int) -> list[list[Any]] | None:
    try:
        return [list(piece) for piece in loader.trace(step)]
    except StateError:
        return None


def test_a_start_that_does_not_tell_is_taken_and_a_changed_run_of_it_is_refused(
    control_plane: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with an older loader: its registration has no beginning."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HEADRACE_URL", control_plane.url)
    monkeypatch.setenv("HEADRACE_TOKEN", control_plane.key("ingest,read"))
    monkeypatch.setattr("headrace.run.MAX_BEGINNING_BYTES", 0)
    corpus = random_corpus(tmp_path, {"web": 60, "code": 25}, mean=12)
    job = f"untold-{new_uuid()[:8]}"
    with open_loader(corpus.sources(**WEIGHTS), job=job, prefetch=0) as loader:
        take_step(loader)
        state = loader.state_dict()
    with open_loader(corpus.sources(**WEIGHTS), job=job, prefetch=0, seq_len=32) as loader:
        loader.load_state_dict(state)
        take_step(loader)
    status, error = traced(capsys, corpus, job, "--step", "0")
    assert (status, "give a checkpoint, which knows where" in error) == (1, True), error

"""A run that goes on with something else: what the service learns of it, and what it must not undo."""

from __future__ import annotations

import json
import logging
import time
import uuid
import warnings
from pathlib import Path
from typing import Any

import pytest
from headrace import Loader, StateError

from tests.contract.control_plane import ControlPlane
from tests.loader.corpora import Corpus, random_corpus, take_step

_SMALL: dict[str, Any] = {"seq_len": 16, "global_batch_size": 8, "micro_batch_size": 4, "seed": 1, "eos_id": 0}


def _open(control_plane: ControlPlane, corpus: Corpus, name: str, weights: dict[str, float], **options: Any) -> Loader:
    service = {"job": name, "url": control_plane.url, "token": control_plane.loader_key}
    return Loader(corpus.sources(**weights), **service, **{**_SMALL, **options})


def _steps(loader: Loader, number: int) -> None:
    for _ in range(number):
        take_step(loader)
        time.sleep(0.02)


def _is_registered(control_plane: ControlPlane, loader: Loader, name: str) -> bool:
    """Whether the service knows this run: an edit before it does is one that the run undoes."""
    if (job := control_plane.job(name)) is None:
        return False
    mine = json.loads(loader.state_dict()["run"])["lineage"]
    attempts = control_plane.get(f"/jobs/{job['id']}/attempts")["items"]
    return any(attempt["state"] == "live" and attempt["lineage"] == mine for attempt in attempts)


def _edit(control_plane: ControlPlane, loader: Loader, name: str, weights: dict[str, int]) -> None:
    """Change the mix, and train until it has been in force for two steps."""
    deadline = time.monotonic() + 60
    while not _is_registered(control_plane, loader, name):
        assert time.monotonic() < deadline
        _steps(loader, 1)
    control_plane.edit(control_plane.job(name)["id"], weights)
    while loader.weights_ppm != weights:
        assert time.monotonic() < deadline
        _steps(loader, 5)
    _steps(loader, 2)


def test_sources_added_and_dropped_keep_the_mix_that_the_loader_made(
    control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The service has the same mix, an edit of it still gets through, and a dropped source gets no weight."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    corpus = random_corpus(tmp_path, {"web": 60, "code": 40, "math": 30}, mean=10)
    name = f"sources-{uuid.uuid4()}"
    with _open(control_plane, corpus, name, {"web": 0.75, "code": 0.25}) as loader:
        _steps(loader, 10)
        state = loader.state_dict()
    (job,) = control_plane.http.get(f"/projects/default/jobs?q={name}").json()["items"]
    with _open(control_plane, corpus, name, {"web": 0.5, "math": 0.5}) as loader:
        loader.load_state_dict(state)
        mine = loader.weights_ppm
        assert mine == {"web": 500_000, "math": 500_000}
        _steps(loader, 60)
        assert loader.weights_ppm == mine, "the version that the service made says the same"
        mix = control_plane.http.get(f"/jobs/{job['id']}/mix").json()
        assert mix["weights_ppm"] == {"web": 500_000, "code": 0, "math": 500_000}

        def edit(weights: dict[str, float]) -> None:
            etag = control_plane.http.get(f"/jobs/{job['id']}/mix").headers["etag"]
            body = {"weights": weights, "reason": "try"}
            sent = control_plane.http.put(f"/jobs/{job['id']}/mix", json=body, headers={"If-Match": etag})
            assert sent.status_code in (200, 201), sent.text

        edit({"web": 1, "code": 0, "math": 3})
        deadline = time.monotonic() + 30
        while loader.weights_ppm != {"web": 250_000, "math": 750_000} and time.monotonic() < deadline:
            _steps(loader, 5)
        assert loader.weights_ppm == {"web": 250_000, "math": 750_000}
        with caplog.at_level(logging.WARNING, "headrace"):
            edit({"web": 1, "code": 2, "math": 1})
            while "is ignored: it gives weight to ['code']" not in caplog.text:
                assert time.monotonic() < deadline
                _steps(loader, 5)
        assert loader.weights_ppm == {"web": 250_000, "math": 750_000}
    attempts = control_plane.http.get(f"/jobs/{job['id']}/attempts").json()["items"]
    first, second = sorted(attempts, key=lambda attempt: attempt["started_at"])
    assert (first["parent_lineage"], second["parent_lineage"]) == (None, first["lineage"])
    assert second["lineage"] != first["lineage"]


def test_a_checkpoint_of_another_job_is_refused_by_name_unless_it_is_the_parent(
    control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A branch has versions of its own: one with a number that its parent had is new to it."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    corpus = random_corpus(tmp_path, {"web": 60, "code": 40}, mean=10)
    parent, child = f"parent-{uuid.uuid4()}", f"child-{uuid.uuid4()}"
    equal = {"web": 0.5, "code": 0.5}

    with _open(control_plane, corpus, parent, equal) as loader:
        _steps(loader, 5)
        for web in (600_000, 700_000):
            _edit(control_plane, loader, parent, {"web": web, "code": 1_000_000 - web})
        state = loader.state_dict()
    with _open(control_plane, corpus, child, equal) as loader:
        with pytest.raises(StateError) as refused:
            loader.load_state_dict(state)
        assert str(refused.value) == (
            f"the state is of job '{parent}' and this loader's job is '{child}'; give it that job's checkpoint, or "
            f"parent_job='{parent}' to branch off"
        )
    with _open(control_plane, corpus, child, equal, parent_job=parent) as loader:
        loader.load_state_dict(state)
        assert loader.weights_ppm == {"web": 700_000, "code": 300_000}
        _steps(loader, 5)
        _edit(control_plane, loader, child, {"web": 250_000, "code": 750_000})
        assert {revision.id for revision in loader._log} >= {f"local:{json.loads(state['run'])['lineage']}:3"}
        branched = loader.state_dict()
    assert json.loads(branched["run"])["job"] == child
    with _open(control_plane, corpus, child, equal) as loader, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        loader.load_state_dict(branched)
        assert loader.weights_ppm == {"web": 250_000, "code": 750_000}
        _steps(loader, 3)
    with Loader(corpus.sources(**equal), job=None, **_SMALL) as loader, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        loader.load_state_dict(branched)
        assert json.loads(loader.state_dict()["run"])["job"] == child, "a run that reports nothing is still of its job"


def test_a_rewind_undoes_the_edits_after_it_until_somebody_edits_again(
    control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also over a later start: the newest version in the service is not taken for news."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    corpus = random_corpus(tmp_path, {"web": 60, "code": 40}, mean=10)
    name, equal = f"rewound-{uuid.uuid4()}", {"web": 0.5, "code": 0.5}
    before = {"web": 600_000, "code": 400_000}
    with _open(control_plane, corpus, name, equal) as loader:
        _edit(control_plane, loader, name, before)
        state = loader.state_dict()
        _edit(control_plane, loader, name, {"web": 900_000, "code": 100_000})
    with _open(control_plane, corpus, name, equal) as loader:
        loader.load_state_dict(state, replay=False)
        _steps(loader, 100)
        assert loader.weights_ppm == before
        later = loader.state_dict()
    with _open(control_plane, corpus, name, equal) as loader:
        loader.load_state_dict(later)
        _steps(loader, 100)
        assert loader.weights_ppm == before
        _edit(control_plane, loader, name, {"web": 100_000, "code": 900_000})
    attempts = control_plane.get(f"/jobs/{control_plane.job(name)['id']}/attempts")["items"]
    first, second, third = sorted(attempts, key=lambda attempt: attempt["started_at"])
    assert (second["parent_lineage"], third["lineage"]) == (first["lineage"], second["lineage"])

"""A loader's state is found in whatever a trainer saved it in."""

from __future__ import annotations

import json
import os
import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from headrace import StateError
from headrace.checkpoint import find_state, read_checkpoint

from tests.loader.corpora import Corpus, open_loader, random_corpus, take_step


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return random_corpus(tmp_path_factory.mktemp("checkpoint"), {"web": 20})


def state_at(corpus: Corpus, steps: int) -> dict[str, Any]:
    with open_loader(corpus.sources(), prefetch=0) as loader:
        for _ in range(steps):
            take_step(loader)
        return loader.state_dict()


MODEL = {"weight": torch.ones(3, 4), "steps": [1, 2]}


def test_a_state_in_a_file_of_torch_save(corpus: Corpus, tmp_path: Path) -> None:
    state = state_at(corpus, 2)
    for number, saved in enumerate((state, {"model": MODEL, "loader": state}, {"a": [{"b": ({"c": state},)}]})):
        torch.save(saved, tmp_path / f"{number}.pt")
        assert read_checkpoint(tmp_path / f"{number}.pt") == state


def test_a_state_in_json(corpus: Corpus, tmp_path: Path) -> None:
    state = state_at(corpus, 2)
    (tmp_path / "state.json").write_text(json.dumps({"loader": state}))
    assert read_checkpoint(tmp_path / "state.json") == state


def test_a_state_in_a_distributed_checkpoint(corpus: Corpus, tmp_path: Path) -> None:
    """Only its own few entries are read, whatever the model weighs."""
    import torch.distributed.checkpoint as dcp

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.distributed is disabled")
        with open_loader(corpus.sources(), prefetch=0) as loader:
            take_step(loader)
            dcp.save({"model": MODEL, "loader": loader}, checkpoint_id=tmp_path / "a", no_dist=True)
            state = loader.state_dict()
        dcp.save({"model": MODEL, "train": {"loader": state}}, checkpoint_id=tmp_path / "b", no_dist=True)
        dcp.save({"model": MODEL}, checkpoint_id=tmp_path / "c", no_dist=True)
    assert read_checkpoint(tmp_path / "a") == state
    assert read_checkpoint(tmp_path / "b") == state
    with pytest.raises(StateError, match="holds no loader state"):
        read_checkpoint(tmp_path / "c")


@pytest.mark.parametrize("is_relative", [False, True])
def test_the_newest_of_a_folder_of_checkpoints(
    corpus: Corpus,
    tmp_path: Path,
    is_relative: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R15: by number, not by name or time; what is no checkpoint is passed over with a note."""
    state = state_at(corpus, 1)
    folder = tmp_path / "checkpoints"
    for step in (10_000, 1_000, 900):  # the oldest number is written last
        (folder / f"step_{step}").parent.mkdir(exist_ok=True)
        torch.save({"model": MODEL, "loader": {**state, "step": step}}, folder / f"step_{step}")
    (folder / "notes.txt").write_text("stray")
    (folder / "step_20000").mkdir()
    (folder / "step_final").mkdir()
    os.utime(folder / "step_900")
    monkeypatch.chdir(tmp_path)
    assert read_checkpoint(Path("checkpoints") if is_relative else folder)["step"] == 10_000
    passed_over = {Path(line.split(": ")[0]).name for line in capsys.readouterr().err.splitlines()}
    assert passed_over == {"notes.txt", "step_20000", "step_final"}


def test_a_folder_without_any_is_refused(tmp_path: Path) -> None:
    (tmp_path / "step_1").mkdir()
    with pytest.raises(StateError, match="holds no checkpoint with a loader's state"):
        read_checkpoint(tmp_path)


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="does not exist"):
        read_checkpoint(tmp_path / "no.pt")
    (tmp_path / "text.pt").write_text("hello")
    with pytest.raises(StateError, match=r"text\.pt can't be read"):
        read_checkpoint(tmp_path / "text.pt")
    torch.save({"model": MODEL}, tmp_path / "model.pt")
    with pytest.raises(StateError, match=r"model\.pt holds no loader state: nothing in it has the keys accumulators"):
        read_checkpoint(tmp_path / "model.pt")


class Trap:
    """Runs when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (os.environ["TRAP"],))


def test_nothing_is_run_that_a_file_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAP", str(tmp_path / "sprung"))
    (tmp_path / "trap.pt").write_bytes(pickle.dumps({"loader": Trap()}))
    with pytest.raises(StateError, match="can't be read"):
        read_checkpoint(tmp_path / "trap.pt")
    assert not (tmp_path / "sprung").exists()


def test_a_state_is_known_by_its_shape(corpus: Corpus) -> None:
    state = state_at(corpus, 0)
    assert find_state({"x": 1, "deep": {"y": [0, state]}}) == state
    assert find_state({"x": {key: value for key, value in state.items() if key != "log"}}) is None
    looped: dict[str, Any] = {}
    looped["self"] = looped
    assert find_state(looped) is None

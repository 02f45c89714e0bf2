"""The training script under a real torchrun: one stream at any world size, and across a stop and a resume."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
import torch
from headrace.demo import train
from headrace.demo.corpus import Corpus, prepare
from headrace.errors import ConfigError

from tests.loader.demo.machines import small_machine
from tests.loader.demo.processes import finished, steps, torchrun, until


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    return prepare(folder / "cache", small_machine(folder / "machine"))


def sequences(out: Path, num_ranks: int) -> dict[int, list[int]]:
    """Sequences by source over all ranks, by step."""
    ranks = [steps(out, rank) for rank in range(num_ranks)]
    return {step: [sum(rank[step]["sequences"][name] for rank in ranks) for name in train.WEIGHTS] for step in ranks[0]}


def test_stop_and_resume_at_another_world_size(tmp_path: Path, corpus: Corpus) -> None:
    stopped = torchrun(2, corpus.folder, tmp_path / "a", "--steps", 100_000)
    until(lambda: len(steps(tmp_path / "a")) >= 3, "three steps")
    stopped.send_signal(signal.SIGTERM)
    stopped.communicate(timeout=60)
    at = int(torch.load(tmp_path / "a" / "checkpoint.pt", weights_only=True)["loader"]["step"])
    assert at >= 3
    assert list(steps(tmp_path / "a", 0)) == list(steps(tmp_path / "a", 1)) == list(range(at)), "both stop at one step"
    before = sequences(tmp_path / "a", 2)

    last = at + 3
    printed = finished(torchrun(1, corpus.folder, tmp_path / "a", "--steps", last, "--resume"))
    assert list(steps(tmp_path / "a")) == list(range(at, last))
    result = json.loads(printed.splitlines()[-1])
    assert result["steps"] == 3
    assert result["tokens"] == 3 * 16 * 128

    finished(torchrun(2, corpus.folder, tmp_path / "b", "--steps", last))
    whole = sequences(tmp_path / "b", 2)
    assert before | sequences(tmp_path / "a", 1) == whole
    losses = [steps(tmp_path / "b")[step]["loss"] for step in range(at, last)]
    assert [steps(tmp_path / "a")[step]["loss"] for step in range(at, last)] == pytest.approx(losses, rel=1e-3)
    first, final = steps(tmp_path / "b")[0], steps(tmp_path / "b")[last - 1]
    assert final["loss"] < first["loss"]
    results = [json.loads(line) for line in (tmp_path / "a" / "results.jsonl").read_text().splitlines()]
    assert [line["steps"] for line in results] == [at, 3]
    assert set(results[1]["validation_loss"]) == set(train.WEIGHTS)


def test_no_corpus_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--corpus is .*/none; there is no complete corpus there"):
        train.main(["--corpus", str(tmp_path / "none"), "--out", str(tmp_path), "--steps", "1"])

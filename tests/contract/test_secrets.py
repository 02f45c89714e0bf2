"""What a loader leaves behind holds no key: checkpoints, the spool, the log (case A04)."""

import logging
import time
import uuid
from pathlib import Path

import pytest
import torch
from headrace import Loader

from tests.contract.control_plane import ControlPlane
from tests.loader.corpora import random_corpus, take_step


def test_the_key_is_in_no_checkpoint_no_spool_and_no_log(
    control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HEADRACE_TOKEN", control_plane.loader_key)
    caplog.set_level(logging.DEBUG, "headrace")
    corpus = random_corpus(tmp_path, {"web": 60, "code": 40}, mean=10)
    with Loader(
        corpus.sources(web=0.5, code=0.5),
        job=f"secrets-{uuid.uuid4()}",
        url=control_plane.url,
        seq_len=16,
        global_batch_size=8,
        micro_batch_size=4,
        seed=1,
        eos_id=0,
    ) as loader:
        for _ in range(10):
            take_step(loader)
            time.sleep(0.02)
        torch.save(loader.state_dict(), tmp_path / "checkpoint.pt")
        shown = f"{loader!r} {loader.state_dict()!r}"
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert tmp_path / "checkpoint.pt" in files and any("spool" in file.parts for file in files)
    for file in files:
        assert control_plane.loader_key.encode() not in file.read_bytes(), file
    assert control_plane.loader_key not in shown + caplog.text

"""The small decisions of a demo run."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest
import torch
from headrace.demo import control, stages
from headrace.demo.children import ChildError, Children
from headrace.demo.gather import Machine
from headrace.errors import ConfigError

from tests.loader.demo.machines import prose, small_machine, write


def test_weights_are_turned_round_in_place() -> None:
    assert stages.turned({"a": 500_000, "b": 300_000, "c": 200_000}) == {"a": 200_000, "b": 300_000, "c": 500_000}
    assert list(stages.turned({"b": 1, "a": 2})) == ["b", "a"]


def test_a_kept_run_keeps_its_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = small_machine(tmp_path / "machine")
    monkeypatch.setattr(Machine, "here", lambda: machine)
    options = stages.Options(steps=1, keep=True)
    root, folder = tmp_path / "cache", tmp_path / "kept"
    folder.mkdir()
    first = stages.find_corpus(folder, root, options, print)
    write(machine.stdlib / "package" / "new.py", prose(777))
    second = stages.find_corpus(folder, root, options, print)
    assert second != first, "without a checkpoint there is nothing to go on from"
    write(machine.stdlib / "package" / "newer.py", prose(778))
    (folder / "training").mkdir()
    (folder / "training" / "checkpoint.pt").touch()
    assert stages.find_corpus(folder, root, options, print) == second
    shutil.rmtree(second.folder)
    with pytest.raises(ConfigError, match=r"the kept run's corpus, .*, is gone; remove .*kept to start afresh"):
        stages.find_corpus(folder, root, options, print)


def test_a_kept_run_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    assert stages.resumed_step(tmp_path) == 0
    torch.save({"loader": {"step": 17}}, tmp_path / "checkpoint.pt")
    assert stages.resumed_step(tmp_path) == 17


def test_secrets_are_written_for_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    for text in ("one", "two"):
        control.write_private(path, text)
        assert path.read_text() == text
        assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_secrets_are_not_in_a_repr() -> None:
    access = control.Access("admin", "pass-word", "hr_one", "hr_two")
    assert repr(access) == "Access(username='admin')"


def test_a_missing_server_is_said_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    with Children(tmp_path) as children, pytest.raises(ConfigError, match="pip install headrace-server"):
        control.start(children, tmp_path / "server", 0)


def test_a_server_keeps_its_login_and_keys_for_the_next_start(tmp_path: Path) -> None:
    with Children(tmp_path) as children:
        first = control.start(children, tmp_path / "server", 0)
        with control.Operator(first) as operator:
            assert operator.find_job("none") is None
            with pytest.raises(control.ControlError, match=r"GET /api/v1/jobs/none/mix was answered 4\d\d: "):
                operator.mix("none")
            os.kill(first.server.pid, signal.SIGKILL)
            with pytest.raises(ChildError, match=r"headrace-server ended with status -9; its last lines:"):
                operator.mix("none")
    with Children(tmp_path) as children:
        again = control.start(children, tmp_path / "server", 0)
        assert again.access == first.access
        with control.Operator(again) as operator:
            assert operator.find_job("none") is None
    (tmp_path / "server" / "access.json").unlink()
    with Children(tmp_path) as children, pytest.raises(control.ControlError, match=r"login .* is lost; remove that"):
        control.start(children, tmp_path / "server", 0)

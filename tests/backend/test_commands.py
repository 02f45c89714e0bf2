"""The commands that speak to a server: what they print, and how they end."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from headrace_server import cli
from headrace_server.commands import plain, table

from tests.backend.leader import Leader
from tests.backend.process import Server, new_key, serving

HOSTILE = "\x1b[31mred\x07"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def name(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """A job's name, with the environment of an operator."""
    monkeypatch.setenv("HEADRACE_URL", server.url)
    monkeypatch.setenv("HEADRACE_TOKEN", new_key(server.data_dir, "read,operate"))
    monkeypatch.delenv("HEADRACE_PROJECT", raising=False)
    return f"llama {uuid.uuid4()}"


@pytest.fixture
def leader(server: Server, name: str) -> Leader:
    return Leader(server.url, new_key(server.data_dir, "ingest,read"), name)


def test_a_job_is_looked_at_and_changed(
    name: str, leader: Leader, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def says(*args: str) -> str:
        assert cli.main(list(args)) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    with leader:
        header, row = says("jobs", name).splitlines()
        assert header.split()[:2] == ["JOB", "STATE"]
        assert row.startswith(name) and "running" in row and "web=50% code=30% legal=20%" in row
        assert [job["name"] for job in json.loads(says("jobs", name, "--state", "running", "--json"))] == [name]
        assert says("jobs", name, "--archived") == "JOB  STATE  STEP  TOKENS/S  RANKS  MIX\n"
        weights = ("web=1", "code=1", "legal=2")
        assert "legal   50%     +30" in says("mix", "preview", name, *weights)
        made = says("mix", "set", name, *weights, "--reason", "r", "--base", "1", "--wait", "--timeout-s", "60")
        assert made == "version 2 by key:test, applied: web=25% code=25% legal=50%\n"
        assert json.loads(says("mix", "show", name, "--json"))["version"] == 2
        assert "version 3" in says("mix", "revert", name, "1", "--reason", "no gain")
        assert [line.split()[0] for line in says("mix", "history", name).splitlines()] == ["VERSION", "3", "2", "1"]
    for what, file in (("reports", "r.parquet"), ("mix", "m.csv")):
        assert says("export", name, what, "-o", str(tmp_path / file)).startswith(str(tmp_path / file))
    assert (tmp_path / "r.parquet").read_bytes()[-4:] == b"PAR1"
    assert json.loads(says("figure", name, "mix", "-o", str(tmp_path / "mix.json"), "--json"))["bytes"] > 1000
    assert "data" in json.loads((tmp_path / "mix.json").read_text())
    says("figure", name, "loss", "--x", "time", "-o", str(tmp_path / "loss.html"))
    assert "cdn" not in (tmp_path / "loss.html").read_text()[:2000]
    says("report", name, "-o", str(tmp_path / "report.html"))


def test_exit_codes_tell_refusals_apart(
    name: str, leader: Leader, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    leader.close()
    change = ("mix", "set", name, "web=1", "code=1", "legal=1", "--reason", "r")
    assert cli.main([*change]) == 0
    capsys.readouterr()
    assert cli.main([*change, "--base", "1"]) == 3
    error = capsys.readouterr().err
    assert "you edited version 1, but version 2" in error and "version 2 by key:test, proposed" in error
    assert cli.main(["mix", "set", name, "web=-1", "code=1", "legal=1", "--reason", "r"]) == 1
    assert "weight of 'web'" in capsys.readouterr().err
    assert cli.main(["mix", "show", "no such job"]) == 1
    assert "has no job 'no such job'" in capsys.readouterr().err
    assert cli.main(["export", name, "mix", "-o", str(tmp_path / "missing" / "x.csv")]) == 1
    with pytest.raises(SystemExit) as usage:
        cli.main(["mix", "set", name, "web", "--reason", "r"])
    assert usage.value.code == 2
    assert "'web' is not SOURCE=WEIGHT" in capsys.readouterr().err
    monkeypatch.setenv("HEADRACE_URL", "http://127.0.0.1:1")
    assert cli.main(["jobs"]) == 4
    monkeypatch.delenv("HEADRACE_TOKEN")
    assert cli.main(["jobs"]) == 1
    assert "set HEADRACE_TOKEN" in capsys.readouterr().err


def test_names_can_not_drive_the_terminal() -> None:
    """Case A05."""
    assert plain(HOSTILE + "\n名") == "�[31mred��名"
    assert table(["A", "B"], [[HOSTILE, "1"], ["x", "22"]]) == "A          B\n�[31mred�  1\nx          22"

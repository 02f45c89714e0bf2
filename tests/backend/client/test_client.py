"""The Python client against a real server process."""

import csv
import uuid
from collections.abc import Iterator

import plotly.graph_objects as go
import pyarrow.parquet as pq
import pytest
from headrace_server.client import (
    Client,
    ForbiddenError,
    InvalidError,
    Job,
    MixChangedError,
    NotAppliedError,
    NotConfiguredError,
    NotFoundError,
    UnauthenticatedError,
)

from tests.backend.leader import Leader
from tests.backend.process import Server, new_key

MIX = {"web": 1, "code": 1, "legal": 2}


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with Client(server.url, new_key(server.data_dir, "read,operate")) as made:
        yield made


@pytest.fixture
def job(server: Server, token: str, client: Client) -> Iterator[Job]:
    name = f"llama-{uuid.uuid4()}"
    with Leader(server.url, token, name):
        yield client.job(name)


def test_jobs_are_listed_over_all_pages_and_found_by_name_or_id(
    server: Server, token: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace_server.client.client._PAGE", 2)
    mark = uuid.uuid4().hex
    names = [f"{mark} {number}" for number in range(5)]
    ids = {name: Leader(server.url, token, name).close().id for name in names}
    assert [job.name for job in client.jobs(mark)] == names[::-1]
    found = client.job(f"{mark} 3")
    assert (str(found.id), found.name) == (ids[f"{mark} 3"], f"{mark} 3")
    assert client.job(ids[f"{mark} 1"]).name == f"{mark} 1"
    found.archive()
    assert found.info.archived and len(list(client.jobs(mark))) == 4
    assert client.job(f"{mark} 3").id == found.id, "an archived job is still found"
    assert found.set_tags({"team": "a"}).tags == {"team": "a"}
    for unknown in (mark, f"{mark} 9", str(uuid.uuid4())):
        with pytest.raises(NotFoundError, match=unknown):
            client.job(unknown)
    assert "default" in [project.name for project in client.projects()]


def test_a_change_is_made_waited_for_and_reverted(job: Job, client: Client) -> None:
    before = job.mix
    assert (before.version, before.weights_ppm) == (1, {"web": 500_000, "code": 300_000, "legal": 200_000})
    preview = job.preview(MIX, ramp_steps=10)
    assert preview.delta_ppm == {"web": -250_000, "code": -50_000, "legal": 300_000}
    made = job.set_mix(MIX, reason="a test", base=before)
    applied = job.wait_applied(made, timeout_s=60, poll_s=0.1)
    assert (applied.version, applied.life.applied_ranks) == (2, 2)
    back = job.revert(1, reason="no gain")
    assert (back.version, back.reverts, back.weights_ppm) == (3, 1, before.weights_ppm)
    assert [found.version for found in job.history()] == [3, 2, 1]
    assert job.wait_applied(timeout_s=60, poll_s=0.1).version == 3
    assert [found.version for found in job.activations()] == [2, 3]
    assert {"mix.edit", "mix.revert"} <= {event.action for event in client.audit(job)}


def test_a_source_is_paused_and_returned(job: Job) -> None:
    assert job.pause("code", reason="it is broken").weights_ppm["code"] == 0
    assert job.resume("code", reason="it is mended").weights_ppm["code"] == 300_000


def test_who_edits_an_old_version_gets_the_current_one(job: Job) -> None:
    base = job.mix
    theirs = job.set_mix(MIX, reason="first", base=base)
    with pytest.raises(MixChangedError) as refused:
        job.set_mix({"web": 1, "code": 0, "legal": 0}, reason="second", base=base)
    assert refused.value.current.version == theirs.version
    assert refused.value.current.weights_ppm == theirs.weights_ppm
    assert (refused.value.status, refused.value.code) == (412, "mix_changed")
    assert job.set_mix({"web": 1, "code": 0, "legal": 0}, reason="second", base=refused.value.current).version == 3


def test_waiting_ends_when_nobody_agrees(server: Server, token: str, client: Client) -> None:
    name = f"idle {uuid.uuid4()}"
    Leader(server.url, token, name).close()
    job = client.job(name)
    first = job.set_mix(MIX, reason="first")
    with pytest.raises(NotAppliedError, match=r"version 2 .* is proposed after 0.2 s, applied on 0 of 2 ranks"):
        job.wait_applied(first, timeout_s=0.2, poll_s=0.05)
    job.set_mix({"web": 1, "code": 1, "legal": 1}, reason="second")
    with pytest.raises(NotAppliedError, match="superseded") as given_up:
        job.wait_applied(first, timeout_s=5, poll_s=0.05)
    assert given_up.value.version.life.state == "superseded"
    with pytest.raises(NotFoundError, match="no mix version 9"):
        job.wait_applied(9)


def test_numbers_and_figures_come_typed(job: Job) -> None:
    assert [rank.rank for rank in job.ranks()] == [0, 1]
    series = job.series("tokens_per_s", max_points=10)
    assert (series.unit, len(series.points)) == ("tokens/s", 10)
    assert [source.name for source in job.series("share").sources or []] == ["web", "code", "legal"]
    assert [attempt.number for attempt in job.attempts()] == [1]
    for name in ("mix", "throughput", "wait", "loss", "epochs"):
        figure = job.figure(name, x="time", theme="dark")  # type: ignore[arg-type]
        assert isinstance(figure, go.Figure)
        assert len(figure.data) > 0


def test_files_are_written_whole(job: Job, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("files")
    rows = list(csv.DictReader(job.export(folder / "reports.csv").read_text().splitlines()))
    table = pq.read_table(job.export(folder / "reports.parquet", "reports", high=4_000_000_000.0))
    assert len(rows) == table.num_rows >= 40
    assert pq.read_table(job.export(folder / "x.parquet", low=4_000_000_000.0)).num_rows == 0
    assert job.report(folder / "report.html").read_text().rstrip().endswith("</html>")
    with pytest.raises(NotFoundError):
        job.export(folder / "none.csv", attempt=uuid.uuid4())
    with pytest.raises(FileNotFoundError):
        job.export(folder / "missing" / "x.csv")
    assert sorted(path.name for path in folder.iterdir()) == [
        "report.html",
        "reports.csv",
        "reports.parquet",
        "x.parquet",
    ]


def test_problems_are_typed(server: Server, job: Job) -> None:
    with pytest.raises(InvalidError, match="weight of 'web'") as refused:
        job.set_mix({"web": -1, "code": 1, "legal": 1}, reason="r")
    assert refused.value.status == 422
    assert refused.value.errors[0]["loc"] == ["body", "weights", "web"]
    assert refused.value.request_id
    with Client(server.url, new_key(server.data_dir, "read")) as reader:
        with pytest.raises(ForbiddenError) as forbidden:
            reader.job(job.id).set_mix(MIX, reason="r")
        assert forbidden.value.status == 403
    with Client(server.url, "hr_wrong") as stranger, pytest.raises(UnauthenticatedError):
        list(stranger.jobs())


def test_it_is_configured_by_the_environment_and_shows_no_token(
    server: Server, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HEADRACE_URL", "HEADRACE_TOKEN", "HEADRACE_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(NotConfiguredError, match="HEADRACE_URL"):
        Client()
    monkeypatch.setenv("HEADRACE_URL", server.url)
    with pytest.raises(NotConfiguredError, match="HEADRACE_TOKEN"):
        Client()
    with pytest.raises(NotConfiguredError, match="http://"):
        Client("127.0.0.1:8400", token)
    monkeypatch.setenv("HEADRACE_TOKEN", token)
    with Client() as client:
        assert list(client.jobs("no such job at all")) == []
        assert token not in repr(client) + repr(vars(client)) + repr(vars(client._transport))

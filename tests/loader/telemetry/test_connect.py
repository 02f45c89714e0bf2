"""What a user wrote is refused early and by name; without a job there is no telemetry at all."""

import logging
import socket
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from headrace.errors import ConfigError
from headrace.telemetry import reporter as reporter_module
from headrace.telemetry.connect import connect
from headrace.telemetry.description import SourceDescription

from tests.loader.telemetry.ranks import DESCRIPTION, identity, sample, wait_until
from tests.loader.telemetry.services import Service

VARIABLES = ("HEADRACE_URL", "HEADRACE_TOKEN", "HEADRACE_JOB", "HEADRACE_PROJECT", "HEADRACE_CACHE")
VARIABLES += ("HEADRACE_SPOOL_BYTES", "HEADRACE_UNWRITTEN_REPORTS")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(reporter_module, "_SEND_S", 0.5)


def test_without_a_job_there_is_none_and_nothing_is_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_URL", "not a url")
    threads = threading.active_count()
    assert connect(identity(), DESCRIPTION) is None
    monkeypatch.setenv("HEADRACE_JOB", "")
    assert connect(identity(), DESCRIPTION) is None
    assert not (tmp_path / "cache").exists()
    assert threading.active_count() == threads


def test_a_job_without_a_url_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"job is 'llama'.*HEADRACE_URL"):
        connect(identity(), DESCRIPTION, job="llama")


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:8400",
        "ftp://host",
        "http://",
        "http://host:port",
        "http://host:99999",
        "http://host/?token=hr_s3cret",
        "http://host/#x",
        "http://[::1",
    ],
)
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="HEADRACE_URL"):
        connect(identity(), DESCRIPTION, job="llama", url=url)


def test_a_password_in_the_url_is_refused_without_showing_it() -> None:
    with pytest.raises(ConfigError, match="HEADRACE_TOKEN") as caught:
        connect(identity(), DESCRIPTION, job="llama", url="http://me:s3cret@host")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("token", ["hr_s3 cret", "hr_s3\ncret", "hr_s3cret\u2028ü"])
def test_a_key_that_is_none_is_refused_without_showing_it(token: str) -> None:
    with pytest.raises(ConfigError, match="HEADRACE_TOKEN") as caught:
        connect(identity(), DESCRIPTION, job="llama", url="http://127.0.0.1:1", token=token)
    assert "s3" not in str(caught.value)


@pytest.mark.parametrize("name", [" a", "a\nb", "x" * 201])
def test_names_that_the_control_plane_does_not_take_are_refused(name: str) -> None:
    source = SourceDescription(name=name, weight_ppm=1_000_000, num_documents=1, num_tokens=1, num_shards=1)
    with pytest.raises(ConfigError, match="job name"):
        connect(identity(), DESCRIPTION, job=name, url="http://127.0.0.1:1")
    with pytest.raises(ConfigError, match="project name"):
        connect(identity(), DESCRIPTION, job="a", project=name, url="http://127.0.0.1:1")
    with pytest.raises(ConfigError, match="source name"):
        connect(identity(), replace(DESCRIPTION, sources=(source,)), job="a", url="http://127.0.0.1:1")


def test_limits_out_of_range_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="HEADRACE_SPOOL_BYTES is 5; it must be a whole number of at least 1048576"):
        connect(identity(), DESCRIPTION, job="a", url="http://127.0.0.1:1", spool_bytes=5)
    with pytest.raises(ConfigError, match="report_every_s is nan"):
        connect(identity(), DESCRIPTION, job="a", url="http://127.0.0.1:1", report_every_s=float("nan"))
    for name, text in (("SPOOL_BYTES", "1GB"), ("SPOOL_BYTES", "-1"), ("UNWRITTEN_REPORTS", "0")):
        with monkeypatch.context() as here:
            here.setenv(f"HEADRACE_{name}", text)
            with pytest.raises(ConfigError, match=f"HEADRACE_{name} is {text}; it must be a whole number of at least"):
                connect(identity(), DESCRIPTION, job="a", url="http://127.0.0.1:1")


def test_a_proxy_that_httpx_cannot_use_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "gopher://me:s3cret@proxy")
    with pytest.raises(ConfigError, match="ALL_PROXY") as caught:
        connect(identity(), DESCRIPTION, job="a", url="http://control.invalid")
    assert "s3cret" not in str(caught.value)


def test_everything_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    service = Service()
    monkeypatch.setenv("HEADRACE_URL", service.url + "/")
    monkeypatch.setenv("HEADRACE_JOB", "from env")
    monkeypatch.setenv("HEADRACE_TOKEN", " hr_key\n")
    monkeypatch.setenv("HEADRACE_PROJECT", "team a")
    telemetry = connect(identity(), DESCRIPTION)
    assert telemetry is not None
    telemetry.step_ended(sample(0))
    telemetry.finish()
    first = service.requests[0]
    assert first.path == "/api/v1/projects/team%20a/jobs"
    assert first.body["name"] == "from env"
    assert first.headers["authorization"] == "Bearer hr_key"
    assert (tmp_path / "cache" / "spool").is_dir()
    service.close()


def test_a_service_that_does_not_answer_is_said_once_and_training_starts(caplog: pytest.LogCaptureFixture) -> None:
    telemetry = connect(identity(), DESCRIPTION, job="a", url="http://127.0.0.1:1")
    assert telemetry is not None
    wait_until(lambda: caplog.records)
    telemetry.finish()
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "http://127.0.0.1:1 does not answer" in record.getMessage()
    assert "training goes on" in record.getMessage()


def test_a_cache_that_cannot_be_written_is_replaced_loudly_and_still_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service = Service()
    (tmp_path / "file").write_text("")
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(private))
    telemetry = connect(identity(), DESCRIPTION, job="a", url=service.url, cache=tmp_path / "file")
    assert telemetry is not None
    telemetry.step_ended(sample(0))
    telemetry.finish()
    assert [record["step"] for _, record in service.records] == [0]
    assert "HEADRACE_CACHE" in caplog.text
    assert list(private.iterdir()) == []
    service.close()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match="HEADRACE_CACHE"):
        connect(identity(), DESCRIPTION, job="a", url="http://127.0.0.1:1", cache=tmp_path / "file")


def test_an_attempt_that_is_no_uuid_cannot_become_a_path() -> None:
    with pytest.raises(ValueError, match="UUID"):
        connect(replace(identity(), attempt="../../x"), DESCRIPTION, job="a", url="http://127.0.0.1:1")


def test_ipv6_loopback_works() -> None:
    if not socket.has_ipv6 or sys.platform != "linux":
        pytest.fail("this suite needs Linux with IPv6 on loopback")
    telemetry = connect(identity(), DESCRIPTION, job="a", url="http://[::1]:1")
    assert telemetry is not None
    telemetry.finish()

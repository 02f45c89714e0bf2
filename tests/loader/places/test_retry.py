"""What is tried again, for how long, and what never is."""

from __future__ import annotations

import random
import threading
import time

import pytest
from headrace.places import ChangedError
from headrace.places.retry import is_passing, retried

AWS = "When reading information for key 'k' in bucket 'b': AWS Error"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.places.retry.FIRST_WAIT_S", 0.001)
    monkeypatch.setattr("headrace.places.retry.LONGEST_WAIT_S", 0.02)


class Work:
    """Fails with each of `failures`, then gives 7."""

    def __init__(self, *failures: OSError) -> None:
        self.failures = list(failures)
        self.seen: list[int] = []

    def __call__(self, tries: int) -> int:
        self.seen.append(tries)
        if self.failures:
            raise self.failures.pop(0)
        return 7


@pytest.mark.parametrize(
    "text",
    [
        f"{AWS} UNKNOWN (HTTP status 500) during HeadObject operation: No response body.",
        f"{AWS} UNKNOWN (HTTP status 503) during GetObject operation: No response body.",
        f"{AWS} UNKNOWN (HTTP status 429) during HeadObject operation: No response body.",
        f"{AWS} SLOW_DOWN during GetObject operation: Please reduce your request rate.",
        f"{AWS} NETWORK_CONNECTION during GetObject operation: curlCode: 56, Failure when receiving data",
        f"{AWS} NETWORK_CONNECTION during GetObject operation: curlCode: 28, Timeout was reached",
        "google::cloud::Status(UNAVAILABLE: Retry policy exhausted)",
        "4040 bytes came where 8080 were asked for at byte 403",
    ],
)
def test_what_passes_is_tried_again(text: str) -> None:
    assert is_passing(OSError(5, text))
    work = Work(OSError(5, text), OSError(5, text))
    assert retried(work, threading.Event()) == 7
    assert work.seen == [0, 1, 2]


@pytest.mark.parametrize(
    "failure",
    [
        OSError(5, f"{AWS} ACCESS_DENIED during HeadObject operation: No response body."),
        OSError(5, f"{AWS} INVALID_ACCESS_KEY_ID during ListObjectsV2 operation: The key does not exist."),
        OSError(5, f"{AWS} SIGNATURE_DOES_NOT_MATCH during GetObject operation"),
        OSError(5, f"{AWS} NO_SUCH_BUCKET during ListObjectsV2 operation: The specified bucket does not exist"),
        OSError(5, f"{AWS} UNKNOWN (HTTP status 301) during HeadObject operation: No response body."),
        OSError(5, "google::cloud::Status(PERMISSION_DENIED: no)"),
        FileNotFoundError(2, "it is gone since it was listed"),
        PermissionError(13, "Permission denied"),
        ChangedError("changed from 1 to 2 bytes since it was listed"),
    ],
    ids=str,
)
def test_what_the_store_refused_or_lost_is_not(failure: OSError) -> None:
    work = Work(failure)
    with pytest.raises(type(failure)) as caught:
        retried(work, threading.Event())
    assert caught.value is failure
    assert work.seen == [0]


def test_it_ends_after_the_limit_and_says_how_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.places.retry.LIMIT_S", 0.1)
    work = Work(*(OSError(110, "timed out") for _ in range(10_000)))
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"timed out \(tried \d+ times in 0 s\)") as caught:
        retried(work, threading.Event())
    assert time.monotonic() - began < 1
    assert caught.value.errno == 110
    assert len(work.seen) > 4


def test_nothing_is_begun_after_the_stop_and_no_wait_outlasts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.places.retry.FIRST_WAIT_S", 5.0)
    monkeypatch.setattr("headrace.places.retry.LONGEST_WAIT_S", 5.0)
    stop = threading.Event()
    threading.Timer(0.05, stop.set).start()
    work = Work(OSError(5, "broken"), OSError(5, "broken"))
    began = time.monotonic()
    with pytest.raises(OSError, match="broken"):
        retried(work, stop)
    assert time.monotonic() - began < 2
    with pytest.raises(InterruptedError, match="being closed"):
        retried(work, stop)
    assert work.seen == [0]


def test_the_training_scripts_own_random_numbers_stay_as_they_are() -> None:
    random.seed(5)
    expected = random.random()
    random.seed(5)
    retried(Work(OSError(5, "broken")), threading.Event())
    assert random.random() == expected

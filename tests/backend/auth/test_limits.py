"""Guessing passwords is slowed down by user and address, and by address alone."""

import pytest
from headrace_server.auth.limits import LoginLimiter
from headrace_server.errors import TooManyRequestsError


def fail(limiter: LoginLimiter, username: str, address: str, now: float, times: int = 1) -> None:
    for _ in range(times):
        limiter.failed(username, address, now)


def test_a_user_is_paused_from_one_address_only() -> None:
    limiter = LoginLimiter(failures=3, window_s=60)
    fail(limiter, "ada", "a", 0, 3)
    with pytest.raises(TooManyRequestsError) as refused:
        limiter.check("ada", "a", 10)
    assert refused.value.headers["Retry-After"] == "50"
    limiter.check("ada", "b", 10)
    limiter.check("bob", "a", 10)
    limiter.check("ada", "a", 60)


def test_an_address_that_tries_many_users_is_paused_too() -> None:
    limiter = LoginLimiter(failures=3, window_s=60)
    for i in range(18):
        fail(limiter, f"user{i}", "a", 0)
    with pytest.raises(TooManyRequestsError):
        limiter.check("somebody", "a", 1)
    limiter.check("somebody", "b", 1)


def test_success_forgets_the_failures() -> None:
    limiter = LoginLimiter(failures=3, window_s=60)
    fail(limiter, "ada", "a", 0, 2)
    limiter.succeeded("ada", "a")
    fail(limiter, "ada", "a", 1, 2)
    limiter.check("ada", "a", 2)


def test_memory_is_bounded() -> None:
    limiter = LoginLimiter(failures=3, window_s=60)
    for i in range(30_000):
        fail(limiter, f"user{i}", f"address{i}", 0)
    assert len(limiter._seen) <= 10_000

"""Here time passes in the test's own looks."""

import math

import pytest
from headrace_server.alerts import watch
from headrace_server.ingest import uptime


@pytest.fixture(autouse=True)
def no_looks_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server looks once at its start, its next look is an hour off, and a slow machine is no leap of time."""
    monkeypatch.setattr(watch, "TICK_S", 3600.0)
    monkeypatch.setattr(uptime, "TOLERANCE_S", math.inf)

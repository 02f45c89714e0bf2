"""Ports, desktops and terminals as they may be found."""

from __future__ import annotations

import socket

import pytest
from headrace.demo import surroundings


def test_a_wanted_port_is_taken_as_it_is() -> None:
    assert surroundings.free_port(0) == 0
    assert surroundings.free_port(4321) == 4321


def test_the_usual_port_is_asked_for_only_when_free(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setattr(surroundings, "PORT", taken.getsockname()[1])
        assert surroundings.free_port(None) == taken.getsockname()[1]
        taken.listen()
        assert surroundings.free_port(None) == 0


def test_the_login_is_framed() -> None:
    assert surroundings.box(["Headrace", "", "open  x"]).splitlines() == [
        "+------------+",
        "|  Headrace  |",
        "|            |",
        "|  open  x   |",
        "+------------+",
    ]


@pytest.mark.parametrize(("name", "opens"), [("DISPLAY", True), ("WAYLAND_DISPLAY", True), ("SSH_TTY", False)])
def test_a_browser_is_opened_on_a_desktop_only(monkeypatch: pytest.MonkeyPatch, name: str, opens: bool) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for variable in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv(name, ":0")
    assert surroundings.can_open_browser() == opens

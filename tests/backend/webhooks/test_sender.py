"""One request: to the address that was checked, with the name's Host and certificate, and no way around."""

import asyncio
import socket
from pathlib import Path

import pytest
from headrace_server.webhooks import sender as module
from headrace_server.webhooks.addresses import Allowed, parse_allowed
from headrace_server.webhooks.sender import Sender, resolve, shown_text

from tests.backend.webhooks.receiver import certificate, receiving

LOOPBACK = parse_allowed(["127.0.0.1"])


class Names:
    """A name server whose answers change with each question: the n-th gets the n-th, the last one for ever."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append((host, port))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


async def test_a_rebound_name_is_asked_once_and_the_checked_address_connected_to() -> None:
    """The second answer, which would be refused, is never asked for; nor does the system's own resolver get a say."""
    async with receiving() as receiver:
        names = Names(["127.0.0.1"], ["10.9.9.9"])
        outcome = await Sender(LOOPBACK, names).post(f"http://hooks.example:{receiver.port}/x?y=1", {}, b"{}")
        assert (outcome.status, outcome.error) == (200, None)
        assert names.asked == [("hooks.example", receiver.port)]
        [got] = receiver.received
        assert got.line == "POST /x?y=1 HTTP/1.1"
        assert got.headers["host"] == f"hooks.example:{receiver.port}"


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1"],
        ["8.8.8.8", "127.0.0.1"],
        ["8.8.8.8", "::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["2002:7f00:1::"],
        ["169.254.169.254"],
        ["fe80::1%eth0"],
        [],
    ],
)
async def test_one_bad_address_among_good_ones_is_enough_to_refuse(answers: list[str]) -> None:
    async with receiving() as receiver:
        outcome = await Sender(Allowed(), Names(answers)).post(f"http://hooks.example:{receiver.port}/", {}, b"{}")
        assert outcome.status is None
        assert outcome.error is not None and outcome.error.startswith("not sent: hooks.example ")
        assert receiver.received == []
        if answers:
            assert answers[-1] not in outcome.error, "what internal names resolve to is not told"


@pytest.mark.parametrize("form", ["2130706433", "0x7f000001", "0x7f.1", "127.1", "017700000001", "localhost."])
async def test_odd_forms_that_resolve_to_loopback_are_refused_by_address_too(form: str) -> None:
    """Were one to slip through the URL's check, the system's own answer for it would still be refused."""
    try:
        found = await resolve(form, 80)
    except socket.gaierror:
        return
    for text in found:
        assert not Allowed().admits(form, module.ip_address(text)), (form, text)


async def test_ports_of_mail_servers_and_shells_are_refused() -> None:
    for port in (22, 25, 143, 993):
        outcome = await Sender(Allowed(), Names(["8.8.8.8"])).post(f"http://hooks.example:{port}/", {}, b"{}")
        assert outcome.error == f"not sent: port {port} is refused; use 80, 443 or one from 1024 on"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(status: int) -> None:
    async with receiving() as target, receiving() as receiver:
        receiver.answers = [(status, {"Location": f"http://127.0.0.1:{target.port}/"}, b"")]
        outcome = await Sender(LOOPBACK).post(f"http://127.0.0.1:{receiver.port}/", {}, b"{}")
        assert outcome.error == f"answered {status}; redirects are not followed"
        assert (len(receiver.received), target.received) == (1, [])


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving() as proxy, receiving() as receiver:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        await Sender(LOOPBACK).post(f"http://127.0.0.1:{receiver.port}/", {}, b"{}")
        assert (len(receiver.received), proxy.received) == (1, [])


async def test_tls_is_checked_for_the_name_and_not_the_address(tmp_path: Path) -> None:
    server, client = certificate(tmp_path, "hooks.example")
    async with receiving(server) as receiver:
        names = Names(["127.0.0.1"])
        url = f"https://{{}}:{receiver.port}/"
        good = await Sender(LOOPBACK, names, client).post(url.format("hooks.example"), {}, b"{}")
        dotted = await Sender(LOOPBACK, names, client).post(url.format("hooks.example."), {}, b"{}")
        assert (good.error, dotted.error) == (None, None)
        assert receiver.tls_names == ["hooks.example", "hooks.example"]
        assert receiver.received[0].headers["host"] == f"hooks.example:{receiver.port}"
        for other in ("other.example", "127.0.0.1"):
            refused = await Sender(LOOPBACK, names, client).post(url.format(other), {}, b"{}")
            assert refused.error is not None and "ertificate" in refused.error, other
        strangers = await Sender(LOOPBACK, names).post(url.format("hooks.example"), {}, b"{}")
        assert strangers.error is not None and "CERTIFICATE_VERIFY_FAILED" in strangers.error
        assert len(receiver.received) == 2


async def test_what_comes_back_is_cut_and_made_plain() -> None:
    async with receiving() as receiver:
        receiver.answers = [(500, {"Retry-After": "30"}, b"<b>\x1b[31m\r\nsecret\x00 " + b"x" * 5_000_000)]
        outcome = await Sender(LOOPBACK).post(f"http://127.0.0.1:{receiver.port}/", {}, b"{}")
        assert outcome.status == 500
        assert outcome.error is not None and outcome.error.startswith("answered 500: <b> [31m secret x")
        assert len(outcome.error) < 230
        assert outcome.retry_after_s == 30
    assert shown_text("é\u202e ok".encode()) == "ok"


async def test_a_receiver_that_hangs_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOTAL_S", 0.3)
    async with receiving() as receiver:
        receiver.hold = asyncio.Event()
        outcome = await Sender(LOOPBACK).post(f"http://127.0.0.1:{receiver.port}/", {}, b"{}")
        assert outcome.error == "no answer within 0 s"
        receiver.hold.set()


async def test_a_name_server_that_hangs_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOTAL_S", 0.3)

    async def never(_host: str, _port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    outcome = await Sender(LOOPBACK, never).post("http://hooks.example/", {}, b"{}")
    assert outcome.error == "no answer within 0 s"


async def test_who_hangs_up_or_is_not_there_is_an_outcome_and_no_error() -> None:
    async with receiving() as receiver:
        receiver.answers = [None]
        outcome = await Sender(LOOPBACK).post(f"http://127.0.0.1:{receiver.port}/", {}, b"{}")
        assert (outcome.status, outcome.error is None) == (None, False)
        port = receiver.port
    gone = await Sender(LOOPBACK).post(f"http://127.0.0.1:{port}/", {}, b"{}")
    assert gone.error is not None and gone.error.startswith("ConnectError")

    async def unknown(_host: str, _port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    assert (await Sender(LOOPBACK, unknown).post("http://nowhere.example/", {}, b"{}")).error is not None

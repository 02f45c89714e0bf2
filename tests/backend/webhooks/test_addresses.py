"""What a webhook may reach: public addresses and what is allowed, in whichever form they come."""

from ipaddress import ip_address

import pytest
from headrace_server.errors import StartRefusedError
from headrace_server.settings import Settings
from headrace_server.webhooks.addresses import Allowed, is_public, parse_allowed
from headrace_server.webhooks.urls import parse_url
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

PRIVATE = [
    "0.0.0.0",
    "10.0.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:127.0.0.1",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:808:808::1",
    "3fff::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "2606:4700::1111%eth0",
]


@pytest.mark.parametrize("text", PRIVATE)
def test_what_is_not_public_is_not_reached(text: str) -> None:
    assert not is_public(ip_address(text))


@pytest.mark.parametrize("text", ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00::1"])
def test_what_is_public_is(text: str) -> None:
    assert is_public(ip_address(text))


@given(st.ip_addresses())
def test_nothing_that_python_calls_private_is_public(address) -> None:  # type: ignore[no-untyped-def]
    if address.is_private or address.is_loopback or address.is_link_local or address.is_multicast:
        assert not is_public(address)


def test_networks_and_names_are_allowed_and_no_more() -> None:
    allowed = parse_allowed(["10.1.0.0/16", "192.168.0.9", "fd00::/64", "Alerts.Internal."])
    for host, text in (("x", "10.1.2.3"), ("x", "192.168.0.9"), ("x", "fd00::5"), ("alerts.internal", "127.0.0.1")):
        assert allowed.admits(host, ip_address(text)), text
    for host, text in (("x", "10.2.0.1"), ("x", "::ffff:10.1.2.3"), ("x.alerts.internal", "127.0.0.1"), ("x", "::1")):
        assert not allowed.admits(host, ip_address(text)), text
    assert Allowed().admits("x", ip_address("8.8.8.8"))
    with pytest.raises(ValueError, match=r"'10.0.0.1/8' is neither a network"):
        parse_allowed(["10.0.0.1/8"])


def test_a_wrong_setting_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_SERVER_WEBHOOK_ALLOW", "10.0.0.0/8, alerts.internal")
    assert Settings().allowed_by_webhooks.names("alerts.internal")
    with pytest.raises((ValidationError, StartRefusedError), match="neither a network"):
        Settings(webhook_allow=["10.0.0.0/99"])


@pytest.mark.parametrize(
    ("url", "host", "port", "shown"),
    [
        ("https://hooks.example/T/B/x?k=1#f", "hooks.example", 443, "https://hooks.example/…"),
        ("HTTP://Hooks.Example:8080", "hooks.example", 8080, "http://hooks.example:8080"),
        ("https://bücher.example/", "xn--bcher-kva.example", 443, "https://xn--bcher-kva.example"),
        ("http://hooks.example./x", "hooks.example.", 80, "http://hooks.example./…"),
        ("http://127.0.0.1/", "127.0.0.1", 80, "http://127.0.0.1"),
        ("http://[2001:DB8:0:0::1]:81/", "2001:db8::1", 81, "http://[2001:db8::1]:81"),
    ],
)
def test_a_url_is_taken_apart_once(url: str, host: str, port: int, shown: str) -> None:
    target = parse_url(url)
    assert (target.host, target.port, target.shown) == (host, port, shown)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ftp://x/", "must be http or https"),
        ("//x/", "must be http or https"),
        ("file:///etc/passwd", "must be http or https"),
        ("gopher://x:25/", "must be http or https"),
        ("http://", "not a host name"),
        ("http:///x", "not a host name"),
        ("http://user@x/", "holds a user name"),
        ("http://:password@x/", "holds a user name"),
        ("http://127.1/", "not a plain IPv4"),
        ("http://2130706433/", "not a plain IPv4"),
        ("http://0x7f000001/", "not a plain IPv4"),
        ("http://0x7f.0.0.1/", "not a plain IPv4"),
        ("http://0177.0.0.1/", "can't be read"),
        ("http://017700000001/", "not a plain IPv4"),
        ("http://127.0.0.1./", "not a plain IPv4"),
        ("http://127.0.0.256/", "can't be read"),
        ("http://1.2.3.4.5/", "not a plain IPv4"),
        ("http://x.0x/", "not a plain IPv4"),
        ("http://[fe80::1%25eth0]/", "zone"),
        ("http://[::1%lo]/", "zone"),
        ("http://[::g]/", "can't be read"),
        ("http://127.0.0.1%00.example/", "not a host name"),
        ("http://ex%61mple/", "not a host name"),
        ("http://a..b/", "not a host name"),
        ("http://-a.example/", "not a host name"),
        ("http://a b/", "spaces"),
        ("http://a\\@b/", "backslashes"),
        ("http://a\nb/", "spaces"),
        ("http://１２７.０.０.１/", "can't be read"),
        ("http://ⓛocalhost/", "can't be read"),
        ("http://x:0/", "port 0"),
        ("http://x:99999/", "port 99999"),
        ("http://x/" + "a" * 2000, "at most 2000"),
        ("http://" + "a" * 64 + ".example/", "not a host name"),
    ],
)
def test_odd_urls_are_refused_with_the_reason(url: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_url(url)

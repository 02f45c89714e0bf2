"""The URL of a webhook, taken apart once and strictly: what is checked is what is connected to. Pure."""

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address

import httpx

MAX_URL_CHARS = 2000
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"^{_LABEL}(?:\.{_LABEL})*\.?$")
# Resolvers read "127.1", "0x7f000001", "017700000001" and "2130706433" as addresses; only the plain form is taken.
_NUMBERED = re.compile(r"(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)\.?$")
# Below 1024 only the web's own: no talking to mail servers or shells.
_WEB_PORTS = (80, 443)
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Target:
    """Where a webhook leads: a name or a plain address, in lower case, without brackets."""

    url: httpx.URL
    host: str
    port: int
    is_web_port: bool

    @property
    def shown(self) -> str:
        """The URL as it may be shown: the path and the query may be secrets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if _DEFAULT_PORTS[self.url.scheme] == self.port else f":{self.port}"
        rest = "" if self.url.raw_path in (b"/", b"") else "/…"
        return f"{self.url.scheme}://{host}{port}{rest}"


def _checked_host(host: str) -> str:
    if ":" in host:
        try:
            address = IPv6Address(host)
        except AddressValueError as error:
            raise ValueError(f"{host[:100]!r} is not an IPv6 address") from error
        if address.scope_id is not None:
            raise ValueError("an address with a zone can't be a webhook's; use one that is valid everywhere")
        return str(address)
    if _NUMBERED.search(host):
        try:
            return str(IPv4Address(host))
        except AddressValueError as error:
            raise ValueError(f"{host[:100]!r} is not a plain IPv4 address such as 192.0.2.1") from error
    if len(host) > 254 or not _NAME.match(host):
        raise ValueError(f"{host[:100]!r} is not a host name")
    return host


def parse_url(text: str) -> Target:
    """The URL taken apart. Raises ValueError saying what is wrong, never with more of it than the host."""
    if len(text) > MAX_URL_CHARS or not text.isprintable() or " " in text or "\\" in text:
        raise ValueError(f"the URL must be at most {MAX_URL_CHARS} characters, without spaces or backslashes")
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ValueError("the URL can't be read") from error
    if url.scheme not in _DEFAULT_PORTS:
        raise ValueError(f"the URL begins with {url.scheme[:20]!r}; it must be http or https")
    if url.userinfo:
        raise ValueError("the URL holds a user name or a password; the webhook's signature says who is calling")
    host = _checked_host(url.raw_host.decode("ascii").lower())
    port = _DEFAULT_PORTS[url.scheme] if url.port is None else url.port
    if not 1 <= port <= 65_535:
        raise ValueError(f"port {port} is not one of 1 to 65535")
    return Target(url.copy_with(fragment=None), host, port, port in _WEB_PORTS or port >= 1024)

"""Which addresses stay on this machine, and which URLs can't be read on the way."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether ``host`` (a name or an address) can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_private_url(url: object) -> bool:
    """Whether this is a URL over TLS, or of this machine."""
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (
            parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
        )
    except ValueError:
        return False

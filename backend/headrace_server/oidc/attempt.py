"""One try to sign in, bound to one browser. Pure.

The browser keeps a random secret in a cookie; state, nonce and code verifier are derived from it. So the server keeps
nothing, and what comes back counts only in the browser that set out, and only for a while. Where to go afterwards is
part of the secret too, so it is what the browser set out with, or nothing at all.
"""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

LASTS_S = 600
_FORM = re.compile(r"(\d{1,12})\.[\w-]{43}(?:\.([\w-]{1,1400}))?")
# One slash and then anything that neither browsers nor we could take for another origin.
_LOCAL = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,1000}")
_OWN = ("/login", "/api/")


def local_path(given: str | None) -> str:
    """``given`` if it is a path of the dashboard, else its start page: never another origin, never the API."""
    if given is None or _LOCAL.fullmatch(given) is None or given.startswith(_OWN):
        return "/"
    return given


@dataclass(frozen=True)
class Attempt:
    """A try; ``cookie`` is what the browser keeps."""

    cookie: str

    @classmethod
    def begin(cls, now: float, next_path: str = "/") -> "Attempt":
        """A new one that is to end at a path of the dashboard."""
        kept = base64.urlsafe_b64encode(next_path.encode()).decode().rstrip("=")
        return cls(f"{int(now)}.{secrets.token_urlsafe(32)}.{kept}")

    @classmethod
    def resume(cls, cookie: str, now: float) -> "Attempt | None":
        """The one that the browser began, unless too long ago."""
        found = _FORM.fullmatch(cookie)
        return cls(cookie) if found is not None and 0 <= now - int(found[1]) <= LASTS_S else None

    @property
    def next_path(self) -> str:
        """Where to go once signed in: a path of the dashboard."""
        found = _FORM.fullmatch(self.cookie)
        kept = found[2] if found is not None else None
        if kept is None:
            return "/"
        try:
            return local_path(base64.urlsafe_b64decode(kept + "=" * (-len(kept) % 4)).decode())
        except (binascii.Error, UnicodeDecodeError):
            return "/"

    @property
    def state(self) -> str:
        """Comes back with the browser."""
        return self._derive("state")

    @property
    def nonce(self) -> str:
        """Comes back inside the provider's token."""
        return self._derive("nonce")

    @property
    def verifier(self) -> str:
        """Proves to the provider that who exchanges the code is who asked for it (RFC 7636)."""
        return self._derive("verifier")

    def is_state(self, given: str) -> bool:
        """Whether this is the state that was sent along; constant time."""
        return hmac.compare_digest(self.state.encode(), given.encode("utf-8", "replace"))

    def _derive(self, what: str) -> str:
        return hmac.new(self.cookie.encode(), f"headrace oidc {what}".encode(), hashlib.sha256).hexdigest()

"""One try to sign in, bound to one browser. Pure.

The browser keeps a random secret in a cookie; state, nonce and code verifier are derived from it. So the server keeps
nothing, and what comes back counts only in the browser that set out, and only for a while.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

LASTS_S = 600
_FORM = re.compile(r"(\d{1,12})\.[\w-]{43}")


@dataclass(frozen=True)
class Attempt:
    """A try; ``cookie`` is what the browser keeps."""

    cookie: str

    @classmethod
    def begin(cls, now: float) -> "Attempt":
        """A new one."""
        return cls(f"{int(now)}.{secrets.token_urlsafe(32)}")

    @classmethod
    def resume(cls, cookie: str, now: float) -> "Attempt | None":
        """The one that the browser began, unless too long ago."""
        found = _FORM.fullmatch(cookie)
        return cls(cookie) if found is not None and 0 <= now - int(found[1]) <= LASTS_S else None

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

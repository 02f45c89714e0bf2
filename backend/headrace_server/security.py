"""Secrets: keys, session tokens, CSRF tokens, passwords.

Random 256-bit secrets are kept as a SHA-256: nothing slower is needed where nothing can be guessed. Passwords,
which can be, are kept as argon2id. Look-up is by hash, so comparing never leaks how much of a secret was right.
"""

import asyncio
import hashlib
import hmac
import secrets
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

KEY_MARK = "hr_"
_PREFIX_CHARS = len(KEY_MARK) + 8
MIN_PASSWORD_CHARS = 12

_hasher = PasswordHasher()


@cache
def _nobody() -> str:
    """Verified when a user is unknown, so that answering takes as long as when one is known."""
    return _hasher.hash(secrets.token_urlsafe(16))


def new_key() -> str:
    """A new API key: ``hr_`` and 256 random bits. Shown once, never stored."""
    return KEY_MARK + secrets.token_urlsafe(32)


def key_prefix(key: str) -> str:
    """The part of a key that may be shown to recognise it by."""
    return key[:_PREFIX_CHARS]


def new_session_token() -> str:
    """A new session token: 128 random bits that stay as long as the session, a dot, 256 that are replaced.

    Lives in the cookie only.
    """
    return next_session_token(secrets.token_urlsafe(16))


def next_session_token(token: str) -> str:
    """The token that replaces another of the same session."""
    return f"{_constant_part(token)}.{secrets.token_urlsafe(32)}"


def _constant_part(session_token: str) -> str:
    return session_token.partition(".")[0]


def new_password() -> str:
    """A generated password of 144 random bits."""
    return secrets.token_urlsafe(18)


def secret_hash(secret: str) -> bytes:
    """SHA-256 of a random secret, 32 bytes: what the database keeps."""
    return hashlib.sha256(secret.encode()).digest()


def csrf_token(session_token: str) -> str:
    """The CSRF token of a session, the same for each of its tokens; derived, so nothing more is stored."""
    return hmac.new(_constant_part(session_token).encode(), b"headrace csrf", hashlib.sha256).hexdigest()


def csrf_matches(session_token: str, given: str) -> bool:
    """Whether ``given`` is the session's CSRF token; constant time."""
    return hmac.compare_digest(csrf_token(session_token).encode(), given.encode())


async def hash_password(password: str) -> str:
    """An argon2id hash; computed off the event loop."""
    return await asyncio.to_thread(_hasher.hash, password)


def _verify(password_hash: str | None, password: str) -> bool:
    try:
        return _hasher.verify(password_hash or _nobody(), password) and password_hash is not None
    except (VerificationError, InvalidHashError):
        return False


async def password_matches(password_hash: str | None, password: str) -> bool:
    """Whether the password is right; takes as long for an unknown user (None) as for a wrong password."""
    return await asyncio.to_thread(_verify, password_hash, password)

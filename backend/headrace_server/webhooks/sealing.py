"""Secrets that must be read again: sealed with the server's key if it has one, and marked as plain if not."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken

_PLAIN, _SEALED = "plain:", "sealed:"


class SealedError(Exception):
    """A secret was sealed with a key that this server doesn't have."""


def _fernet(key: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(b"headrace sealing\0" + key.encode()).digest()))


def seal(text: str, key: str | None) -> str:
    """The secret as it is stored."""
    if key is None:
        return _PLAIN + text
    return _SEALED + _fernet(key).encrypt(text.encode()).decode()


def unseal(stored: str, key: str | None) -> str:
    """The secret again. Raises SealedError, which names the setting and not the secret."""
    if stored.startswith(_PLAIN):
        return stored.removeprefix(_PLAIN)
    if key is None:
        raise SealedError("the webhook was sealed with HEADRACE_SERVER_SEALING_KEY, which is not set")
    try:
        return _fernet(key).decrypt(stored.removeprefix(_SEALED).encode()).decode()
    except InvalidToken as error:
        raise SealedError("the webhook was sealed with another HEADRACE_SERVER_SEALING_KEY") from error

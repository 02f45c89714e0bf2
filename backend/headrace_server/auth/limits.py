"""Slowing down password guessing: by (user, address) and by address, counted in the database for all replicas.

A try is counted before the password is looked at and taken back when it was right, so guesses that come all at once
are counted too. Who tried is kept as a hash: what is typed as a user name may be a password.
"""

import hashlib

from ..db import Database
from ..errors import TooManyRequestsError
from ..settings import Settings
from . import repository

# An address may fail this many times as often as one user from it.
_ADDRESS_FACTOR = 6


def _keys(username: str, address: str) -> tuple[bytes, bytes]:
    by_user = hashlib.sha256(f"user\n{address}\n{username}".encode("utf-8", "replace")).digest()
    return by_user, hashlib.sha256(f"address\n{address}".encode("utf-8", "replace")).digest()


async def count_try(database: Database, settings: Settings, username: str, address: str, now: float) -> bool:
    """Count a try; says whether it is the last before a pause. Raises TooManyRequestsError while the pause lasts."""
    last = False
    by_user, by_address = _keys(username, address)
    async with database.write() as session:
        for who, limit in ((by_user, settings.login_failures), (by_address, settings.login_failures * _ADDRESS_FACTOR)):
            num, since = await repository.count_failure(session, who, since=now - settings.login_window_s, now=now)
            if num > limit:
                wait_s = max(1, round(since + settings.login_window_s - now))
                raise TooManyRequestsError(f"too many failed logins; try again in {wait_s} s", retry_after_s=wait_s)
            last = last or num == limit
    return last


async def was_right(database: Database, username: str, address: str) -> None:
    """Forget the user's failures from this address, and that this try was counted against the address."""
    by_user, by_address = _keys(username, address)
    async with database.write() as session:
        await repository.forget_failures(session, by_user, all_of_them=True)
        await repository.forget_failures(session, by_address, all_of_them=False)

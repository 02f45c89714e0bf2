"""How people can sign in."""

from ..fields import Reply


class ProviderLink(Reply):
    """What the provider is called, and where signing in with it begins."""

    name: str
    url: str


class SignInMethods(Reply):
    """How people can sign in here, besides a user name and a password; ``provider`` is null where none is set up."""

    provider: ProviderLink | None

"""The provider over HTTP: where its endpoints are, its keys, and a code exchanged for a token.

What it says about itself is kept for an hour and read again when a token names a key it didn't have; requests take 10 s
at most, follow no redirect, and go to the addresses that the issuer gives over TLS (or on this machine).
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from joserfc.errors import JoseError
from joserfc.jwk import KeySet, KeySetSerialization

from ..errors import ProviderUnavailableError, SignInRefusedError
from ..loopback import is_private_url
from .attempt import Attempt
from .settings import OidcSettings

_KEPT_S = 3600.0
_KEYS_AT_MOST_EVERY_S = 30.0
_TIMEOUT_S = 10.0
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_AUTH_METHODS = ("client_secret_basic", "client_secret_post")


@dataclass
class Provider:
    """The configured provider. Every method raises ProviderUnavailableError when it can't be reached or understood."""

    settings: OidcSettings
    _about: dict[str, Any] = field(default_factory=dict)
    _about_at: float = 0.0
    _keys: KeySet | None = None
    _keys_at: float = 0.0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def issuer(self) -> str:
        """Its name, as in its tokens."""
        assert self.settings.oidc_issuer is not None
        return self.settings.oidc_issuer

    def _client(self, redirect_uri: str | None = None, **more: str) -> AsyncOAuth2Client:
        secret = self.settings.oidc_client_secret
        return AsyncOAuth2Client(
            client_id=self.settings.oidc_client_id,
            client_secret=None if secret is None else secret.get_secret_value(),
            scope=self.settings.oidc_scope,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
            timeout=_TIMEOUT_S,
            follow_redirects=False,
            **more,
        )

    async def _read(self, url: str) -> dict[str, Any]:
        try:
            async with self._client() as client:
                reply = await client.request("GET", url, withhold_token=True)
                reply.raise_for_status()
                document = reply.json()
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise ProviderUnavailableError(
                f"the provider {self.settings.oidc_display_name} can't be reached ({type(error).__name__}); try again"
            ) from error
        if not isinstance(document, dict):
            raise ProviderUnavailableError(f"{url} is not a JSON object")
        return document

    async def about(self, now: float) -> dict[str, Any]:
        """Its discovery document, checked: of this issuer, with usable addresses."""
        async with self._lock:
            if not self._about or now - self._about_at > _KEPT_S:
                url = self.issuer.rstrip("/") + "/.well-known/openid-configuration"
                document = await self._read(url)
                if document.get("issuer") != self.issuer:
                    raise ProviderUnavailableError(f"{url} is of another issuer than {self.issuer!r}")
                wrong = [name for name in _ENDPOINTS if not is_private_url(document.get(name))]
                if wrong:
                    raise ProviderUnavailableError(f"{url} has no usable {wrong[0]}; it must be an https address")
                self._about, self._about_at = document, now
            return self._about

    async def keys(self, now: float, *, anew: bool = False) -> KeySet:
        """What its tokens are signed with; ``anew`` reads them again, though not over and over."""
        about = await self.about(now)
        async with self._lock:
            age_s = now - self._keys_at
            if self._keys is None or age_s > _KEPT_S or (anew and age_s > _KEYS_AT_MOST_EVERY_S):
                document: KeySetSerialization = await self._read(about["jwks_uri"])  # type: ignore[assignment]
                try:
                    self._keys = KeySet.import_key_set(document)
                except (JoseError, ValueError, KeyError, TypeError) as error:
                    raise ProviderUnavailableError("the provider's keys can't be read") from error
                self._keys_at = now
            return self._keys

    async def sign_in_url(self, attempt: Attempt, redirect_uri: str, now: float) -> str:
        """Where to send the browser."""
        about = await self.about(now)
        async with self._client(redirect_uri) as client:
            url: str
            url, _ = client.create_authorization_url(
                about["authorization_endpoint"],
                state=attempt.state,
                code_verifier=attempt.verifier,
                nonce=attempt.nonce,
            )
        return url

    async def exchange(self, attempt: Attempt, code: str, redirect_uri: str, now: float) -> str:
        """The ID token for a code. Raises SignInRefusedError when the provider doesn't take it."""
        about = await self.about(now)
        try:
            async with self._client(redirect_uri, token_endpoint_auth_method=self._method(about)) as client:
                token = await client.fetch_token(
                    about["token_endpoint"],
                    code=code,
                    code_verifier=attempt.verifier,
                    grant_type="authorization_code",
                )
        except httpx2.HTTPError as error:
            raise ProviderUnavailableError("the provider can't be reached; try again") from error
        except (AuthlibBaseError, ValueError) as error:
            raise SignInRefusedError("the provider did not take the code; sign in again") from error
        id_token = token.get("id_token")
        if not isinstance(id_token, str):
            raise SignInRefusedError("the provider sent no ID token; the scope must have openid")
        return id_token

    def _method(self, about: dict[str, Any]) -> str:
        if self.settings.oidc_client_secret is None:
            return "none"
        offered = about.get("token_endpoint_auth_methods_supported") or _AUTH_METHODS
        return next((method for method in _AUTH_METHODS if method in offered), _AUTH_METHODS[0])

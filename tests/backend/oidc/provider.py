"""A real OpenID Connect provider on loopback: Authlib's authorization server behind the standard library's HTTP server.

It signs everybody in at once, as ``user`` says. ``fault`` makes it misbehave in one way.
"""

import base64
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from authlib.oauth2.rfc6749 import AuthorizationServer, OAuth2Request
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core import UserInfo
from authlib.oidc.core.grants import OpenIDCode
from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey

CLIENT_ID, CLIENT_SECRET = "headrace", secrets.token_urlsafe(24)


def _base64(document: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")


@dataclass
class Code:
    """An authorization code, good once."""

    code: str
    redirect_uri: str
    scope: str
    nonce: str | None
    code_challenge: str | None
    user: dict[str, Any]
    code_challenge_method: str = "S256"
    auth_time: int = field(default_factory=lambda: int(time.time()))

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope

    def get_nonce(self) -> str | None:
        return self.nonce

    def get_auth_time(self) -> int:
        return self.auth_time

    def get_acr(self) -> None:
        return None

    def get_amr(self) -> None:
        return None


class Client:
    """The one client that is registered, with its one redirect URI."""

    id_token_signed_response_alg = "RS256"

    def __init__(self, redirect_uri: str) -> None:
        self.redirect_uri = redirect_uri

    def get_client_id(self) -> str:
        return CLIENT_ID

    def get_default_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_allowed_scope(self, scope: str) -> str:
        return scope

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri == self.redirect_uri

    def check_client_secret(self, client_secret: str) -> bool:
        return secrets.compare_digest(client_secret, CLIENT_SECRET)

    def check_endpoint_auth_method(self, method: str, _endpoint: str) -> bool:
        return method == "client_secret_basic"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "authorization_code"


class Grant(AuthorizationCodeGrant):
    """Codes that are kept in memory and used up."""

    TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic",)

    def save_authorization_code(self, code: str, request: OAuth2Request) -> Code:
        data = request.payload.data
        kept = Code(
            code, data["redirect_uri"], data["scope"], data.get("nonce"), data.get("code_challenge"), dict(request.user)
        )
        self.server.provider.codes[code] = kept
        return kept

    def query_authorization_code(self, code: str, _client: Client) -> Code | None:
        found: Code | None = self.server.provider.codes.get(code)
        return found

    def delete_authorization_code(self, authorization_code: Code) -> None:
        del self.server.provider.codes[authorization_code.code]

    def authenticate_user(self, authorization_code: Code) -> dict[str, Any]:
        return authorization_code.user


class IdToken(OpenIDCode):
    """ID tokens, right or with the fault that is asked for."""

    def __init__(self, provider: "Provider") -> None:
        super().__init__(require_nonce=True)
        self.provider = provider

    def exists_nonce(self, _nonce: str, _request: OAuth2Request) -> bool:
        return False

    def resolve_client_private_key(self, _client: Client) -> RSAKey:
        return self.provider.key

    def get_client_claims(self, client: Client) -> dict[str, Any]:
        now = int(time.time())
        return {"iss": self.provider.issuer, "aud": [client.get_client_id()], "iat": now, "exp": now + 86_400}

    def generate_user_info(self, user: dict[str, Any], _scope: str) -> UserInfo:
        return UserInfo(**user)

    def process_token(self, grant: Any, response: Any) -> dict[str, Any]:
        token: dict[str, Any] = super().process_token(grant, response)
        token["id_token"] = self.provider.spoiled(token["id_token"])
        if self.provider.fault == "no id token":
            del token["id_token"]
        return token


class Server(AuthorizationServer):
    """Authlib's server, over requests as they are and (status, body, headers)."""

    def __init__(self, provider: "Provider") -> None:
        super().__init__()
        self.provider = provider
        self.register_grant(Grant, [CodeChallenge(required=True), IdToken(provider)])
        self.register_token_generator("default", self.bearer_token)

    def bearer_token(self, scope: str | None = None, **_: Any) -> dict[str, Any]:
        return {"token_type": "Bearer", "access_token": secrets.token_urlsafe(24), "scope": scope, "expires_in": 300}

    def query_client(self, client_id: str) -> Client | None:
        return Client(self.provider.redirect_uri) if client_id == CLIENT_ID else None

    def save_token(self, _token: dict[str, Any], _request: OAuth2Request) -> None:
        """Nothing is ever asked with the access token."""

    def send_signal(self, _name: str, *_: Any, **__: Any) -> None:
        """Nobody listens."""

    def create_oauth2_request(self, request: OAuth2Request) -> OAuth2Request:
        return request

    def handle_response(self, status: int, body: Any, headers: Any) -> tuple[int, Any, Any]:
        return status, body, headers


class Provider:
    """The provider's state. ``user`` has the claims of whoever signs in next."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.redirect_uri = "http://localhost/api/v1/session/oidc/callback"
        self.fault: str | None = None
        self.user: dict[str, Any] = {"sub": "1", "preferred_username": "grace"}
        self.codes: dict[str, Code] = {}
        self.key = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
        self.num_discoveries = 0
        self.server = Server(self)

    def rotate_key(self) -> None:
        """Sign with a new key from now on, and publish only that one."""
        self.key = RSAKey.generate_key(2048, {"kid": secrets.token_hex(4), "use": "sig"})

    def about(self) -> dict[str, Any]:
        """The discovery document."""
        self.num_discoveries += 1
        base = "http://provider.example" if self.fault == "endpoints without TLS" else self.issuer
        return {
            "issuer": "https://other.example" if self.fault == "discovery of another issuer" else self.issuer,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "jwks_uri": f"{base}/keys",
            "response_types_supported": ["code"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            "authorization_response_iss_parameter_supported": True,
        }

    def spoiled(self, id_token: str) -> str:
        """The token with the fault in it."""
        claims = jwt.decode(id_token, self.key, algorithms=["RS256"]).claims
        now = int(time.time())
        changes: dict[str | None, dict[str, Any]] = {
            "wrong nonce": {"nonce": "another"},
            "expired": {"exp": now - 600, "iat": now - 900},
            "from the future": {"iat": now + 3600, "exp": now + 7200},
            "wrong audience": {"aud": ["somebody else"]},
            "two audiences": {"aud": [CLIENT_ID, "somebody else"], "azp": "somebody else"},
            "another issuer": {"iss": "https://other.example"},
        }
        claims |= changes.get(self.fault, {})
        if self.fault == "no nonce":
            del claims["nonce"]
        if self.fault == "alg none":
            return f"{_base64({'alg': 'none', 'typ': 'JWT'})}.{_base64(claims)}."
        if self.fault == "signed with the public key":
            secret = OctKey.import_key(json.dumps(self.key.as_dict(private=False)))
            return jwt.encode({"alg": "HS256", "kid": self.key.kid}, claims, secret, algorithms=["HS256"])
        if self.fault == "signed with an unknown key":
            key = RSAKey.generate_key(2048, {"kid": "unknown"})
            return jwt.encode({"alg": "RS256", "kid": "unknown"}, claims, key, algorithms=["RS256"])
        return jwt.encode({"alg": "RS256", "kid": self.key.kid}, claims, self.key, algorithms=["RS256"])


class Asked(OAuth2Request):
    """A request with its form."""

    @property
    def form(self) -> dict[str, Any]:
        data: dict[str, Any] = self.payload.data
        return data


class Handler(BaseHTTPRequestHandler):
    """HTTP for the provider."""

    provider: Provider

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""

    def _reply(self, status: int, body: Any, headers: Any = ()) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _request(self, form: str) -> OAuth2Request:
        request = Asked(self.command, f"{self.provider.issuer}{self.path}", headers=self.headers)
        request.payload = BasicOAuth2Payload(dict(parse_qsl(urlsplit(self.path).query)) | dict(parse_qsl(form)))
        return request

    def _authorize(self) -> None:
        server, user, request = self.provider.server, dict(self.provider.user), self._request("")
        status, body, headers = server.create_authorization_response(
            request, user, server.get_consent_grant(request, user)
        )
        # Who answers (RFC 9207), which Authlib leaves to the server.
        answered = [
            (name, f"{value}&iss={self.provider.issuer}" if name == "Location" else value) for name, value in headers
        ]
        self._reply(status, body, answered)

    def do_GET(self) -> None:
        path, provider = urlsplit(self.path).path, self.provider
        if provider.fault == "down":
            self._reply(503, {"error": "down"})
        elif provider.fault == "garbage":
            self._reply(200, b"<html>welcome</html>")
        elif provider.fault == "redirects":
            self._reply(302, {}, {"Location": f"{provider.issuer}/elsewhere"})
        elif path == "/.well-known/openid-configuration":
            self._reply(200, provider.about())
        elif path == "/keys":
            self._reply(200, KeySet([provider.key]).as_dict(private=False))
        elif path == "/authorize":
            self._authorize()
        else:
            self._reply(404, {})

    def do_POST(self) -> None:
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.provider.fault == "down":
            self._reply(503, {})
        else:
            self._reply(*self.provider.server.create_token_response(self._request(form)))


@contextmanager
def running_provider() -> Iterator[Provider]:
    """A provider on a free port of loopback, for as long as the block lasts."""

    class Bound(Handler):
        pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Bound) as http:
        Bound.provider = Provider(f"http://127.0.0.1:{http.server_port}")
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        try:
            yield Bound.provider
        finally:
            http.shutdown()
            thread.join()

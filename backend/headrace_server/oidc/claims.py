"""What the provider's token says, once it is proved to be the provider's, for us, for this try, and fresh. Pure."""

from dataclasses import dataclass
from typing import Any

from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from ..errors import SignInRefusedError

# Asymmetric ones only: neither "none", nor one for which the public key would do as a secret.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_LEEWAY_S = 60
_MAX_TEXT = 255


class UnknownKeyError(Exception):
    """The token is signed with a key that isn't among the provider's; it may have new ones."""


@dataclass(frozen=True)
class Claims:
    """Who signs in: ``subject`` is who they are to the issuer; the rest may change."""

    issuer: str
    subject: str
    username: str
    email: str | None
    email_verified: bool
    groups: frozenset[str]

    @property
    def domain(self) -> str | None:
        """The domain of a verified address."""
        return self.email.rpartition("@")[2].lower() if self.email is not None and self.email_verified else None


def verify(
    id_token: str, keys: KeySet, *, issuer: str, client_id: str, nonce: str, now: float, group_claim: str
) -> Claims:
    """What the token says. Raises SignInRefusedError with the reason, and UnknownKeyError."""
    try:
        claims = jwt.decode(id_token, keys, algorithms=ALGORITHMS).claims
        registry = jwt.JWTClaimsRegistry(
            now=int(now),
            leeway=_LEEWAY_S,
            iss={"essential": True, "value": issuer},
            aud={"essential": True, "value": client_id},
            exp={"essential": True},
            iat={"essential": True},
            sub={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        registry.validate(claims)
    except InvalidKeyIdError as error:
        raise UnknownKeyError from error
    except (JoseError, ValueError, TypeError) as error:
        raise SignInRefusedError(f"the provider's token is not valid here: {error}") from error
    if claims.get("azp", client_id) != client_id or (isinstance(claims["aud"], list) and len(claims["aud"]) > 1):
        raise SignInRefusedError("the provider's token is not valid here: it is for another client too")
    return _read(claims, group_claim)


def _read(claims: dict[str, Any], group_claim: str) -> Claims:
    subject = claims["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= _MAX_TEXT:
        raise SignInRefusedError("the provider's token has no usable subject")
    email = claims.get("email")
    listed = claims.get(group_claim)
    groups = listed if isinstance(listed, list) else []
    return Claims(
        issuer=claims["iss"],
        subject=subject,
        username=_username(claims, subject),
        email=email if isinstance(email, str) else None,
        email_verified=claims.get("email_verified") is True,
        groups=frozenset(group for group in groups if isinstance(group, str))
        if isinstance(groups, list)
        else frozenset(),
    )


def _username(claims: dict[str, Any], subject: str) -> str:
    for name in ("preferred_username", "email", "name"):
        given = claims.get(name)
        if isinstance(given, str):
            shown = "".join(character for character in given if character.isprintable()).strip()[:150].strip()
            if shown:
                return shown
    return "".join(character for character in subject if character.isprintable()).strip()[:150].strip() or "somebody"

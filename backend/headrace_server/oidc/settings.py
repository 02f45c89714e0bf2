"""Settings of signing in with a provider; all of them begin with ``oidc_``."""

from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode

from ..loopback import is_private_url
from ..principal import ROLES, Role

Listed = Annotated[list[str], NoDecode]
RoleRule = tuple[str, str, Role]


def _split(given: object) -> object:
    return [part.strip() for part in given.split(",") if part.strip()] if isinstance(given, str) else given


class OidcSettings(BaseModel):
    """How people sign in with an OpenID Connect provider; without ``oidc_issuer`` they don't."""

    oidc_issuer: str | None = Field(default=None, description="the provider's issuer URL; unset: passwords only")
    oidc_client_id: str | None = Field(default=None, description="what the provider calls this server")
    oidc_client_secret: SecretStr | None = Field(default=None, description="unset for a public client")
    oidc_name: str | None = Field(default=None, description="what the login page calls the provider; unset: its host")
    oidc_scope: str = Field(default="openid profile email", description="what is asked of the provider")
    oidc_allowed_domains: Listed = Field(
        default=[], description="domains, comma-separated, of which a verified e-mail address is needed; unset: any"
    )
    oidc_default_role: Role | None = Field(
        default=None, description="role in the project `default` that a first login gives; unset: none"
    )
    oidc_group_claim: str = Field(default="groups", description="the claim that lists a person's groups")
    oidc_roles: Listed = Field(
        default=[], description="GROUP=PROJECT:ROLE, comma-separated; followed at each login in the projects it names"
    )

    @field_validator("oidc_allowed_domains", "oidc_roles", mode="before")
    @classmethod
    def _split_lists(cls, given: object) -> object:
        return _split(given)

    @field_validator("oidc_allowed_domains")
    @classmethod
    def _lower(cls, domains: list[str]) -> list[str]:
        return [domain.lower().removeprefix("@") for domain in domains]

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.oidc_issuer is not None:
            if not is_private_url(self.oidc_issuer):
                raise ValueError(f"oidc_issuer is {self.oidc_issuer!r}; it must be an https:// address")
            if self.oidc_client_id is None:
                raise ValueError("oidc_issuer is set without oidc_client_id")
        _ = self.oidc_role_rules
        return self

    @property
    def oidc_display_name(self) -> str:
        """What people know the provider as."""
        return self.oidc_name or urlsplit(self.oidc_issuer or "").hostname or "the provider"

    @property
    def oidc_role_rules(self) -> list[RoleRule]:
        """``oidc_roles`` as (group, project, role). Raises ValueError that names the rule."""
        rules: list[RoleRule] = []
        for rule in self.oidc_roles:
            group, _, rest = rule.rpartition("=")
            project, _, role = rest.rpartition(":")
            if not group or not project or role not in ROLES:
                raise ValueError(
                    f"oidc_roles has {rule!r}; it must be GROUP=PROJECT:ROLE, ROLE one of {', '.join(ROLES)}"
                )
            rules.append((group, project, role))
        return rules

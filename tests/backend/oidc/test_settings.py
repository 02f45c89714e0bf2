"""What of the settings for a provider is refused before anything starts."""

from typing import Any

import pytest
from headrace_server.oidc.service import roles_by_group
from headrace_server.settings import Settings
from pydantic import ValidationError

RULES: Any = "ml=default:viewer,leads=default:admin,team=a=lab:operator"


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"oidc_issuer": "http://provider.example", "oidc_client_id": "x"}, "https"),
        ({"oidc_issuer": "ftp://provider.example", "oidc_client_id": "x"}, "https"),
        ({"oidc_issuer": "https://provider.example"}, "oidc_client_id"),
        ({"oidc_roles": "ml=default"}, "GROUP=PROJECT:ROLE"),
        ({"oidc_roles": "ml=default:owner"}, "'ml=default:owner'"),
        ({"oidc_default_role": "owner"}, "oidc_default_role"),
    ],
)
def test_wrong_settings_are_named(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        Settings(**given)


def test_the_secret_is_not_shown() -> None:
    secret: Any = "hunter2"
    settings = Settings(oidc_issuer="https://p.example", oidc_client_id="x", oidc_client_secret=secret)
    assert "hunter2" not in repr(settings)
    assert settings.oidc_display_name == "p.example"


def test_the_highest_role_of_all_groups_counts() -> None:
    settings = Settings(oidc_roles=RULES)
    assert roles_by_group(settings, frozenset({"ml", "leads"})) == {"default": "admin", "lab": None}
    assert roles_by_group(settings, frozenset({"team=a"})) == {"default": None, "lab": "operator"}
    assert roles_by_group(settings, frozenset()) == {"default": None, "lab": None}

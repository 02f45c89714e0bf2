"""Signing in with the provider: there, back, and who that is here.

A person is known by issuer and subject, never by an address or a name: those can change hands. So a first login makes
a user of its own, even where somebody here has the same name.
"""

import logging

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from ..audit import service as audit
from ..auth import sessions
from ..auth.sessions import Token
from ..errors import ConflictError, NotFoundError, SignInRefusedError
from ..models import User
from ..principal import ROLES, Role
from ..projects import members
from ..projects import service as projects
from ..runtime import Runtime
from ..settings import Settings
from ..users import service as users
from . import repository
from .attempt import Attempt, local_path
from .claims import Claims, UnknownKeyError, verify
from .provider import Provider

log = logging.getLogger(__name__)
_ACTOR = "provider"


def provider_of(runtime: Runtime) -> Provider:
    """The configured provider. Raises NotFoundError when there is none."""
    if runtime.provider is None:
        raise NotFoundError("signing in with a provider is not set up here; see HEADRACE_SERVER_OIDC_ISSUER")
    return runtime.provider


async def begin(runtime: Runtime, redirect_uri: str, next_path: str | None) -> tuple[Attempt, str]:
    """A new try, and where to send the browser. Raises NotFoundError, ProviderUnavailableError.

    ``next_path`` is where the person wants to go; what is no path of the dashboard leads to its start page.
    """
    attempt = Attempt.begin(runtime.now(), local_path(next_path))
    return attempt, await provider_of(runtime).sign_in_url(attempt, redirect_uri, runtime.now())


async def finish(
    runtime: Runtime,
    *,
    cookie: str | None,
    state: str | None,
    code: str | None,
    issuer: str | None,
    refusal: str | None,
    redirect_uri: str,
    request_id: str,
    replaces: str | None,
) -> tuple[Token, str]:
    """Open a session for who came back from the provider, in the browser that set out; returns where it goes on, too.

    Raises SignInRefusedError, ProviderUnavailableError, NotFoundError.
    """
    provider = provider_of(runtime)
    now = runtime.now()
    attempt = None if cookie is None else Attempt.resume(cookie, now)
    if attempt is None or state is None or not attempt.is_state(state):
        raise SignInRefusedError("this login was not begun in this browser, or too long ago; sign in again")
    about = await provider.about(now)
    if issuer != provider.issuer and (
        issuer is not None or about.get("authorization_response_iss_parameter_supported") is True
    ):
        raise SignInRefusedError("the answer comes from another provider than the one that was asked")
    if refusal is not None or code is None:
        raise SignInRefusedError(f"the provider said no: {(refusal or 'no code')[:80]!r}")
    id_token = await provider.exchange(attempt, code, redirect_uri, now)
    claims = await _verified(provider, runtime.settings, id_token, attempt, now)
    _refuse_outsiders(runtime.settings, claims)
    async with runtime.database.write() as session:
        user = await _user_of(session, runtime.settings, claims, now=now, request_id=request_id)
        if user.disabled_at is not None:
            raise SignInRefusedError(f"{user.username!r} may no longer sign in here")
        await _bring_roles_up_to_date(session, runtime.settings, user, claims, now=now, request_id=request_id)
        token = await sessions.open_for(
            session, runtime.settings, user, now=now, request_id=request_id, via="provider", replaces=replaces
        )
    return token, attempt.next_path


async def _verified(provider: Provider, settings: Settings, id_token: str, attempt: Attempt, now: float) -> Claims:
    assert settings.oidc_client_id is not None
    for anew in (False, True):
        try:
            return verify(
                id_token,
                await provider.keys(now, anew=anew),
                issuer=provider.issuer,
                client_id=settings.oidc_client_id,
                nonce=attempt.nonce,
                now=now,
                group_claim=settings.oidc_group_claim,
            )
        except UnknownKeyError:
            continue
    raise SignInRefusedError("the provider's token is signed with a key that the provider doesn't have")


def _refuse_outsiders(settings: Settings, claims: Claims) -> None:
    if settings.oidc_allowed_domains and claims.domain not in settings.oidc_allowed_domains:
        raise SignInRefusedError(
            "signing in here needs a verified e-mail address of " + ", ".join(settings.oidc_allowed_domains)
        )


async def _user_of(session: AsyncSession, settings: Settings, claims: Claims, *, now: float, request_id: str) -> User:
    known = await repository.user_of(session, claims.issuer, claims.subject)
    if known is not None:
        return known
    user = await users.add(
        session,
        await users.free_name(session, claims.username),
        users.NO_PASSWORD,
        by=_ACTOR,
        now=now,
        request_id=request_id,
        is_admin=False,
    )
    try:
        await repository.add(session, user, claims.issuer, claims.subject, now)
    except IntegrityError as error:
        raise SignInRefusedError("two first logins at once; sign in again") from error
    after = {"username": user.username, "issuer": claims.issuer, "subject": claims.subject}
    audit.record_as(session, _ACTOR, "identity.add", now=now, request_id=request_id, project_id=None, after=after)
    if settings.oidc_default_role is not None:
        project = await projects.named(session, projects.DEFAULT, lock=True)
        await members.put(session, project, user, settings.oidc_default_role, by=_ACTOR, now=now, request_id=request_id)
    return user


def roles_by_group(settings: Settings, groups: frozenset[str]) -> dict[str, Role | None]:
    """By project that the settings name: the highest role that one of the groups gives, None for none."""
    found: dict[str, Role | None] = {}
    for group, project, role in settings.oidc_role_rules:
        held = found.get(project)
        if group in groups and (held is None or ROLES.index(role) > ROLES.index(held)):
            held = role
        found[project] = held
    return found


async def _bring_roles_up_to_date(
    session: AsyncSession, settings: Settings, user: User, claims: Claims, *, now: float, request_id: str
) -> None:
    for name, role in sorted(roles_by_group(settings, claims.groups).items()):
        try:
            project = await projects.named(session, name, lock=True)
            if role is not None:
                await members.put(session, project, user, role, by=_ACTOR, now=now, request_id=request_id)
            else:
                await members.take_out(session, project, user, by=_ACTOR, now=now, request_id=request_id)
        except (NotFoundError, ConflictError) as error:
            log.warning("the provider's groups could not be followed: %s", error)

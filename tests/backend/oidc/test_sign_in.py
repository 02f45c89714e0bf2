"""Signing in with a real provider over HTTP: there, back, and every way that it can go wrong."""

import base64
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest
import sqlalchemy as sa
from headrace_server import models

from tests.backend.oidc.provider import CLIENT_SECRET, Provider
from tests.backend.world import World

LOGIN, CALLBACK = "/api/v1/session/oidc/login", "/api/v1/session/oidc/callback"


async def begin(browser: httpx.AsyncClient, **query: str) -> str:
    """Set out; returns the way back that the provider gives."""
    away = await browser.get(LOGIN, params=query)
    assert away.status_code == 303, away.text
    async with httpx.AsyncClient() as web:
        back = await web.get(away.headers["location"])
    assert back.status_code == 302, back.text
    return str(back.headers["location"])


def query_of(url: str) -> dict[str, str]:
    """The query, each name once."""
    return {name: value for name, [value] in parse_qs(urlsplit(url).query).items()}


async def sign_in(world: World, browser: httpx.AsyncClient | None = None) -> httpx.AsyncClient:
    """A browser that has signed in with the provider."""
    browser = browser or world.client()
    done = await browser.get(await begin(browser))
    assert (done.status_code, done.headers.get("location")) == (303, "/"), done.text
    browser.headers["X-CSRF-Token"] = (await browser.get("/api/v1/session")).json()["csrf_token"]
    return browser


async def user_of(browser: httpx.AsyncClient) -> dict[str, object]:
    """Who the browser is signed in as."""
    found: dict[str, object] = (await browser.get("/api/v1/session")).json()["user"]
    return found


def is_refused(reply: httpx.Response) -> bool:
    """Whether nobody was signed in."""
    assert "headrace_session=" not in str(reply.headers.get("set-cookie"))
    return (reply.status_code, reply.json()["code"]) == (403, "sign_in_refused")


async def test_there_and_back(world: World, provider: Provider) -> None:
    methods = (await world.stranger.get("/api/v1/session/methods")).json()
    assert methods == {"provider": {"name": "127.0.0.1", "url": LOGIN}}
    away = await world.stranger.get(LOGIN)
    asked = query_of(away.headers["location"])
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    assert asked["redirect_uri"] == provider.redirect_uri
    assert {"state", "nonce", "code_challenge", "scope", "client_id"} <= asked.keys()
    assert "SameSite=lax" in away.headers["set-cookie"] and "HttpOnly" in away.headers["set-cookie"]
    browser = await sign_in(world)
    assert "headrace_login" not in browser.cookies
    assert await user_of(browser) == {"username": "grace", "is_admin": False, "roles": {}}
    assert (await browser.get("/api/v1/projects")).json()["items"] == []
    events = (await (await world.person("root")).get("/api/v1/audit")).json()["items"]
    assert {"user.create", "identity.add", "session.open"} <= {event["action"] for event in events}
    assert {"via": "provider"} in [event["after"] for event in events]


async def test_a_person_is_known_by_issuer_and_subject_never_by_name_or_address(
    world: World, provider: Provider
) -> None:
    await world.add_user("grace")
    first = await sign_in(world)
    assert (await user_of(first))["username"] == "grace (2)"
    provider.user = {"sub": "1", "preferred_username": "grace hopper", "email": "new@example.org"}
    assert (await user_of(await sign_in(world)))["username"] == "grace (2)"
    provider.user = {"sub": "2", "preferred_username": "grace hopper", "email": "new@example.org"}
    assert (await user_of(await sign_in(world)))["username"] == "grace hopper"
    login = {"username": "grace (2)", "password": "x"}
    assert (await world.stranger.post("/api/v1/session", json=login)).status_code == 401
    change = {"current_password": "x", "new_password": "a new and longer password"}
    assert (await first.put("/api/v1/me/password", json=change)).status_code == 409


@pytest.mark.parametrize(
    "fault",
    [
        "wrong nonce",
        "no nonce",
        "expired",
        "from the future",
        "wrong audience",
        "two audiences",
        "another issuer",
        "alg none",
        "signed with the public key",
        "signed with an unknown key",
        "no id token",
    ],
)
async def test_a_token_that_is_not_right_signs_nobody_in(world: World, provider: Provider, fault: str) -> None:
    provider.fault = fault
    browser = world.client()
    assert is_refused(await browser.get(await begin(browser)))
    assert (await browser.get("/api/v1/session")).status_code == 401
    provider.fault = None
    await sign_in(world, browser)


async def test_what_comes_back_counts_in_the_browser_that_set_out_and_for_a_while(world: World) -> None:
    browser, other = world.client(), world.client()
    back = await begin(browser)
    assert is_refused(await other.get(back)), "a browser that never set out"
    await begin(other)
    assert is_refused(await other.get(back)), "a browser that set out by itself"
    for state in ("x", "", None):
        browser = world.client()
        query = query_of(await begin(browser))
        wrong = {name: value for name, value in {**query, "state": state}.items() if value is not None}
        assert is_refused(await browser.get(CALLBACK, params=wrong))
    late = world.client()
    back = await begin(late)
    world.clock.advance(601)
    assert is_refused(await late.get(back))


async def test_an_answer_of_another_provider_is_refused(world: World) -> None:
    """Issuer mix-up: RFC 9207 says who answers, and this provider says that it says so."""
    for issuer in ("https://other.example", None):
        browser = world.client()
        query = {**query_of(await begin(browser)), "iss": issuer}
        reply = await browser.get(CALLBACK, params={name: value for name, value in query.items() if value})
        assert is_refused(reply) and "another provider" in reply.json()["detail"]


async def test_a_code_is_good_once(world: World) -> None:
    browser = world.client()
    back = await begin(browser)
    attempt = browser.cookies["headrace_login"]
    assert (await browser.get(back)).status_code == 303
    replay = world.client(Cookie=f"headrace_login={attempt}")
    reply = await replay.get(back)
    assert is_refused(reply) and "code" in reply.json()["detail"]


async def test_what_the_provider_says_is_shown_and_never_run(world: World, provider: Provider) -> None:
    for said, shown in (("access_denied", "access_denied"), ("<script>x</script>", "&lt;script&gt;")):
        browser = world.client()
        no = {"state": query_of(await begin(browser))["state"], "error": said, "iss": provider.issuer}
        reply = await browser.get(CALLBACK, params=no, headers={"Accept": "text/html"})
        assert reply.status_code == 403
        assert shown in reply.text and "Back to the login" in reply.text and "<script>" not in reply.text


@pytest.mark.parametrize(
    "fault", ["down", "garbage", "redirects", "discovery of another issuer", "endpoints without TLS"]
)
async def test_a_provider_that_is_away_or_odd_is_said_so(world: World, provider: Provider, fault: str) -> None:
    provider.fault = fault
    reply = await world.stranger.get(LOGIN)
    assert (reply.status_code, reply.json()["code"]) == (502, "provider_unavailable")
    page = await world.stranger.get(LOGIN, headers={"Accept": "text/html,*/*"})
    assert page.status_code == 502 and page.headers["content-type"].startswith("text/html")
    assert (await world.person("root")).cookies["headrace_session"], "passwords work on"
    provider.fault = None
    await sign_in(world)


async def test_a_provider_that_goes_away_half_way(world: World, provider: Provider) -> None:
    browser = world.client()
    back = await begin(browser)
    provider.fault = "down"
    assert (await browser.get(back)).status_code == 502
    assert (await browser.get("/api/v1/session")).status_code == 401


async def test_nothing_leads_elsewhere(world: World) -> None:
    for elsewhere in (
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "evil.example",
        "javascript:alert(1)",
        "/api/v1/session/oidc/login",
        "/login",
        "/" + "x" * 1500,
        "",
    ):
        browser = world.client()
        away = await browser.get(LOGIN, params={"next": elsewhere, "redirect_uri": elsewhere})
        assert "evil" not in away.headers["location"]
        async with httpx.AsyncClient() as web:
            back = (await web.get(away.headers["location"])).headers["location"]
        done = await browser.get(f"{back}&next={quote(elsewhere)}")
        assert (done.status_code, done.headers["location"]) == (303, "/")


@pytest.mark.parametrize("wanted", ["/", "/jobs?state=running", "/jobs/1/ranks?q=a%20b#top", "/alerts?kind=data_wait"])
async def test_a_person_goes_on_to_the_page_that_was_asked_for(world: World, wanted: str) -> None:
    browser = world.client()
    done = await browser.get(await begin(browser, next=wanted))
    assert (done.status_code, done.headers["location"]) == (303, wanted)


async def test_the_page_to_go_on_to_is_the_one_that_the_login_was_begun_for(world: World) -> None:
    """The page is part of the secret that the state is made of: one that was put in its place ends the login."""
    browser = world.client()
    back = await begin(browser, next="/jobs")
    stamp, secret, _ = browser.cookies["headrace_login"].split(".")
    swapped = f"{stamp}.{secret}.{base64.urlsafe_b64encode(b'/alerts').decode().rstrip('=')}"
    assert is_refused(await world.client(Cookie=f"headrace_login={swapped}").get(back))


async def test_discovery_is_kept_and_new_keys_are_found(world: World, provider: Provider) -> None:
    for _ in range(3):
        await sign_in(world)
    assert provider.num_discoveries == 1
    provider.rotate_key()
    world.clock.advance(40)
    await sign_in(world)
    assert provider.num_discoveries == 1
    world.clock.advance(3601)
    await sign_in(world)
    assert provider.num_discoveries == 2


async def test_who_is_disabled_here_stays_out(world: World) -> None:
    browser = await sign_in(world)
    root = await world.person("root")
    assert (await root.patch("/api/v1/users/grace", json={"disabled": True})).status_code == 200
    assert (await browser.get("/api/v1/session")).status_code == 401
    again = world.client()
    assert is_refused(await again.get(await begin(again)))


@pytest.mark.oidc(oidc_allowed_domains="example.org, lab.example")
async def test_only_verified_addresses_of_the_domains_come_in(world: World, provider: Provider) -> None:
    for email, verified, comes_in in (
        ("a@example.org", True, True),
        ("a@LAB.example", True, True),
        ("a@example.org", None, False),
        ("a@example.org", "true", False),
        ("a@example.org.evil.example", True, False),
        ("a@evil.example", True, False),
        (None, True, False),
    ):
        provider.user = {"sub": f"{email} {verified}", "email": email, "email_verified": verified}
        browser = world.client()
        reply = await browser.get(await begin(browser))
        assert (reply.status_code == 303) is comes_in, email


@pytest.mark.oidc(oidc_roles="ml=default:operator,leads=default:admin,ml=lab:viewer", oidc_default_role="viewer")
async def test_groups_give_and_take_roles_in_the_projects_they_are_for(world: World, provider: Provider) -> None:
    root = await world.person("root")
    for name in ("lab", "own"):
        await root.post("/api/v1/projects", json={"name": name})

    async def roles(*groups: str) -> object:
        provider.user = {"sub": "1", "preferred_username": "grace", "groups": list(groups)}
        return (await user_of(await sign_in(world)))["roles"]

    assert await roles("ml") == {"default": "operator", "lab": "viewer"}
    await root.put("/api/v1/projects/own/members/grace", json={"role": "approver"})
    await root.put("/api/v1/projects/default/members/root", json={"role": "admin"})
    assert await roles("ml", "leads") == {"default": "admin", "lab": "viewer", "own": "approver"}
    assert await roles("others") == {"own": "approver"}
    assert await roles("ml") == {"default": "operator", "lab": "viewer", "own": "approver"}


@pytest.mark.oidc(oidc_default_role="viewer")
async def test_a_first_login_gives_the_default_role_once(world: World) -> None:
    assert (await user_of(await sign_in(world)))["roles"] == {"default": "viewer"}
    root = await world.person("root")
    await root.delete("/api/v1/projects/default/members/grace")
    assert (await user_of(await sign_in(world)))["roles"] == {}


async def test_the_database_holds_no_secret_of_it(world: World) -> None:
    browser = world.client()
    back = await begin(browser)
    attempt, asked = browser.cookies["headrace_login"], query_of(back)
    await browser.get(back)
    secrets = [attempt, browser.cookies["headrace_session"], CLIENT_SECRET, asked["code"], asked["state"]]
    async with world.runtime.database.read() as session:
        for table in models.Base.metadata.sorted_tables:
            for row in await session.execute(sa.select(table)):
                for secret in secrets:
                    assert secret not in repr(tuple(row)), table.name

"""The served dashboard: its files, its pages, and nothing else of this machine."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from headrace_server.app import build_app
from headrace_server.settings import Settings
from headrace_server.site import find_file, is_site_path
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture
def static(tmp_path: Path) -> Path:
    root = tmp_path / "static"
    (root / "assets").mkdir(parents=True)
    (root / "index.html").write_text("<title>Headrace</title>")
    (root / "favicon.svg").write_text("<svg/>")
    (root / "assets" / "index-abc123.js").write_text("let x")
    (tmp_path / "secret.txt").write_text("secret")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    return root


def client_of(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


@pytest.fixture
def site(static: Path, tmp_path: Path) -> Iterator[httpx.AsyncClient]:
    return client_of(build_app(Settings(data_dir=tmp_path, static_dir=static)))  # type: ignore[return-value]


async def test_pages_are_index_html_and_not_cached(site: httpx.AsyncClient) -> None:
    for path in ("/", "/jobs", "/jobs/abc/mix", "/login", "/index.html"):
        reply = await site.get(path)
        assert (reply.status_code, reply.text) == (200, "<title>Headrace</title>"), path
        assert reply.headers["cache-control"] == "no-cache"
        assert reply.headers["content-type"].startswith("text/html")
    assert (await site.head("/jobs")).status_code == 200


async def test_hashed_assets_are_cached_for_a_year(site: httpx.AsyncClient) -> None:
    reply = await site.get("/assets/index-abc123.js")
    assert reply.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert "javascript" in reply.headers["content-type"]
    missing = await site.get("/assets/gone-def456.js")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert (await site.get("/favicon.svg")).headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e%2fsecret.txt",
        "/assets/../../secret.txt",
        "/assets/%2e%2e/%2e%2e/secret.txt",
        "/..%5csecret.txt",
        "//etc/passwd",
        "/%2fetc%2fpasswd",
        "/assets/%00",
        "/link.txt",
        "/assets/..%252f..%252fsecret.txt",
        "/" + "a" * 5000,
    ],
)
async def test_nothing_outside_the_folder_is_served(site: httpx.AsyncClient, path: str) -> None:
    request = site.build_request("GET", "http://localhost/")
    request.url = httpx.URL(scheme="http", host="localhost", raw_path=path.encode())
    reply = await site.send(request)
    assert reply.status_code in (200, 404), path
    assert "secret" not in reply.text and "root:" not in reply.text
    assert reply.status_code == 404 or reply.text == "<title>Headrace</title>"


@given(st.text(max_size=40))
def test_no_path_leaves_the_folder(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    root = tmp_path_factory.getbasetemp()
    for given_path in (path, f"../{path}", f"assets/../../{path}"):
        file = find_file(root, given_path)
        assert file is None or file.is_relative_to(root.resolve())


def test_the_service_and_the_site_share_no_path() -> None:
    for path in ("/api", "/api/v1/jobs", "/metrics", "/openapi.json", "/healthz", "/readyz", "//api/v1/jobs"):
        assert not is_site_path(path)
    for path in ("/", "/jobs", "/apis", "/assets/x.js"):
        assert is_site_path(path)


async def test_without_a_build_the_page_says_how_to_make_one(tmp_path: Path) -> None:
    client = client_of(build_app(Settings(data_dir=tmp_path, static_dir=tmp_path / "missing")))
    reply = await client.get("/jobs")
    assert reply.status_code == 200
    assert "make dashboard" in reply.text

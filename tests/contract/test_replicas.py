"""Two servers on one PostgreSQL behind a load balancer: an edit through one reaches streams on the other, and when one
dies the leader and the browser go on with the other and have missed nothing."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import pytest
from headrace.telemetry.connect import connect
from headrace.telemetry.port import Activated, Telemetry

from tests.backend.balancer import Balancer, balancer
from tests.backend.postgres import postgres_server
from tests.backend.process import Server, command, new_key, serving
from tests.loader.telemetry.ranks import DESCRIPTION, SOURCES, identity, wait_until

WEIGHTS = [{"web": 1, "code": 1}, {"web": 1, "code": 3}]


@dataclass
class Site:
    """Two replicas, what is in front of them, and a key that may do everything to jobs."""

    replicas: list[Server]
    front: Balancer
    key: str

    def client(self, url: str) -> httpx.Client:
        """A client of one replica or of the front."""
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=30, trust_env=False)

    def edit(self, url: str, job: str, number: int) -> int:
        """Edit the mix through ``url``; the new version."""
        with self.client(url) as client:
            etag = client.get(f"/jobs/{job}/mix").raise_for_status().headers["ETag"]
            body = {"weights": WEIGHTS[number % 2], "reason": f"edit {number}"}
            answer = client.put(f"/jobs/{job}/mix", json=body, headers={"If-Match": etag}).raise_for_status()
        version: int = answer.json()["version"]
        return version


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A running site."""
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_server())
        settings = {"database_url": postgres.uri}
        assert command(tmp_path, "migrate", **settings).returncode == 0
        folders = [tmp_path / name for name in "ab"]
        for folder in folders:
            folder.mkdir()
        replicas = [stack.enter_context(serving(folder, **settings)) for folder in folders]
        front = stack.enter_context(balancer([replica.url for replica in replicas]))
        yield Site(replicas, front, new_key(tmp_path, **settings))


class Browser(threading.Thread):
    """Follows events as a page does: it comes back after a stream ends, and a snapshot says where things stand."""

    def __init__(self, site: Site, url: str) -> None:
        super().__init__(daemon=True)
        self.site, self.url = site, url
        self.version = 0
        self.num_snapshots = 0
        self.stopped = False

    def run(self) -> None:
        while not self.stopped:
            with suppress(httpx.TransportError), self.site.client(self.url) as client:
                self._follow(client)
            time.sleep(0.2)

    def _follow(self, client: httpx.Client) -> None:
        name = ""
        with client.stream("GET", "/events") as stream:
            for line in stream.iter_lines():
                if self.stopped:
                    return
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    self._hear(name, json.loads(line.removeprefix("data: ")))

    def _hear(self, name: str, data: Any) -> None:
        if name == "snapshot":
            self.num_snapshots += 1
            self.version = max([self.version, *(job["mix_version"] for job in data["jobs"])])
        elif name == "mix":
            self.version = max(self.version, data["version"]["version"])


def _leader(site: Site, url: str, cache: Path) -> tuple[Telemetry, str]:
    who = identity()
    telemetry = connect(who, DESCRIPTION, job="replicated", url=url, token=site.key, cache=cache)
    assert telemetry is not None
    telemetry.activated(Activated("config:1", 0, SOURCES, 0, lineage=who.lineage))

    def found() -> list[Any]:
        with site.client(site.front.url) as client:
            items: list[Any] = client.get("/projects/default/jobs").raise_for_status().json()["items"]
        return items

    wait_until(lambda: bool(found()), 20)
    return telemetry, str(found()[0]["id"])


def _has(telemetry: Telemetry, version: int) -> bool:
    proposal = telemetry.latest_proposal()
    return proposal is not None and proposal.revision == f"service:{version}"


def test_an_edit_through_one_replica_reaches_streams_on_the_other(site: Site, tmp_path: Path) -> None:
    here, there = (replica.url for replica in site.replicas)
    telemetry, job = _leader(site, there, tmp_path)
    browser = Browser(site, there)
    browser.start()
    wait_until(lambda: browser.num_snapshots > 0, 20)
    time.sleep(2)  # the leader's stream is open, and its last poll without one has passed
    took_s = []
    for number in range(9):
        version = site.edit(here, job, number)
        edited = time.monotonic()
        wait_until(lambda wanted=version: _has(telemetry, wanted) and browser.version >= wanted, 20)
        took_s.append(time.monotonic() - edited)
    assert median(took_s) < 1.0
    telemetry.finish()
    browser.stopped = True


def test_when_a_replica_dies_clients_go_on_with_the_other_and_miss_nothing(site: Site, tmp_path: Path) -> None:
    telemetry, job = _leader(site, site.front.url, tmp_path)
    browsers = [Browser(site, site.front.url) for _ in range(4)]
    for browser in browsers:
        browser.start()
    wait_until(lambda: all(browser.num_snapshots for browser in browsers), 20)
    version = site.edit(site.front.url, job, 0)
    wait_until(lambda: _has(telemetry, version) and all(b.version == version for b in browsers), 20)

    site.replicas[0].kill()
    survivor = site.replicas[1].url
    for number in range(1, 4):
        version = site.edit(survivor, job, number)
    wait_until(lambda: _has(telemetry, version) and all(b.version == version for b in browsers), 30)
    assert sum(browser.num_snapshots for browser in browsers) > len(browsers), "some had to come back"
    version = site.edit(site.front.url, job, 4)
    wait_until(lambda: _has(telemetry, version) and all(b.version == version for b in browsers), 20)
    telemetry.finish()
    for browser in browsers:
        browser.stopped = True


def test_a_session_is_valid_on_every_replica_until_it_ends_on_one(site: Site) -> None:
    here, there = site.replicas
    first = here if "password" in here.ready else there
    login = {"username": first.ready["username"], "password": first.ready["password"]}
    opened = httpx.post(f"{here.url}/api/v1/session", json=login).raise_for_status()
    cookies, token = dict(opened.cookies), {"X-CSRF-Token": opened.json()["csrf_token"]}
    for url in (here.url, there.url, site.front.url, site.front.url):
        assert httpx.get(f"{url}/api/v1/session", cookies=cookies).json()["csrf_token"] == token["X-CSRF-Token"]
    httpx.request("DELETE", f"{there.url}/api/v1/session", cookies=cookies, headers=token).raise_for_status()
    for url in (here.url, there.url):
        assert httpx.get(f"{url}/api/v1/session", cookies=cookies).status_code == 401

"""Editors who all change one mix at once, over HTTP, and what must be true of it afterwards."""

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from tests.backend.builders import job_body


class Client:
    """One connection with a key."""

    def __init__(self, url: str, key: str) -> None:
        self._connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}

    def call(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        """The status and the JSON of a reply."""
        data = None if body is None else json.dumps(body).encode()
        self._connection.request(method, f"/api/v1{path}", data, {**self._headers, **headers})
        reply = self._connection.getresponse()
        return reply.status, json.loads(reply.read())

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def get(self, path: str) -> Any:
        """The JSON of a page that must be there."""
        status, found = self.call("GET", path)
        assert status == 200, found
        return found

    def pages(self, path: str) -> list[Any]:
        """Every item of a list, page by page."""
        items, cursor = [], ""
        while True:
            page = self.get(f"{path}{cursor}")
            items += page["items"]
            if page["next_cursor"] is None:
                return items
            cursor = f"&cursor={page['next_cursor']}"


@dataclass
class Contest:
    """What the editors were told: the reason of each edit that won, by version; how often one lost; times (seconds)."""

    job: str
    won: dict[int, list[str]] = field(default_factory=dict)
    num_lost: int = 0
    took_s: list[float] = field(default_factory=list)
    wrong: list[Any] = field(default_factory=list)


def contest(urls: Sequence[str], key: str, *, editors: int, edits: int) -> Contest:
    """Have ``editors``, spread over servers, edit a new job's mix until ``edits`` of their edits have won."""
    with closing(Client(urls[0], key)) as client:
        status, job = client.call("POST", "/projects/default/jobs", job_body(f"edits-{time.monotonic_ns()}"))
    assert status == 200, job
    found = Contest(job["id"])
    lock = threading.Lock()

    def edit(number: int) -> None:
        with closing(Client(urls[number % len(urls)], key)) as mine:
            keep_editing(mine, number)

    def keep_editing(mine: Client, number: int) -> None:
        base, tries = 1, 0
        while base <= edits:
            tries += 1
            reason = f"editor {number}, try {tries}"
            body = {"weights": {"web": 1 + number, "code": tries, "legal": 1}, "reason": reason}
            began = time.perf_counter()
            status, reply = mine.call("PUT", f"/jobs/{job['id']}/mix", body, **{"If-Match": f'"v{base}"'})
            took = time.perf_counter() - began
            with lock:
                found.took_s.append(took)
                if status == 200 and reply["version"] == base + 1:
                    found.won.setdefault(reply["version"], []).append(reason)
                elif status == 412 and reply["current"]["version"] > base:
                    found.num_lost += 1
                else:
                    found.wrong.append((status, base, reply))
                    return
            base = reply["version"] if status == 200 else reply["current"]["version"]

    threads = [threading.Thread(target=edit, args=(number,)) for number in range(editors)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def check(url: str, key: str, found: Contest, edits: int) -> None:
    """Assert that each version has exactly one winner, that nothing is lost, and that the audit log has each once."""
    assert found.wrong == []
    with closing(Client(url, key)) as client:
        versions = client.pages(f"/jobs/{found.job}/mix/versions?limit=200")
        events = client.pages(f"/audit?job={found.job}&limit=200")
    last = versions[0]["version"]
    assert last > edits
    assert [version["version"] for version in versions] == list(range(last, 0, -1))
    assert sorted(found.won) == list(range(2, last + 1))
    for version in versions[:-1]:
        assert found.won[version["version"]] == [version["reason"]]
        assert version["parent"] == version["version"] - 1
    audited = Counter(event["after"]["version"] for event in events if event["action"] == "mix.edit")
    assert audited == Counter(range(2, last + 1))
    assert {event["reason"] for event in events if event["action"] == "mix.edit"} == {
        version["reason"] for version in versions[:-1]
    }

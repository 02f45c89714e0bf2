"""The control plane as an operator's script sees it: started as a process, then REST with a key."""

from __future__ import annotations

import json
import os
import shutil
import sysconfig
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx

from headrace.demo.children import Child, Children, clean_environment
from headrace.errors import ConfigError, HeadraceError

START_S: Final = 60.0
"a server that is not ready after so many seconds has failed"


class ControlError(HeadraceError, RuntimeError):
    """The control plane answered what the demo did not expect."""


@dataclass(frozen=True)
class Access:
    """What opens a control plane; kept in one file, readable by its owner only."""

    username: str
    password: str = field(repr=False)
    training_key: str = field(repr=False)
    "scopes ingest and read"
    operator_key: str = field(repr=False)
    "scopes read and operate"


@dataclass(frozen=True)
class Plane:
    """A running control plane."""

    url: str
    access: Access
    server: Child


def start(children: Children, folder: Path, port: int) -> Plane:
    """Start `headrace-server` on loopback with its SQLite database in `folder`.

    The first start's login and two keys made with it are kept in `folder / "access.json"`, for later starts.

    Raises:
        ConfigError: `headrace-server` is not installed.
        ChildError: it did not start; with its last lines.
        ControlError: it is not ready in time, or the login of the first start is lost.
    """
    ready = folder / "ready.json"
    ready.unlink(missing_ok=True)
    command = [_program(), "serve", "--data-dir", str(folder), "--port", str(port), "--ready-file", str(ready)]
    server = children.start("headrace-server", command, environment=clean_environment())
    deadline = time.monotonic() + START_S
    while not ready.exists():
        server.check_running()
        if time.monotonic() > deadline:
            raise ControlError(f"headrace-server was not ready within {START_S:.0f} s; its log is {server.log}")
        time.sleep(0.05)
    said = json.loads(ready.read_text())
    kept = folder / "access.json"
    if "password" in said:
        access = _first_access(said["url"], said["username"], said["password"])
        write_private(kept, json.dumps(asdict(access)))
    elif kept.exists():
        access = Access(**json.loads(kept.read_text()))
    else:
        raise ControlError(f"the login of the database in {folder} is lost; remove that folder to start afresh")
    return Plane(said["url"], access, server)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    part.replace(path)


def _first_access(url: str, username: str, password: str) -> Access:
    """Sign in as a person would, and make a key for the training and one for scripts."""
    with httpx.Client(base_url=f"{url}/api/v1", timeout=10.0, trust_env=False) as http:
        session = _checked(http.post("/session", json={"username": username, "password": password})).json()
        http.headers["X-CSRF-Token"] = session["csrf_token"]

        def key(name: str, *scopes: str) -> str:
            body = {"name": name, "scopes": scopes}
            return str(_checked(http.post("/projects/default/keys", json=body)).json()["key"])

        return Access(
            username, password, key("demo: training", "ingest", "read"), key("demo: operator", "read", "operate")
        )


class Operator:
    """REST calls on one job with an operator's key."""

    def __init__(self, plane: Plane) -> None:
        self._server = plane.server
        headers = {"Authorization": f"Bearer {plane.access.operator_key}"}
        self._http = httpx.Client(base_url=f"{plane.url}/api/v1", headers=headers, timeout=10.0, trust_env=False)

    def __enter__(self) -> Self:
        """Closes its connection at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def find_job(self, name: str) -> str | None:
        """The id of the job called `name`, once the loader has registered it."""
        items = self._send("GET", "/projects/default/jobs", params={"q": name}).json()["items"]
        return next((str(item["id"]) for item in items if item["name"] == name), None)

    def mix(self, job: str) -> tuple[dict[str, Any], str]:
        """The newest mix version and its ETag."""
        answer = self._send("GET", f"/jobs/{job}/mix")
        return answer.json(), answer.headers["ETag"]

    def edit(self, job: str, weights: Mapping[str, float], *, reason: str, etag: str) -> dict[str, Any]:
        """Put new weights in place of those that `etag` names; the new version."""
        body = {"weights": dict(weights), "reason": reason}
        answer = self._send("PUT", f"/jobs/{job}/mix", json=body, headers={"If-Match": etag})
        return dict(answer.json())

    def activations(self, job: str) -> list[dict[str, Any]]:
        """Every agreed change of the mix, by step."""
        return list(self._send("GET", f"/jobs/{job}/activations").json()["items"])

    def _send(self, method: str, path: str, **content: Any) -> httpx.Response:
        """Raises ControlError for any answer but success, and ChildError where the server has ended."""
        try:
            return _checked(self._http.request(method, path, **content))
        except httpx.TransportError as error:
            self._server.check_running(settle_s=1.0)
            raise ControlError(f"the control plane does not answer {method} {path} ({error!r})") from error


def _checked(answer: httpx.Response) -> httpx.Response:
    if not answer.is_success:
        request = answer.request
        raise ControlError(
            f"{request.method} {request.url.path} was answered {answer.status_code}: {answer.text[:500]}"
        )
    return answer


def _program() -> str:
    found = shutil.which("headrace-server", path=sysconfig.get_path("scripts")) or shutil.which("headrace-server")
    if found is None:
        raise ConfigError(
            "the demo starts the control plane, but there is no program 'headrace-server' here; "
            "run: pip install headrace-server"
        )
    return found

"""Every route, walked: closed to strangers, and blind to other projects and unknown ids."""

import re
import uuid
from collections.abc import Iterator

from headrace_server.app import build_app
from headrace_server.settings import Settings

from tests.backend.builders import activation_body, attempt_body, job_body
from tests.backend.world import World

PUBLIC = {
    ("get", "/healthz"),
    ("get", "/readyz"),
    ("post", "/api/v1/session"),
    ("get", "/api/v1/session/methods"),
    ("get", "/api/v1/session/oidc/login"),
    ("get", "/api/v1/session/oidc/callback"),
}


def operations() -> Iterator[tuple[str, str]]:
    document = build_app(Settings(database_url="sqlite:////nowhere/never.db")).openapi()
    for path, methods in document["paths"].items():
        for method in methods:
            yield method, path


def filled(path: str, **ids: str) -> str:
    known = {"project": "default", "version": "1", "name": "mix", "metric": "loss", **ids}
    return re.sub(r"{(\w+)}", lambda found: known.get(found[1], str(uuid.uuid4())), path)


async def test_a_stranger_gets_401_from_every_route_but_the_public_ones(world: World) -> None:
    walked = list(operations())
    assert len(walked) >= 30
    for method, path in walked:
        if (method, path) in PUBLIC:
            continue
        reply = await world.stranger.request(method, filled(path), json={"x": 1} if method != "get" else None)
        assert reply.status_code == 401, (method, path)
        assert reply.json()["code"] == "unauthenticated"
        assert reply.headers["content-type"] == "application/problem+json"
    for path in ("/openapi.json", "/metrics", "/api/v1/anything", "/api", "/api/v2/jobs"):
        assert (await world.stranger.get(path)).status_code == 401, path


async def test_a_wrong_key_gets_401_and_never_an_error(world: World) -> None:
    for header in ("Bearer hr_wrong", "Bearer", "Bearer  ", "Basic YTpi", "", "Bearer " + "x" * 5000, "Bearer ☃"):
        reply = await world.client().get("/api/v1/projects", headers=[(b"Authorization", header.encode())])
        assert reply.status_code == 401, header


BODIES = {
    ("post", "/api/v1/jobs/{job}/attempts"): attempt_body(),
    ("patch", "/api/v1/jobs/{job}/attempts/{attempt}"): {"state": "finished"},
    ("patch", "/api/v1/jobs/{job}"): {"archived": True},
    ("post", "/api/v1/jobs/{job}/reports"): {"attempt": str(uuid.uuid4()), "records": []},
    ("put", "/api/v1/jobs/{job}/mix"): {"weights": {"web": 1}, "reason": "r"},
    ("post", "/api/v1/jobs/{job}/mix/preview"): {"weights": {"web": 1}},
    ("post", "/api/v1/jobs/{job}/mix/versions/{version}/revert"): {"reason": "r"},
    ("post", "/api/v1/jobs/{job}/mix/pause"): {"source": "web", "reason": "r"},
    ("post", "/api/v1/jobs/{job}/mix/resume"): {"source": "web", "reason": "r"},
    ("post", "/api/v1/jobs/{job}/mix/changes"): {"weights": {"web": 1}, "reason": "r", "at_step": 1},
    ("post", "/api/v1/jobs/{job}/mix/changes/{change}/approve"): {},
    ("post", "/api/v1/jobs/{job}/mix/changes/{change}/reject"): {"reason": "r"},
    ("post", "/api/v1/jobs/{job}/activations"): activation_body(attempt_body()),
}
QUERIES = {"series": {"metric": "loss"}, "export": {"what": "reports"}, "trace": {"step": 1}}


async def test_unknown_malformed_and_foreign_jobs_are_all_not_found(world: World) -> None:
    foreign_loader = await world.caller("ingest", "read", "operate", project="other")
    made = await foreign_loader.post("/api/v1/projects/other/jobs", json=job_body("theirs"))
    assert made.status_code == 200
    ours = await world.caller("ingest", "read", "operate")
    approver = await world.person("ada", default="approver")
    walked = [(method, path) for method, path in operations() if "{job}" in path]
    assert len(walked) >= 15
    for method, path in walked:
        for job in (made.json()["id"], str(uuid.uuid4()), "not-a-uuid", "%00", "a b", "1"):
            client = approver if path.endswith(("/approve", "/reject")) else ours
            reply = await client.request(
                method,
                filled(path, job=job),
                json=BODIES.get((method, path)),
                params=QUERIES.get(path.rpartition("/")[2]),
                headers={"If-Match": '"v1"'},
            )
            assert reply.status_code in (401, 404) if "%2f" in job else reply.status_code == 404, (method, path, job)
            assert reply.json()["code"] == "not_found"


async def test_a_project_of_others_does_not_exist(world: World) -> None:
    await world.caller("read", project="other")
    for path in ("jobs", "members"):
        assert (await world.viewer.get(f"/api/v1/projects/other/{path}")).status_code == 404
    assert (await world.viewer.get("/api/v1/audit", params={"project": "other"})).status_code == 404
    assert [p["name"] for p in (await world.get("/api/v1/projects"))["items"]] == ["default"]


async def test_scopes_open_only_what_they_say(world: World) -> None:
    job, attempt = await world.running_job()
    body = {"weights": {"web": 1, "code": 1, "legal": 1}, "reason": "r"}
    for client in (world.loader, world.viewer):
        reply = await client.put(f"{job}/mix", json=body, headers={"If-Match": '"v1"'})
        assert (reply.status_code, reply.json()["code"]) == (403, "insufficient_scope")
    batch = {"attempt": attempt["id"], "records": []}
    for client in (world.operator, world.viewer):
        assert (await client.post(f"{job}/reports", json=batch)).status_code == 403
    assert (await world.loader.get(f"{job}/ranks")).status_code == 403
    for client in (world.loader, world.viewer, world.operator):
        reply = await client.post("/api/v1/projects/default/keys", json={"name": "x", "scopes": ["read"]})
        assert reply.status_code == 403


async def test_unknown_paths_and_methods_are_problems_too(world: World) -> None:
    missing = await world.viewer.get("/api/v1/nothing")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    for method in ("POST", "PUT", "PATCH", "DELETE", "TRACE"):
        missing = await world.viewer.request(method, "/api/v1/nothing")
        assert (missing.status_code, missing.json()["code"]) == (404, "not_found"), method
    wrong = await world.viewer.delete("/api/v1/projects")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "method_not_allowed")

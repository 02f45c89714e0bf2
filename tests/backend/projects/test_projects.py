"""Projects are made, archived and restored; never deleted."""

from tests.backend.builders import job_body
from tests.backend.world import World

PROJECTS = "/api/v1/projects"


async def test_making_and_paging(world: World) -> None:
    root = await world.person("root")
    for name in ("b", "a", "x/y", "%2e%2e"):
        assert (await root.post(PROJECTS, json={"name": name})).status_code == 200
    assert (await root.post(PROJECTS, json={"name": "a"})).status_code == 409
    names: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await root.get(PROJECTS, params={"limit": 2, **cursor})).json()
        names += [project["name"] for project in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert names == ["default", "b", "a", "x/y", "%2e%2e"]
    assert (await root.get(f"{PROJECTS}/a")).json()["archived_at"] is None
    assert (await root.get(f"{PROJECTS}/nowhere")).status_code == 404
    actions = [event["action"] for event in (await root.get("/api/v1/audit")).json()["items"]]
    assert actions.count("project.create") == 4


async def test_an_archived_project_is_kept_and_takes_no_changes(world: World) -> None:
    job, attempt = await world.running_job()
    root, operator = await world.person("root"), await world.person("bob", default="operator")
    assert (await root.patch(f"{PROJECTS}/default", json={"archived": True})).json()["archived_at"] is not None
    assert (await root.get(PROJECTS)).json()["items"] == []
    assert [p["name"] for p in (await root.get(PROJECTS, params={"archived": True})).json()["items"]] == ["default"]
    assert (await operator.get(job)).status_code == 200
    refused = [
        await operator.patch(job, json={"tags": {}}),
        await world.loader.post(f"{PROJECTS}/default/jobs", json=job_body()),
        await world.loader.post(f"{job}/reports", json={"attempt": attempt["id"], "records": []}),
    ]
    assert [(reply.status_code, reply.json()["code"]) for reply in refused] == [(409, "conflict")] * 3
    assert (await operator.patch(f"{PROJECTS}/default", json={"archived": False})).status_code == 403
    assert (await root.patch(f"{PROJECTS}/default", json={"archived": False})).json()["archived_at"] is None
    assert (await operator.patch(job, json={"tags": {}})).status_code == 200


async def test_settings_say_what_the_server_keeps(world: World) -> None:
    given = world.runtime.settings
    for client in (world.viewer, await world.person("ada", default="viewer")):
        assert (await client.get(f"{PROJECTS}/default/settings")).json() == {
            "requires_approval": False,
            "server": {
                "keep_reports_s": given.keep_reports_s,
                "keep_rank_rollups_s": given.keep_rank_rollups_s,
                "approval_expires_s": given.approval_expires_s,
            },
        }
    root = await world.person("root")
    refused = await root.patch(f"{PROJECTS}/default/settings", json={"server": {"keep_reports_s": 1}})
    assert refused.status_code == 422

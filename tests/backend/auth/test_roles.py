"""People act within their roles, project by project."""

import pytest

from tests.backend.world import World

EDIT = {"weights": {"web": 1, "code": 1, "legal": 1}, "reason": "r"}


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("operator", 200), ("approver", 200), ("admin", 200)])
async def test_who_may_edit_the_mix(world: World, role: str, status: int) -> None:
    job = await world.job()
    person = await world.person(default=role)  # type: ignore[arg-type]
    assert (await person.get(f"{job}/mix")).status_code == 200
    reply = await person.put(f"{job}/mix", json=EDIT, headers={"If-Match": '"v1"'})
    assert reply.status_code == status
    if status == 403:
        assert reply.json()["code"] == "insufficient_scope"
        assert "'operate'" in reply.json()["detail"]


async def test_people_see_the_projects_they_are_members_of(world: World) -> None:
    job = await world.job()
    person = await world.person("bob", theirs="admin", read="viewer")
    assert (await person.get(job)).status_code == 404
    assert (await person.put(f"{job}/mix", json=EDIT, headers={"If-Match": '"v1"'})).status_code == 404
    assert (await person.get("/api/v1/projects/default/jobs")).status_code == 404
    listed = (await person.get("/api/v1/projects")).json()["items"]
    assert [project["name"] for project in listed] == ["theirs", "read"]
    assert (await person.get("/metrics")).text.count("headrace_job_step{") == 0
    assert all(event["project"] in ("theirs", "read") for event in (await person.get("/api/v1/audit")).json()["items"])


async def test_somebody_without_a_role_sees_nothing(world: World) -> None:
    job = await world.job()
    person = await world.person("bob", theirs="viewer")
    assert (
        await person.post("/api/v1/projects/theirs/keys", json={"name": "x", "scopes": ["read"]})
    ).status_code == 403
    assert (await person.get(f"{job}/ranks")).status_code == 404

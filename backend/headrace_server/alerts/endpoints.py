"""/projects/{p}/alerts/rules, /projects/{p}/alerts/mutes and /alerts."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from ..fields import Name
from ..jobs import access
from ..projects import service as projects
from ..projects.endpoints import ProjectName
from ..work import Work, reading, writing
from . import rules, service
from .kinds import Kind
from .schemas import (
    Acknowledgement,
    Alert,
    AlertCount,
    AlertMute,
    AlertMuteCreate,
    AlertMuteList,
    AlertPage,
    AlertRule,
    AlertRuleCreate,
    AlertRuleList,
    AlertRulePatch,
    AlertStateName,
)

router = APIRouter(tags=["alerts"])
Reader = Annotated[Work, reading("read")]
Operator = Annotated[Work, writing("operate")]
Admin = Annotated[Work, writing("administer")]


@router.get("/projects/{project}/alerts/rules")
async def list_alert_rules(project: ProjectName, work: Reader) -> AlertRuleList:
    """The project's rules."""
    return await rules.listing(work, await projects.find(work, project))


@router.post("/projects/{project}/alerts/rules")
async def create_alert_rule(project: ProjectName, body: AlertRuleCreate, work: Admin) -> AlertRule:
    """Make a rule."""
    return await rules.create(work, await projects.find(work, project), body)


@router.patch("/projects/{project}/alerts/rules/{rule}")
async def change_alert_rule(project: ProjectName, rule: UUID, body: AlertRulePatch, work: Admin) -> AlertRule:
    """Change a rule."""
    return await rules.change(work, await projects.find(work, project), rule, body)


@router.delete("/projects/{project}/alerts/rules/{rule}", status_code=204)
async def delete_alert_rule(project: ProjectName, rule: UUID, work: Admin) -> None:
    """Delete a rule; its open alerts are resolved."""
    await rules.delete(work, await projects.find(work, project), rule)


@router.get("/projects/{project}/alerts/mutes")
async def list_alert_mutes(project: ProjectName, work: Reader) -> AlertMuteList:
    """The mutes in force."""
    return await service.mutes(work, await projects.find(work, project))


@router.post("/projects/{project}/alerts/mutes")
async def mute_alerts(project: ProjectName, body: AlertMuteCreate, work: Operator) -> AlertMute:
    """Keep a rule or a job quiet for a while."""
    return await service.mute(work, await projects.find(work, project), body)


@router.delete("/projects/{project}/alerts/mutes/{mute}", status_code=204)
async def unmute_alerts(project: ProjectName, mute: UUID, work: Operator) -> None:
    """End a mute now."""
    await service.unmute(work, await projects.find(work, project), mute)


@router.get("/alerts")
async def list_alerts(
    work: Reader,
    project: Annotated[Name | None, Query()] = None,
    job: Annotated[str | None, Query(max_length=64)] = None,
    state: Annotated[list[AlertStateName] | None, Query(max_length=3, description="repeat it for several")] = None,
    kind: Annotated[list[Kind] | None, Query(max_length=10, description="repeat it for several")] = None,
    cursor: Annotated[str | None, Query(max_length=64)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> AlertPage:
    """Alerts, newest first, of every project the caller sees, of one project or of one job."""
    in_project = await projects.find(work, project) if project is not None else None
    of_job = await access.find_job(work, job) if job is not None else None
    return await service.page(
        work, project=in_project, job=of_job, states=state or [], kinds=kind or [], cursor=cursor, limit=limit
    )


@router.get("/alerts/count")
async def count_alerts(work: Reader) -> AlertCount:
    """How many alerts are open, in every project the caller sees."""
    return await service.count(work)


@router.get("/alerts/{alert}")
async def get_alert(alert: UUID, work: Reader) -> Alert:
    """One alert."""
    return service.describe(await service.find(work, alert))


@router.post("/alerts/{alert}/acknowledge")
async def acknowledge_alert(alert: UUID, body: Acknowledgement, work: Operator) -> Alert:
    """Say that somebody looks into it."""
    return await service.acknowledge(work, alert, body)

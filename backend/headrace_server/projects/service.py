"""Making, finding and archiving projects; one that the caller may not see does not exist for it."""

from sqlalchemy.ext.asyncio import AsyncSession

from ..audit import service as audit
from ..errors import ConflictError, NotFoundError
from ..models import Project as ProjectRow
from ..paging import decode_cursor, encode_cursor
from ..work import Work
from . import repository
from .schemas import (
    Project,
    ProjectCreate,
    ProjectList,
    ProjectPatch,
    ProjectSettings,
    ProjectSettingsPatch,
    ServerLimits,
)

DEFAULT = "default"


async def find(work: Work, name: str, *, lock: bool = False) -> ProjectRow:
    """The project of this name. Raises NotFoundError, ForbiddenError."""
    project = await named(work.session, name, lock=lock)
    work.admit(project.id, f"project {name[:200]!r}")
    return project


async def named(session: AsyncSession, name: str, *, lock: bool = False) -> ProjectRow:
    """The project of this name, for the machine's owner, who sees all. Raises NotFoundError."""
    project = await repository.by_name(session, name, lock=lock)
    if project is None:
        raise NotFoundError(f"no project {name[:200]!r}")
    return project


async def ensure_default(session: AsyncSession, now: float) -> None:
    """Make the default project unless it is there."""
    await repository.ensure(session, DEFAULT, now)


async def requires_approval(session: AsyncSession, project_id: int) -> bool:
    """Whether changes of the mix in the project need a second person."""
    return await repository.requires_approval(session, project_id)


def settings_of(work: Work, project: ProjectRow) -> ProjectSettings:
    """How the project is run."""
    given = work.runtime.settings
    server = ServerLimits.model_validate({name: getattr(given, name) for name in ServerLimits.model_fields})
    return ProjectSettings(requires_approval=project.requires_approval, server=server)


def change_settings(work: Work, project: ProjectRow, body: ProjectSettingsPatch) -> ProjectSettings:
    """Change what the body names; the rest stays."""
    before = project.requires_approval
    if body.requires_approval is not None and body.requires_approval != project.requires_approval:
        project.requires_approval = body.requires_approval
        audit.record(
            work,
            "project.settings",
            project_id=project.id,
            before={"requires_approval": before},
            after={"requires_approval": body.requires_approval},
        )
    return settings_of(work, project)


async def create(session: AsyncSession, name: str, *, by: str, now: float, request_id: str) -> ProjectRow:
    """Make a project. Raises ConflictError when the name is taken."""
    if not await repository.ensure(session, name, now):
        raise ConflictError(f"there is already a project {name!r}")
    project = await named(session, name)
    audit.record_as(
        session, by, "project.create", now=now, request_id=request_id, project_id=project.id, after={"name": name}
    )
    return project


def _describe(row: ProjectRow) -> Project:
    return Project.model_validate({name: getattr(row, name) for name in Project.model_fields})


async def make(work: Work, body: ProjectCreate) -> Project:
    """Make a project. Raises ConflictError when the name is taken."""
    return _describe(
        await create(work.session, body.name, by=work.principal.label, now=work.now, request_id=work.request_id)
    )


async def get(work: Work, name: str) -> Project:
    """One project. Raises NotFoundError."""
    return _describe(await find(work, name))


async def change(work: Work, name: str, body: ProjectPatch) -> Project:
    """Archive or restore a project; its jobs, members and keys stay."""
    project = await find(work, name, lock=True)
    before = project.archived_at is not None
    if body.archived != before:
        project.archived_at = work.now if body.archived else None
        audit.record(
            work,
            "project.change",
            project_id=project.id,
            before={"archived": before},
            after={"archived": body.archived},
        )
    return _describe(project)


async def visible(work: Work, *, archived: bool, cursor: str | None, limit: int) -> ProjectList:
    """A page of the projects the caller may see."""
    rows = await repository.page(
        work.session, work.projects, archived=archived, after_id=decode_cursor(cursor), limit=limit + 1
    )
    more = len(rows) > limit
    return ProjectList(
        items=[_describe(row) for row in rows[:limit]],
        next_cursor=encode_cursor(rows[limit - 1].id) if more else None,
    )

"""Finding projects; a project the caller may not see does not exist for it."""

from sqlalchemy.ext.asyncio import AsyncSession

from ..audit import service as audit
from ..errors import NotFoundError
from ..models import Project as ProjectRow
from ..work import Work
from . import repository
from .schemas import Project, ProjectList, ProjectSettings, ProjectSettingsPatch

DEFAULT = "default"


async def find(work: Work, name: str) -> ProjectRow:
    """The project of this name. Raises NotFoundError, ForbiddenError."""
    project = await named(work.session, name)
    work.admit(project.id, f"project {name[:200]!r}")
    return project


async def named(session: AsyncSession, name: str) -> ProjectRow:
    """The project of this name, for the machine's owner, who sees all. Raises NotFoundError."""
    project = await repository.by_name(session, name)
    if project is None:
        raise NotFoundError(f"no project {name[:200]!r}")
    return project


async def ensure_default(session: AsyncSession, now: float) -> None:
    """Make the default project unless it is there."""
    await repository.ensure(session, DEFAULT, now)


async def visible(work: Work) -> ProjectList:
    """The projects the caller may see."""
    rows = await repository.visible(work.session, work.projects)
    return ProjectList(items=[Project.model_validate({"name": row.name, "created_at": row.created_at}) for row in rows])


async def requires_approval(session: AsyncSession, project_id: int) -> bool:
    """Whether changes of the mix in the project need a second person."""
    return await repository.requires_approval(session, project_id)


def settings_of(project: ProjectRow) -> ProjectSettings:
    """How the project is run."""
    return ProjectSettings(requires_approval=project.requires_approval)


def change_settings(work: Work, project: ProjectRow, body: ProjectSettingsPatch) -> ProjectSettings:
    """Change what the body names; the rest stays."""
    before = settings_of(project)
    if body.requires_approval is not None and body.requires_approval != project.requires_approval:
        project.requires_approval = body.requires_approval
        shown = settings_of(project).model_dump()
        audit.record(work, "project.settings", project_id=project.id, before=before.model_dump(), after=shown)
    return settings_of(project)

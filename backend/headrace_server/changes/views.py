"""Changes as others see them, with the three sides of those that need attention."""

from collections.abc import Sequence

from ..jobs import access
from ..mix import service as mix
from ..models import Job
from ..models import MixChange as MixChangeRow
from ..models import MixVersion as MixVersionRow
from ..work import Work
from . import repository
from .schemas import MixChange, MixConflict, MixSide, SourceDifference

_SAME = (
    "state",
    "why",
    "kind",
    "starts",
    "ramp_steps",
    "base_version",
    "reverts",
    "author",
    "reason",
    "created_at",
    "expires_at",
    "decided_by",
    "decided_at",
    "decision_reason",
    "version",
    "late_s",
    "settled_at",
)


async def describe_one(work: Work, job: Job, row: MixChangeRow) -> MixChange:
    """One change."""
    return (await describe(work, job, [row]))[0]


async def describe(work: Work, job: Job, rows: Sequence[MixChangeRow]) -> list[MixChange]:
    """Changes of one job."""
    names = [source.name for source in await access.sources(work, job)]
    numbers = {n for row in rows for n in (row.version, row.base_version) if n is not None}
    held = await mix.by_numbers(work, job, numbers)
    followed = await repository.uuids(work.session, [row.follows for row in rows if row.follows is not None])
    newest = await mix.newest(work, job)
    described = []
    for row in rows:
        became = None if row.version is None else held.get(row.version)
        agreed = None if became is None or row.starts != "step" else became.agreed_step
        base = None if row.base_version is None else held.get(row.base_version)
        described.append(
            MixChange.model_validate(
                {
                    **{name: getattr(row, name) for name in _SAME},
                    "id": row.uuid,
                    "weights_ppm": {name: row.weights_ppm.get(name, 0) for name in names},
                    "at_step": row.from_step,
                    "at": row.at_time,
                    "follows": None if row.follows is None else followed[row.follows],
                    "late_steps": None if agreed is None else max(0, agreed - (row.from_step or 0)),
                    "conflict": _conflict(row, base, newest, names) if row.state == "needs_attention" else None,
                }
            )
        )
    return described


def _side(row: MixVersionRow, names: Sequence[str]) -> MixSide:
    fields = {name: getattr(row, name) for name in MixSide.model_fields if name != "weights_ppm"}
    return MixSide.model_validate({**fields, "weights_ppm": {name: row.weights_ppm.get(name, 0) for name in names}})


def _conflict(
    row: MixChangeRow, base: MixVersionRow | None, theirs: MixVersionRow, names: Sequence[str]
) -> MixConflict:
    sides = []
    for name in names:
        base_ppm = None if base is None else base.weights_ppm.get(name, 0)
        theirs_ppm, ours_ppm = theirs.weights_ppm.get(name, 0), row.weights_ppm.get(name, 0)
        if len({base_ppm, theirs_ppm, ours_ppm}) > 1:
            sides.append(SourceDifference(source=name, base_ppm=base_ppm, theirs_ppm=theirs_ppm, ours_ppm=ours_ppm))
    return MixConflict(base=None if base is None else _side(base, names), theirs=_side(theirs, names), difference=sides)

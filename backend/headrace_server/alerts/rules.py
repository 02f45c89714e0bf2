"""Making, changing and deleting rules, each with its place in the audit log."""

import uuid
from collections.abc import Mapping
from typing import Any

from sqlalchemy.exc import IntegrityError

from ..audit import service as audit
from ..errors import ConflictError, InvalidError, NotFoundError
from ..models import AlertRule as AlertRuleRow
from ..models import Project
from ..work import Work
from . import raising, repository
from .kinds import KINDS
from .schemas import AlertRule, AlertRuleCreate, AlertRuleList, AlertRulePatch

MAX_RULES = 100
_SHOWN = (
    "name",
    "kind",
    "enabled",
    "job_pattern",
    "tags",
    "threshold",
    "clear_at",
    "for_s",
    "clear_for_s",
    "window",
    "max_epochs",
)


def describe(row: AlertRuleRow) -> AlertRule:
    """A rule as others see it."""
    what = KINDS[row.kind]  # type: ignore[index]
    fields = {name: getattr(row, name) for name in AlertRule.model_fields if name not in ("about", "fires_below")}
    return AlertRule.model_validate({**fields, "about": what.about, "fires_below": not what.above})


def _shown(row: AlertRuleRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _SHOWN}


async def find(work: Work, project: Project, rule_id: uuid.UUID) -> AlertRuleRow:
    """The project's rule with this id, locked. Raises NotFoundError."""
    row = await repository.rule(work.session, project.id, rule_id)
    if row is None:
        raise NotFoundError(f"no alert rule {rule_id} in project {project.name!r}")
    return row


async def listing(work: Work, project: Project) -> AlertRuleList:
    """The project's rules, the oldest first."""
    return AlertRuleList(items=[describe(row) for row in await repository.rules_of(work.session, project.id)])


def _wrong(field: str, message: str, value: object) -> InvalidError:
    return InvalidError(message, errors=[{"loc": ["body", field], "msg": message, "value": value}])


def refuse_nonsense(values: Mapping[str, Any]) -> None:
    """Raise InvalidError for values (of a whole rule) that can't mean anything for its kind."""
    what = KINDS[values["kind"]]
    for name in ("threshold", "clear_at"):
        if values[name] > what.most:
            raise _wrong(
                name,
                f"{name} is {values[name]:g}; a rule on {values['kind']} takes at most {what.most:g} ({what.about})",
                values[name],
            )
    if (values["clear_at"] > values["threshold"]) if what.above else (values["clear_at"] < values["threshold"]):
        side = "at most" if what.above else "at least"
        raise _wrong(
            "clear_at",
            f"clear_at is {values['clear_at']:g}; it must be {side} the threshold, {values['threshold']:g}, "
            "or the alert would fire and clear at once",
            values["clear_at"],
        )
    low, high = what.window_range
    if what.window is None and values["window"] is not None:
        raise _wrong("window", f"a rule on {values['kind']} has no window; leave it out", values["window"])
    if what.window is not None and not low <= values["window"] <= high:
        raise _wrong("window", f"window is {values['window']}; it must be {low} to {high}", values["window"])
    if what.max_epochs is None and values["max_epochs"] is not None:
        raise _wrong("max_epochs", f"a rule on {values['kind']} has no max_epochs; leave it out", values["max_epochs"])


def _clear_by_default(kind: str, values: dict[str, Any], given: Mapping[str, Any]) -> None:
    """With a threshold of their own and no ``clear_at``, rules clear in the proportion of the kind's own rule."""
    what = KINDS[kind]  # type: ignore[index]
    if "threshold" in given and "clear_at" not in given:
        ratio = what.clear_at / what.threshold if what.threshold else 1.0
        values["clear_at"] = min(what.most, values["threshold"] * ratio)


async def create(work: Work, project: Project, body: AlertRuleCreate) -> AlertRule:
    """Make a rule. Raises InvalidError, ConflictError when the name is taken or there are too many."""
    names = await repository.rule_names(work.session, project.id)
    if len(names) >= MAX_RULES:
        raise ConflictError(f"project {project.name!r} has {len(names)} alert rules; at most {MAX_RULES} are possible")
    what = KINDS[body.kind]
    given = body.model_dump(exclude_none=True)
    own = {
        name: getattr(what, name) for name in ("threshold", "clear_at", "for_s", "clear_for_s", "window", "max_epochs")
    }
    values = {"job_pattern": None, **own, **given}
    _clear_by_default(body.kind, values, given)
    refuse_nonsense(values)
    row = AlertRuleRow(
        id=uuid.uuid4(),
        project_id=project.id,
        created_by=work.principal.label,
        created_at=work.now,
        updated_at=work.now,
        **values,
    )
    work.session.add(row)
    await _flush(work, project, body.name)
    audit.record(work, "alert_rule.create", project_id=project.id, after=_shown(row))
    return describe(row)


async def _flush(work: Work, project: Project, name: str) -> None:
    taken_in = project.name
    try:
        await work.session.flush()
    except IntegrityError as error:
        raise ConflictError(f"project {taken_in!r} already has an alert rule {name!r}") from error


async def change(work: Work, project: Project, rule_id: uuid.UUID, body: AlertRulePatch) -> AlertRule:
    """Change what the body names; the rest stays. Raises NotFoundError, InvalidError, ConflictError."""
    row = await find(work, project, rule_id)
    given = body.model_dump(exclude_unset=True)
    for name, value in given.items():
        if value is None and name != "job_pattern" and getattr(row, name) is not None:
            raise _wrong(name, f"{name} is null; leave it out to keep it", None)
    before = _shown(row)
    after = {**before, **given}
    refuse_nonsense(after)
    if after != before:
        for name, value in given.items():
            setattr(row, name, value)
        row.updated_at = work.now
        await _flush(work, project, given.get("name", before["name"]))
        audit.record(work, "alert_rule.change", project_id=project.id, before=before, after=after)
    return describe(row)


async def delete(work: Work, project: Project, rule_id: uuid.UUID) -> None:
    """Delete a rule; its open alerts are resolved and stay in the list. Raises NotFoundError."""
    row = await find(work, project, rule_id)
    alerts = await repository.open_alerts(work.session, row.id)
    for alert in alerts:
        raising.resolve(alert, "the rule was deleted", work.now)
        raising.moved(work.session, alert)
    await raising.tell(work.session, [alert for alert in alerts if alert.announced], work.now)
    await repository.drop_states(work.session, row.id)
    audit.record(work, "alert_rule.delete", project_id=project.id, before=_shown(row))
    await work.session.delete(row)
    await work.session.flush()

"""Looking at the live jobs: figures → decisions → alerts. One look at a time, whatever the replicas.

The figures are read first and change nothing; then one short transaction decides, writes the alerts and the outbox,
and moves the clock. A replica that lost the race finds the clock moved and leaves it at that.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from ..models import AlertEvent, AlertRule, AlertState, Attempt, Job
from ..runtime import Runtime
from . import defaults, raising, repository
from .decision import QUIET, Clock, Limits, Past, decide, is_due, look
from .gathering import gather, needs_of
from .kinds import KINDS
from .readings import Asked, Figures, Reading, read
from .scope import concerns

log = logging.getLogger(__name__)

TICK_S = 10.0
# Sooner than this after a look, by whichever replica, there is none.
MIN_GAP_S = 8.0
_KEEP_MUTES_S = 7 * 86_400.0
Live = Sequence[tuple[Job, Attempt]]
Key = tuple[UUID, int]


@dataclass
class _Look:
    """What one look decides with, and what it will have to tell."""

    session: AsyncSession
    now: float
    suspended: bool
    figures: dict[int, Figures]
    muted_rules: set[UUID]
    muted_jobs: set[int]
    states: dict[Key, tuple[AlertState, AlertEvent | None]]
    told: list[AlertEvent] = field(default_factory=list)
    num_changes: int = 0

    def muted(self, rule: AlertRule, job: Job) -> bool:
        """Whether an alert of this rule for this job is to be kept quiet."""
        return rule.id in self.muted_rules or job.id in self.muted_jobs

    def tell(self, alert: AlertEvent) -> None:
        """Tell of it once the look is over."""
        if alert not in self.told:
            self.told.append(alert)

    def resolve(self, alert: AlertEvent | None, resolution: str) -> None:
        """Resolve an alert if there is one; nobody is told of the end of what they were not told of."""
        if alert is not None:
            raising.resolve(alert, resolution, self.now)
            raising.moved(self.session, alert)
            self.num_changes += 1
            if alert.announced:
                self.tell(alert)


def limits_of(rule: AlertRule) -> Limits:
    """When the rule fires and clears."""
    return Limits(
        threshold=rule.threshold,
        clear_at=rule.clear_at,
        for_s=rule.for_s,
        clear_for_s=rule.clear_for_s,
        above=KINDS[rule.kind].above,  # type: ignore[index]
    )


def reading_of(rule: AlertRule, figures: Figures) -> Reading:
    """What the rule reads off the figures."""
    return read(Asked(kind=rule.kind, window=rule.window, max_epochs=rule.max_epochs), figures)  # type: ignore[arg-type]


async def look_once(runtime: Runtime) -> int:
    """One look at every live job; returns how many alerts fired or were resolved. 0 when another replica has looked."""
    now = runtime.now()
    async with runtime.database.read() as session:
        clock = await repository.clock(session)
        if not is_due(clock, now, MIN_GAP_S):
            return 0
        live = [(row[0], row[1]) for row in await repository.live_jobs(session)]
        needs = needs_of(await repository.enabled_rules(session, hold=False))
        figures = await gather(session, runtime, live, needs, now)
    async with runtime.database.write() as session:
        if not await repository.lead(session) or await repository.clock(session) != clock:
            return 0
        for project_id in await repository.projects_without_defaults(session):
            await defaults.give(session, project_id, now)
        return await _decide_all(session, runtime, clock, live, figures, now)


async def _decide_all(
    session: AsyncSession, runtime: Runtime, clock: Clock | None, live: Live, figures: dict[int, Figures], now: float
) -> int:
    moved = look(clock, now, runtime.settings.restart_grace_s)
    await repository.set_clock(session, moved)
    await repository.drop_old_mutes(session, now - _KEEP_MUTES_S)
    mutes = await repository.active_mutes(session, now)
    at = _Look(
        session=session,
        now=now,
        # While clients find their way back to a server that was away, what is heard of them says little.
        suspended=now < moved.suspended_until or now < runtime.downtime.until,
        figures=figures,
        muted_rules={row.rule_id for row in mutes if row.rule_id is not None},
        muted_jobs={row.job_id for row in mutes if row.job_id is not None},
        states={(state.rule_id, state.job_id): (state, alert) for state, alert in await repository.states(session)},
    )
    still_live = await repository.live_attempts(session, [attempt.id for _, attempt in live])
    rules: dict[int, list[AlertRule]] = {}
    for rule in await repository.enabled_rules(session, hold=True):
        rules.setdefault(rule.project_id, []).append(rule)
    for job, attempt in live:
        if attempt.id in still_live:
            for rule in rules.get(job.project_id, []):
                if concerns(rule.job_pattern, rule.tags, job.name, job.tags):
                    await _decide_one(at, rule, job, attempt)
    await _close_the_rest(at)
    await raising.tell(session, at.told, now)
    return at.num_changes


async def _decide_one(at: _Look, rule: AlertRule, job: Job, attempt: Attempt) -> None:
    state, alert = at.states.pop((rule.id, job.id), (None, None))
    if state is not None and state.attempt_id != attempt.id:
        at.resolve(alert, f"attempt {attempt.number} has taken over")
        await at.session.delete(state)
        await at.session.flush()
        state, alert = None, None
    if at.suspended:
        return
    figures = at.figures[attempt.id]
    reading = reading_of(rule, figures)
    past = QUIET if state is None else Past(alert is not None, state.held_s, state.seen_at)
    new, change = decide(limits_of(rule), reading.value, past, at.now)
    if change == "fire":
        alert = raising.raised(rule, job, attempt, reading, figures.step, at.now)
        at.session.add(alert)
        await at.session.flush()
        at.num_changes += 1
        raising.moved(at.session, alert)
    elif change == "resolve":
        at.resolve(alert, reading.words)
        alert = None
    if alert is not None and alert.state == "firing" and not alert.announced and not at.muted(rule, job):
        alert.announced = True
        raising.moved(at.session, alert)
        at.tell(alert)
    await _keep(at, state, rule, job, attempt, new, alert)


async def _keep(
    at: _Look,
    state: AlertState | None,
    rule: AlertRule,
    job: Job,
    attempt: Attempt,
    new: Past,
    alert: AlertEvent | None,
) -> None:
    if new == QUIET:
        if state is not None:
            await at.session.delete(state)
        return
    if state is None:
        state = AlertState(rule_id=rule.id, job_id=job.id, attempt_id=attempt.id)
        at.session.add(state)
    state.alert_id = None if alert is None else alert.id
    state.held_s, state.seen_at = new.held_s, new.seen_at


async def _close_the_rest(at: _Look) -> None:
    """What is no longer looked at: the attempt ended, the job was archived, the rule switched off or narrowed."""
    if not at.states:
        return
    attempts = await repository.attempts(at.session, {state.attempt_id for state, _ in at.states.values()})
    for state, alert in at.states.values():
        attempt = attempts[state.attempt_id]
        if attempt.state == "live":
            at.resolve(alert, "no longer watched: the rule is off or about other jobs, or the job is archived")
        else:
            why = f": {attempt.state_reason}" if attempt.state_reason else ""
            at.resolve(alert, f"attempt {attempt.number} {_ENDS.get(attempt.state, attempt.state)}{why}")
        await at.session.delete(state)


_ENDS = {"superseded": "was superseded by a newer start"}


async def run(runtime: Runtime) -> None:
    """Look until cancelled; a failure is logged and the next tick tries again."""
    while True:
        try:
            await look_once(runtime)
        except Exception:
            log.exception("looking at alert rules failed")
        await asyncio.sleep(TICK_S)

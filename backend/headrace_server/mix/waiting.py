"""What a version that is not applied yet waits for, in words. Pure; the facts come from ``circumstances``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..durations import span

WaitCode = Literal[
    "next_poll",
    "next_seal",
    "no_attempt",
    "attempt_ended",
    "attempt_superseded",
    "service_away",
    "leader_silent",
    "older_loader",
    "not_advancing",
    "step_ahead",
    "ranks_behind",
]
# The leader asks each second, or each five with a stream, and ranks report every few; beyond this (seconds) something
# is the matter.
PATIENCE_S = 15.0
# Waiting for these is as it should be.
_IN_ORDER: frozenset[WaitCode] = frozenset({"next_poll", "next_seal", "step_ahead"})


@dataclass(frozen=True, kw_only=True)
class Version:
    """How far a version has come; times are Unix seconds. ``agreed_here`` is by the newest attempt."""

    proposed_at: float
    seen_at: float | None
    agreed_at: float | None
    agreed_step: int | None
    agreed_here: bool
    from_step: int | None


@dataclass(frozen=True, kw_only=True)
class Start:
    """The newest attempt and what is known of it. ``leader_at`` is when anything was last heard of its leader."""

    number: int
    state: str
    started_at: float
    ended_at: float | None
    loader_version: str
    leader_at: float | None
    polled_at: float | None
    step: int | None
    steps_per_s: float | None
    num_stuck: int
    stuck_for_s: float


@dataclass(frozen=True, kw_only=True)
class Behind:
    """A rank that has not applied the version; ``silent_s`` is None while it is not lost."""

    rank: int
    silent_s: float | None


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Everything around a version: the newest start (None: never one), ranks that are behind, the service itself.

    ``behind`` has the first few of ``num_behind``; ``away`` is when the service was last away (Unix seconds), while
    that still matters.
    """

    now: float
    start: Start | None
    server_version: str
    behind: Sequence[Behind] = ()
    num_behind: int = 0
    num_unheard: int = 0
    away: tuple[float, float] | None = None


@dataclass(frozen=True)
class Wait:
    """What a version waits for, since when (Unix seconds), and whether that is longer than it should take."""

    code: WaitCode
    message: str
    since: float
    stuck: bool


def wait_of(version: Version, scene: Scene) -> Wait:
    """What the version waits for."""
    code, message, since = _reason(version, scene)
    if code == "ranks_behind":
        lost = any(rank.silent_s is not None for rank in scene.behind)
        return Wait(code, message, since, lost or scene.num_unheard > 0 or _is_stuck(scene.start))
    return Wait(code, message, since, code not in _IN_ORDER)


def _is_stuck(start: Start | None) -> bool:
    return start is not None and start.num_stuck > 0


def _reason(version: Version, scene: Scene) -> tuple[WaitCode, str, float]:
    start, last_move = scene.start, version.agreed_at or version.seen_at or version.proposed_at
    if start is None:
        return "no_attempt", "The job has not started; its first start picks this up.", last_move
    if start.state != "live":
        ended_at = start.ended_at or start.started_at
        ago = span(scene.now - ended_at)
        message = f"Attempt {start.number} {start.state} {ago} ago; the next start picks this up."
        return "attempt_ended", message, max(last_move, ended_at)
    if version.agreed_at is not None and version.agreed_here:
        return _agreed(version, scene, start)
    return _before_agreement(version, scene, start, last_move)


def _before_agreement(version: Version, scene: Scene, start: Start, last_move: float) -> tuple[WaitCode, str, float]:
    silent = _leader_silence(scene, start, last_move, seen=version.seen_at is not None)
    if silent is not None:
        return silent
    moved_at = version.agreed_at or version.seen_at
    if moved_at is not None and moved_at < start.started_at:
        did = f"agreed on it at step {version.agreed_step}" if version.agreed_at is not None else "fetched it"
        message = (
            f"An earlier attempt {did}; attempt {start.number} has superseded that one and has not taken it up yet."
        )
        return "attempt_superseded", message, max(last_move, start.started_at)
    ahead = _ahead(version.from_step, start)
    if ahead is not None:
        return "step_ahead", ahead, last_move
    if start.num_stuck:
        message = f"No rank has taken a new step for {span(start.stuck_for_s)}; a step comes before an agreement."
        return "not_advancing", message, max(last_move, scene.now - start.stuck_for_s)
    if version.seen_at is None:
        return "next_poll", "The leader asks for news once a second.", last_move
    return "next_seal", "The leader agrees on it with the ranks at the next step that it plans.", last_move


def _leader_silence(scene: Scene, start: Start, last_move: float, *, seen: bool) -> tuple[WaitCode, str, float] | None:
    polled_at = start.polled_at
    # One that has fetched the version and follows a stream has no need to ask again.
    alive_at = start.leader_at if seen else None
    if scene.now - max(polled_at or 0.0, alive_at or 0.0, start.started_at, last_move) <= PATIENCE_S:
        return None
    if scene.away is not None:
        since, until = scene.away
        message = f"The service was away for {span(until - since)}; the leader comes back to it within seconds."
        return "service_away", message, since
    since = max(polled_at or start.started_at, start.started_at)
    quiet = span(scene.now - since)
    asked = f"has not asked for the mix for {quiet}" if polled_at is not None else "has never asked for the mix"
    if start.leader_at is None or scene.now - start.leader_at > PATIENCE_S:
        return "leader_silent", f"The leader (rank 0 of attempt {start.number}) {asked}, and reports nothing.", since
    if _older(start.loader_version, scene.server_version):
        message = (
            f"The leader reports but {asked}: its loader is {start.loader_version}, older than this service "
            f"({scene.server_version})."
        )
        return "older_loader", message, since
    return "leader_silent", f"The leader reports but {asked}.", since


def _agreed(version: Version, scene: Scene, start: Start) -> tuple[WaitCode, str, float]:
    assert version.agreed_at is not None
    ahead = _ahead(version.agreed_step, start)
    if ahead is not None:
        return "step_ahead", ahead, version.agreed_at
    names = [str(rank.rank) for rank in scene.behind]
    lost = [rank for rank in scene.behind if rank.silent_s is not None]
    parts = []
    if names:
        some = f"{'rank' if scene.num_behind == 1 else 'ranks'} {', '.join(names)}"
        more = scene.num_behind - len(names)
        parts.append(f"{some}{f' and {more} more' if more > 0 else ''} not at step {version.agreed_step} yet")
    for rank in lost[:1]:
        assert rank.silent_s is not None
        others = f" and {len(lost) - 1} more of them" if len(lost) > 1 else ""
        parts.append(f"rank {rank.rank}{others} lost, silent for {span(rank.silent_s)}")
    if scene.num_unheard:
        parts.append(f"{scene.num_unheard} that have never reported")
    return "ranks_behind", f"Waits for {'; '.join(parts) or 'reports of the ranks'}.", version.agreed_at


def _ahead(step: int | None, start: Start) -> str | None:
    """What to say of a step that is to come; None for one that is not."""
    done = -1 if start.step is None else start.step
    if step is None or step <= done + 1:
        return None
    at = "has not reported a step" if start.step is None else f"is at {start.step}"
    rate = start.steps_per_s
    when = f", about {span((step - done - 1) / rate)} at {rate:.3g} steps/s" if rate else ""
    return f"Waits for step {step}; the job {at}{when}."


def _older(loader: str, server: str) -> bool:
    def numbers(version: str) -> list[int]:
        return [int(part) for part in version.split(".")[:3] if part.isdecimal()]

    return numbers(loader) < numbers(server)

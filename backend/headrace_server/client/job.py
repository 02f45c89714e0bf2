"""A job: its facts, its mix, its numbers."""

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ..exports.schemas import Format, What
from ..figures.schemas import Figure, FigureName
from ..ingest.schemas import RankList, RankState
from ..jobs.schemas import Attempt, AttemptList
from ..jobs.schemas import Job as JobReply
from ..mix.schemas import Activation, ActivationList, MixPreview, MixVersion, MixVersionPage
from ..series.schemas import Axis, Metric, Series
from .errors import NotAppliedError, NotFoundError
from .transport import Transport

if TYPE_CHECKING:
    import plotly.graph_objects as go

Moment = datetime | float | None


def _moment(value: Moment) -> str | float | None:
    return value.isoformat() if isinstance(value, datetime) else value


class Job:
    """A job of a server. What it says is asked anew each time."""

    def __init__(self, transport: Transport, job_id: UUID, name: str) -> None:
        self._transport = transport
        self._path = f"/jobs/{job_id}"
        self.id = job_id
        self.name = name

    def __repr__(self) -> str:
        return f"Job({self.name!r}, id={str(self.id)!r})"

    @property
    def info(self) -> JobReply:
        """How it is doing, and how it is configured."""
        return self._transport.get(JobReply, self._path)

    def attempts(self) -> list[Attempt]:
        """Its starts, oldest first."""
        return self._transport.get(AttemptList, f"{self._path}/attempts").items

    def ranks(self) -> list[RankState]:
        """The latest of each rank of the newest attempt."""
        found: list[RankState] = []
        cursor: str | None = None
        more = True
        while more:
            page = self._transport.get(RankList, f"{self._path}/ranks", cursor=cursor)
            found += page.items
            cursor = page.next_cursor
            more = cursor is not None
        return found

    def activations(self) -> list[Activation]:
        """What its leaders agreed, in the order it takes effect."""
        return self._transport.get(ActivationList, f"{self._path}/activations").items

    @property
    def mix(self) -> MixVersion:
        """The newest version of its mix, and how far that has come."""
        return self._transport.get(MixVersion, f"{self._path}/mix")

    def history(self) -> Iterator[MixVersion]:
        """Every version of its mix, newest first."""
        cursor: str | None = None
        more = True
        while more:
            page = self._transport.get(MixVersionPage, f"{self._path}/mix/versions", cursor=cursor, limit=200)
            yield from page.items
            cursor = page.next_cursor
            more = cursor is not None

    def set_mix(
        self,
        weights: Mapping[str, float],
        *,
        reason: str,
        from_step: int | None = None,
        ramp_steps: int = 0,
        base: MixVersion | int | None = None,
    ) -> MixVersion:
        """Change the mix; weights are on any scale, each source named, 0 pauses one.

        ``base`` is the version that you looked at: somebody's change since then raises MixChangedError, whose
        ``current`` is theirs. Without it, what is the newest now is changed, whatever it says. Raises
        AwaitingApprovalError where the project wants a second person's word.
        """
        body = {"weights": dict(weights), "reason": reason, "from_step": from_step, "ramp_steps": ramp_steps}
        return self._change("PUT", f"{self._path}/mix", body, base)

    def revert(self, version: int, *, reason: str, base: MixVersion | int | None = None) -> MixVersion:
        """Make a new version with an older one's weights; ``base`` as for ``set_mix``."""
        return self._change("POST", f"{self._path}/mix/versions/{version}/revert", {"reason": reason}, base)

    def _change(self, method: str, path: str, body: Mapping[str, Any], base: MixVersion | int | None) -> MixVersion:
        edited = self.mix if base is None else base
        number = edited.version if isinstance(edited, MixVersion) else edited
        return self._transport.change(method, path, body, f'"v{number}"')

    def pause(self, source: str, *, reason: str) -> MixVersion:
        """Stop a source at once, whoever else edits; the others share its weight in proportion."""
        body = {"source": source, "reason": reason}
        return self._transport.change("POST", f"{self._path}/mix/pause", body, None)

    def resume(self, source: str, *, reason: str) -> MixVersion:
        """Return a paused source to its former weight; the others make room in proportion."""
        body = {"source": source, "reason": reason}
        return self._transport.change("POST", f"{self._path}/mix/resume", body, None)

    def preview(self, weights: Mapping[str, float], *, ramp_steps: int = 0) -> MixPreview:
        """What weights would mean by the end of the run; changes nothing."""
        body = {"weights": dict(weights), "ramp_steps": ramp_steps}
        return self._transport.send(MixPreview, "POST", f"{self._path}/mix/preview", body)

    def wait_applied(
        self, version: MixVersion | int | None = None, *, timeout_s: float = 300.0, poll_s: float = 1.0
    ) -> MixVersion:
        """Wait until a version (the newest unless given) is in force on every rank; returns it.

        Raises NotAppliedError when it is superseded, or not applied within ``timeout_s``.
        """
        number = version.version if isinstance(version, MixVersion) else version
        deadline = time.monotonic() + timeout_s
        while True:
            found = self._version(number)
            number = found.version
            if found.life.state == "applied":
                return found
            if found.life.state == "superseded":
                raise NotAppliedError(f"mix version {number} of {self.name!r} was superseded by a newer one", found)
            left = deadline - time.monotonic()
            if left <= 0:
                life = found.life
                raise NotAppliedError(
                    f"mix version {number} of {self.name!r} is {life.state} after {timeout_s:g} s, applied on "
                    f"{life.applied_ranks} of {life.total_ranks} ranks",
                    found,
                )
            time.sleep(min(poll_s, left))

    def _version(self, number: int | None) -> MixVersion:
        newest = self.mix
        if number is None or newest.version == number:
            return newest
        for version in self.history():
            if version.version == number:
                return version
        detail = f"job {self.name!r} has no mix version {number}; the newest is {newest.version}"
        raise NotFoundError(404, {"code": "not_found", "detail": detail})

    def series(
        self,
        metric: Metric,
        *,
        x: Axis = "step",
        low: float | None = None,
        high: float | None = None,
        max_points: int = 300,
        attempt: UUID | None = None,
        rank: int | None = None,
    ) -> Series:
        """A metric over steps, tokens or time (Unix seconds), in at most ``max_points`` buckets with their extremes."""
        return self._transport.get(
            Series,
            f"{self._path}/series",
            metric=metric,
            x=x,
            max_points=max_points,
            attempt=None if attempt is None else str(attempt),
            rank=rank,
            **{"from": low, "to": high},
        )

    def figure(self, name: FigureName, *, x: Axis = "step", theme: str = "light", max_points: int = 300) -> "go.Figure":
        """The chart that the dashboard shows, as a Plotly figure."""
        import plotly.graph_objects as go  # noqa: PLC0415  # heavy: only figures pay for it

        path = f"{self._path}/figures/{name}"
        drawn = self._transport.get(Figure, path, x=x, theme=theme, max_points=max_points).figure
        return go.Figure(data=drawn.data, layout={"template": None, **drawn.layout})

    def export(
        self,
        path: str | Path,
        what: What = "reports",
        *,
        file_format: Format | None = None,
        low: Moment = None,
        high: Moment = None,
        attempt: UUID | None = None,
    ) -> Path:
        """Write what is kept of the job to a file, CSV or Parquet as its name ends; whole, or not at all."""
        target = Path(path)
        chosen = file_format or ("parquet" if target.suffix.lower() in (".parquet", ".pq") else "csv")
        query: dict[str, Any] = {
            "what": what,
            "format": chosen,
            "attempt": None if attempt is None else str(attempt),
            "from": _moment(low),
            "to": _moment(high),
        }
        return self._save(target, f"{self._path}/export", query)

    def report(self, path: str | Path, *, x: Axis = "step") -> Path:
        """Write the job's report, one page of HTML that needs nothing else."""
        return self._save(Path(path), f"{self._path}/report.html", {"x": x})

    def _save(self, target: Path, path: str, query: Mapping[str, Any]) -> Path:
        part = target.with_name(f".{target.name}.part")
        try:
            with self._transport.download(path, **query) as chunks, part.open("wb") as file:
                for chunk in chunks:
                    file.write(chunk)
            part.replace(target)
        finally:
            with suppress(FileNotFoundError):
                part.unlink()
        return target

    def set_tags(self, tags: Mapping[str, str]) -> JobReply:
        """Replace its tags."""
        return self._transport.send(JobReply, "PATCH", self._path, {"tags": dict(tags)})

    def archive(self, *, archived: bool = True) -> JobReply:
        """Put it away, or bring it back."""
        return self._transport.send(JobReply, "PATCH", self._path, {"archived": archived})

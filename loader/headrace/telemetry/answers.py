"""Reads the control plane's answers. Whatever does not have the contract's shape raises ServiceError, nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.telemetry.failures import ServiceError
from headrace.telemetry.port import Activated

_PPM = 1_000_000
_LARGEST = 2**53
_PACE_S = (0.5, 60.0)

Body = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a batch of reports."""

    rejected: tuple[str, ...]
    "for each record that was refused, why"
    mix_version: int | None
    "the newest version of the mix"
    pace_s: float | None
    "seconds between two reports of a rank, as the service wants it, within sane bounds"


@dataclass(frozen=True, slots=True)
class MixVersion:
    """The newest weights that the control plane knows."""

    version: int
    origin: str
    "`config`, `service` or `local`"
    weights_ppm: Mapping[str, int]
    from_step: int | None
    ramp_steps: int


def read_receipt(body: Body) -> Receipt:
    """The answer to a batch of reports."""
    _integer(body, "accepted"), _integer(body, "duplicate")
    rejected = body.get("rejected")
    if not isinstance(rejected, list):
        raise _garbage("rejected", rejected)
    reasons = tuple(f"{r.get('code')}: {r.get('detail')}" if isinstance(r, dict) else repr(r)[:200] for r in rejected)
    pace = body.get("report_every_s")
    usable = isinstance(pace, int | float) and not isinstance(pace, bool) and math.isfinite(pace)
    pace_s = min(max(float(pace), _PACE_S[0]), _PACE_S[1]) if usable and isinstance(pace, int | float) else None
    return Receipt(reasons, _integer_or_none(body, "mix_version"), pace_s)


def read_mix(body: Body) -> MixVersion:
    """The answer to a question for the mix."""
    return MixVersion(
        version=_integer(body, "version"),
        origin=str(body.get("origin")),
        weights_ppm=_weights_ppm(body),
        from_step=_integer_or_none(body, "from_step"),
        ramp_steps=_integer(body, "ramp_steps"),
    )


def read_activation(body: Body) -> tuple[Activated, int]:
    """One recorded activation and the version it belongs to."""
    lineage, revision = body.get("lineage"), body.get("revision")
    if not isinstance(lineage, str) or not isinstance(revision, str) or not revision:
        raise _garbage("revision", (lineage, revision))
    activated = Activated(
        revision, _integer(body, "step"), _weights_ppm(body), _integer(body, "ramp_steps"), lineage=lineage
    )
    return activated, _integer(body, "version")


def read_activations(body: Body) -> list[tuple[Activated, int]]:
    """All recorded activations, in the order in which they take effect."""
    items = body.get("items")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _garbage("items", items)
    return [read_activation(item) for item in items]


def _weights_ppm(body: Body) -> Mapping[str, int]:
    weights = body.get("weights_ppm")
    if not isinstance(weights, dict) or not weights:
        raise _garbage("weights_ppm", weights)
    checked = {name: _integer(weights, name) for name in weights}
    if sum(checked.values()) != _PPM:
        raise _garbage("weights_ppm", f"sum {sum(checked.values())}")
    return checked


def _integer(body: Body, key: str) -> int:
    value = body.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST:
        raise _garbage(key, value)
    return value


def _integer_or_none(body: Body, key: str) -> int | None:
    return None if body.get(key) is None else _integer(body, key)


def _garbage(key: str, value: object) -> ServiceError:
    what = f"{key!r} in the control plane's answer is {repr(value)[:100]}"
    return ServiceError("not headrace", f"{what}: check HEADRACE_URL and that its version fits this loader's")

"""How a loader's job is described to the control plane."""

from __future__ import annotations

import os

from headrace.data import Data
from headrace.run import Connect


class ControlPlane:
    """Where a job reports to."""

    def connect_for(self, data: Data) -> Connect:
        """What makes the telemetry of each start."""
        raise NotImplementedError


def control_plane(*, job: str | None, url: str | None, token: str | None, project: str | None) -> ControlPlane | None:
    """None without a job: then nothing is reported and the mix is not live."""
    job = job or os.environ.get("HEADRACE_JOB")
    return None if not job else ControlPlane()

"""Headrace from scripts and notebooks.

    from headrace_server.client import Client

    job = Client().job("llama-7b")                    # HEADRACE_URL, HEADRACE_TOKEN
    job.mix.weights_ppm
    job.set_mix({"web": 3, "code": 1}, reason="loss on code is flat", ramp_steps=500)
    job.wait_applied()
    job.figure("mix").show()

What comes back are the schemas of the API; what is refused is an exception that holds the problem.
"""

from .client import Client
from .errors import (
    AwaitingApprovalError,
    BrokenOffError,
    BusyError,
    ClientError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    MixChangedError,
    NotAppliedError,
    NotConfiguredError,
    NotFoundError,
    ProblemError,
    ServerFailedError,
    UnauthenticatedError,
    UnreachableError,
)
from .job import Job

__all__ = [
    "AwaitingApprovalError",
    "BrokenOffError",
    "BusyError",
    "Client",
    "ClientError",
    "ConflictError",
    "ForbiddenError",
    "InvalidError",
    "Job",
    "MixChangedError",
    "NotAppliedError",
    "NotConfiguredError",
    "NotFoundError",
    "ProblemError",
    "ServerFailedError",
    "UnauthenticatedError",
    "UnreachableError",
]

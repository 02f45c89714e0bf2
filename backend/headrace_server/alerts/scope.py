"""Which jobs a rule is about. Pure."""

from collections.abc import Mapping
from fnmatch import fnmatchcase


def concerns(job_pattern: str | None, tags: Mapping[str, str], name: str, job_tags: Mapping[str, str]) -> bool:
    """Whether the job's name fits the pattern (``*``, ``?``, ``[…]``; None: any) and it has every one of the tags."""
    if job_pattern is not None and not fnmatchcase(name, job_pattern):
        return False
    return all(job_tags.get(key) == value for key, value in tags.items())

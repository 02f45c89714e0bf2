"""Every operation of the API, as its description has it, with paths that lead to records that exist."""

import re
from dataclasses import dataclass
from typing import Any

from headrace_server.app import build_app
from headrace_server.settings import Settings

SCOPE = "x-headrace-scope"


@dataclass(frozen=True)
class Operation:
    """One method of one path; ``scopes`` are those of which its caller needs one, or ``public``."""

    method: str
    path: str
    scopes: frozenset[str]
    parameters: tuple[dict[str, Any], ...]

    @property
    def in_a_project(self) -> bool:
        """Whether the path leads into a project."""
        return "{project}" in self.path or "{job}" in self.path

    def names(self, where: str) -> list[str]:
        """The parameters in the path, or in the query."""
        return [parameter["name"] for parameter in self.parameters if parameter["in"] == where]

    def filled(self, **values: str) -> str:
        """The path with these values; each of its parameters must have one."""
        return re.sub(r"{(\w+)}", lambda found: values[found[1]], self.path)


def operations() -> list[Operation]:
    """All of them."""
    document = build_app(Settings(database_url="sqlite:////nowhere/never.db")).openapi()
    return [
        Operation(method.upper(), path, frozenset(operation[SCOPE]), tuple(operation.get("parameters", ())))
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]

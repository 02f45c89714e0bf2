"""Takes the migrations, which live at the root of the repository, into the distributions.

From a checkout they are copied to ``headrace_server/_migrations``; an sdist already has them there.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MigrationsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds ``../migrations`` when building from a checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the folder unless the install is editable, which reads it in place."""
        migrations = Path(self.root).parent / "migrations"
        if version == "editable" or not (migrations / "env.py").is_file():
            return
        for file in sorted(migrations.rglob("*")):
            if file.suffix in (".py", ".mako"):
                inside = file.relative_to(migrations).as_posix()
                build_data["force_include"][str(file)] = f"headrace_server/_migrations/{inside}"

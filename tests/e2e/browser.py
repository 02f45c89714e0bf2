"""Which browser the tests drive: $CHROME, else a system Chromium or Chrome, else Playwright's own."""

import os
import shutil
import subprocess
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class NoBrowserError(Exception):
    """There is no browser to test with."""


def find_browser(playwright_folder: Path) -> Path:
    """The browser's program. Raises NoBrowserError; a $CHROME that is no program is never passed over."""
    given = os.environ.get("CHROME")
    if given:
        found = shutil.which(given)
        if found is None:
            raise NoBrowserError(f"CHROME is {given!r}, which is no program; unset it or name a Chromium or Chrome")
        return Path(found)
    for name in _NAMES:
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    own = _playwrights_own(playwright_folder)
    if own is not None and own.is_file():
        return own
    raise NoBrowserError(
        f"no browser: $CHROME is not set, none of {', '.join(_NAMES)} is in PATH and Playwright has none of its own; "
        "install Debian's chromium, set CHROME, or run `npx playwright install chromium` in tests/e2e"
    )


def _playwrights_own(folder: Path) -> Path | None:
    script = "import('@playwright/test').then((p) => console.log(p.chromium.executablePath()))"
    done = subprocess.run(["node", "-e", script], cwd=folder, capture_output=True, text=True, check=False)
    return Path(done.stdout.strip()) if done.returncode == 0 and done.stdout.strip() else None

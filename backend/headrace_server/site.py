"""The built dashboard: hashed assets cached for a year, index.html for every page, nothing outside its folder."""

from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, Response

from .errors import NotFoundError
from .settings import Settings

PACKAGED = Path(__file__).parent / "static"
_SERVER_PREFIXES = frozenset({"api", "metrics", "openapi.json", "healthz", "readyz"})
_NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Headrace</title>
<h1>The dashboard is not built</h1>
<p>The service is running. Build its pages with <code>make dashboard</code>
(or <code>npm ci &amp;&amp; npm run build</code> in <code>frontend/</code>) and load this page again.</p></html>"""


SITE = "site"
"""The name of the route that serves the dashboard."""


def is_site_path(path: str) -> bool:
    """Whether a path belongs to the dashboard rather than to the service."""
    return path.lstrip("/").partition("/")[0] not in _SERVER_PREFIXES


def find_file(root: Path, path: str) -> Path | None:
    """The file under ``root`` that ``path`` names, or None; never one outside of it, by dots or by links."""
    if "\0" in path or "\\" in path:
        return None
    root = root.resolve()
    try:
        file = (root / path.lstrip("/")).resolve()
        return file if file.is_relative_to(root) and file.is_file() else None
    except (OSError, ValueError):
        return None


def _page(root: Path, path: str) -> Response:
    if not (root / "index.html").is_file():
        return HTMLResponse(_NOT_BUILT, headers={"cache-control": "no-store"})
    file = find_file(root, path)
    if file is None:
        if path.startswith("assets/"):
            raise NotFoundError("no such file")
        return FileResponse(root / "index.html", headers={"cache-control": "no-cache"})
    hashed = path.startswith("assets/")
    return FileResponse(
        file, headers={"cache-control": "public, max-age=31536000, immutable" if hashed else "no-cache"}
    )


def add_site(app: FastAPI, settings: Settings) -> None:
    """Serve the dashboard on every path the service doesn't use. Add it last."""
    root = settings.static_dir or PACKAGED

    async def site(request: Request) -> Response:
        path = request.path_params["path"]
        if not is_site_path(path):
            raise NotFoundError(f"no such resource: /{path[:200]}")
        return _page(root, path)

    app.add_route("/{path:path}", site, methods=["GET", "HEAD"], name=SITE, include_in_schema=False)

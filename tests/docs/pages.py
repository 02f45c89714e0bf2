"""The documentation as data: its pages, their headings, links, tables and fenced blocks."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "loader" / "README.md", ROOT / "backend" / "README.md"]
)
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block and the heading it stands under."""

    language: str
    text: str
    heading: str


def blocks(page: Path, language: str) -> list[Block]:
    """The page's blocks in this language, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        headings = re.findall(r"^#+ (.+)$", prose(text[: match.start()]), re.MULTILINE)
        found.append(Block(match[1], match[2], headings[-1] if headings else ""))
    return [block for block in found if block.language == language]


def prose(text: str) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", text)


def links(page: Path) -> list[str]:
    """Targets of links and images, in Markdown and in HTML."""
    text = prose(page.read_text(encoding="utf-8"))
    markdown = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text))
    return markdown + re.findall(r'(?:src|srcset|href)="([^"]+)"', text)


def anchors(page: Path) -> set[str]:
    """What `#…` may name on a page: its headings, as GitHub writes them."""
    headings = re.findall(r"^#+ (.+)$", prose(page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def first_column(page: Path, heading: str) -> list[str]:
    """Every `code` word in the first column of the tables under a heading."""
    section = re.search(
        rf"^#+ {re.escape(heading)}$(.*?)(?=^#+ |\Z)", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert section, f"{page} has no heading {heading!r}"
    cells = re.findall(r"^\| ([^|]+) \|", section[1], re.MULTILINE)
    return [word for cell in cells for word in re.findall(r"`([^`]+)`", cell)]

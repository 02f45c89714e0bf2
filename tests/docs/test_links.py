"""Every link between pages leads somewhere."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.docs.pages import PAGES, ROOT, anchors, links


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_to_files_and_headings(page: Path) -> None:
    for link in links(page):
        parts = urlsplit(link)
        if parts.scheme:
            assert parts.scheme == "https", f"{page}: {link}"
            continue
        target = (page.parent / parts.path).resolve() if parts.path else page
        assert target.exists(), f"{page}: {link} leads to {target}, which does not exist"
        assert target.is_relative_to(ROOT), f"{page}: {link} leaves the repository"
        if parts.fragment:
            assert parts.fragment in anchors(target), f"{page}: {link} names no heading of {target}"


def test_every_page_of_docs_is_linked_from_another() -> None:
    linked = {(page.parent / urlsplit(link).path).resolve() for page in PAGES for link in links(page)}
    lost = [page for page in PAGES if page.is_relative_to(ROOT / "docs") and page not in linked]
    assert not lost, f"nothing links to {lost}"

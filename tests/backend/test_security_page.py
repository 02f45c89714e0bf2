"""docs/security.md names tests that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_promise_names_a_test_that_exists() -> None:
    named = re.findall(r"`(tests/[\w/.]+)::(test_\w+)`", (ROOT / "docs" / "security.md").read_text())
    assert len(named) > 20
    for path, name in named:
        assert re.search(rf"def {name}\(", (ROOT / path).read_text()), f"{path} has no {name}"

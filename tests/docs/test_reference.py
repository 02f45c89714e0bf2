"""What the pages list (options, settings, metrics, states, targets) is what the code has."""

import re
import shlex
from pathlib import Path
from typing import get_args

import pytest
from headrace.cli import main as headrace
from headrace.names import EXTENSIONS
from headrace_server.cli import main as headrace_server
from headrace_server.ingest.liveness import LATE_INTERVALS, LIVE_INTERVALS, STALE_INTERVALS, RankLiveness
from headrace_server.jobs import metrics
from headrace_server.jobs.schemas import JobState
from headrace_server.settings import Settings

from tests.docs.pages import PAGES, ROOT, blocks, first_column

OPERATE = ROOT / "docs" / "guides" / "operate.md"
DATA = ROOT / "docs" / "guides" / "data.md"


def commands() -> list[tuple[Path, list[str]]]:
    """Every call of our two programs in a shell block, as words from the program's name on."""
    found: list[tuple[Path, list[str]]] = []
    for page in PAGES:
        for block in blocks(page, "bash"):
            text = block.text.replace("\\\n", " ").replace(".venv/bin/", "")
            calls = re.findall(r"(?<![\w/-])headrace(?:-server)? [^\n|)#&>]*", text)
            found += [(page, shlex.split(call)) for call in calls]
    return found


def help_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    main = headrace_server if words[0] == "headrace-server" else headrace
    subcommands = [word for word in words[1:] if re.fullmatch(r"[a-z]+", word)]
    depth = 2 if subcommands[:1] in (["key"], ["user"], ["mix"]) else 1
    with pytest.raises(SystemExit) as ended:
        main([*subcommands[:depth], "--help"])
    assert ended.value.code == 0, words
    return capsys.readouterr().out


def test_commands_and_options_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(commands()) > 8
    for page, words in commands():
        known = help_of(words, capsys)
        for option in (word for word in words if word.startswith("--")):
            assert re.search(rf"{option.split('=')[0]}\b", known), f"{page}: {' '.join(words)}: no option {option}"


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        for target in re.findall(r"`make ([a-z0-9-]+)|^make ([a-z0-9-]+)", page.read_text(), re.MULTILINE):
            assert "".join(target) in targets, f"{page}: make {''.join(target)}"


def test_settings_are_named_as_they_are_with_their_defaults() -> None:
    rows = re.findall(r"^\| ((?:`[A-Z_]+`(?:, )?)+) \| ([^|]*) \|", OPERATE.read_text(), re.MULTILINE)
    assert rows
    for names, shown in rows:
        for name in re.findall(r"`([A-Z_]+)`", names):
            field = Settings.model_fields[name.lower()]
            number = re.fullmatch(r"\d+", shown.strip())
            if number:
                assert float(number[0]) == field.default, f"{name} defaults to {field.default}, not {shown}"


def test_metrics_are_all_named() -> None:
    source = Path(metrics.__file__).read_text()
    assert set(re.findall(r'"(headrace_[a-z_]+)"', source)) == set(
        re.findall(r"`(headrace_[a-z_]+)`", OPERATE.read_text())
    )


def test_states_are_all_explained() -> None:
    section = OPERATE.read_text().split("## What the states mean")[1].split("\n## ")[0]
    words = set(re.findall(r"\w+", " ".join(re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE))))
    assert f"heard within {LIVE_INTERVALS:g} intervals" in section
    assert f"silent for more than {LIVE_INTERVALS:g} · {LATE_INTERVALS:g} · {STALE_INTERVALS:g} |" in section
    assert words - {"rank", "job"} == set(get_args(RankLiveness)) | set(get_args(JobState))


def test_ignored_files_and_formats_are_all_named() -> None:
    text = DATA.read_text()
    for extension in EXTENSIONS:
        assert f"`{extension}`" in text
    for option in ("column", "eos_id", "bos_id"):
        assert f"`{option}`" in text or f"{option}=" in text


def test_loader_environment_is_what_the_loader_reads() -> None:
    named = set(first_column(ROOT / "docs" / "guides" / "embed.md", "With a service"))
    sources = "\n".join(path.read_text() for path in (ROOT / "loader" / "headrace").rglob("*.py"))
    read = set(re.findall(r'environ(?:\.get\(|\[)"(HEADRACE_(?!DEMO)[A-Z_]+)"', sources))
    assert named == read

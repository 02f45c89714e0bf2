"""`headrace`: every command explains itself, and a misspelling ends with status 2 and a suggestion."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from headrace import cli
from headrace.arguments import CommandParser

from tests.loader.corpora import write_shard


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What `headrace *words` prints on standard error, ending with status 2."""
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dmo"], "unknown command 'dmo'; did you mean 'demo'?"),
        (["Bench"], "unknown command 'Bench'; did you mean 'bench'?"),
        (["xyzzy"], "unknown command 'xyzzy'; the commands are " + ", ".join(sorted(cli.COMMANDS))),
        ([], "no command given; the commands are " + ", ".join(cli.COMMANDS)),
        (["--vresion"], "unknown option '--vresion'; did you mean '--version'?"),
        (["demo", "--stpes", "5"], "unknown option '--stpes'; did you mean '--steps'?"),
        (["demo", "--step", "5"], "unknown option '--step'; did you mean '--steps'?"),
        (["demo", "--no-browsr=1"], "unknown option '--no-browsr'; did you mean '--no-browser'?"),
        (["demo", "--steps", "many"], "argument --steps: it is 'many'; it must be a whole number from 1 to"),
        (["demo", "--steps", "0"], "argument --steps: it is '0'"),
        (["demo", "--port", "70000"], "argument --port: it is '70000'; it must be a whole number from 0 to 65535"),
        (["demo", "--ranks", "3"], "argument --ranks: invalid choice: 3"),
        (["bench", "/data", "--seqlen", "5"], "unknown option '--seqlen'; did you mean '--seq-len'?"),
        (["inspect", "/data", "--ful"], "unknown option '--ful'; did you mean '--full'?"),
    ],
)
def test_misuse(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert said in failed(capsys, *words)


def test_a_value_that_fits_no_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--steps", "5", "--edit-at", "5"]) == 2
    assert capsys.readouterr().err == "headrace demo: --edit-at is 5; with 5 steps it must be below 5\n"


@pytest.mark.parametrize("words", [["--help"], *([name, "--help"] for name in cli.COMMANDS)])
def test_help_has_examples(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 0
    assert "examples:\n  headrace" in capsys.readouterr().out


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    printed = capsys.readouterr().out
    assert all(f"\n  {name} " in printed for name in cli.COMMANDS)


def test_the_installed_program_says_its_version() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "headrace.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("headrace 0.")


def test_a_command_is_imported_only_when_it_is_called() -> None:
    code = "import sys; from headrace import cli\nassert 'headrace.demo.run' not in sys.modules\n"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_option_without_a_neighbour_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    parser = CommandParser("tool")
    parser.add_argument("--size")
    with pytest.raises(SystemExit):
        parser.parse_args(["--qqq"])
    assert "unknown option '--qqq'; the options are --help, --size, -h" in capsys.readouterr().err


def test_a_missing_optional_package_is_said_with_what_to_do() -> None:
    code = "import sys; sys.modules['tokenizers'] = None\nfrom headrace import cli\nsys.exit(cli.main(['demo']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("headrace demo: the demo needs the package 'tokenizers', which is not installed here")
    assert "pip install 'headrace[demo]'" in done.stderr


@pytest.fixture
def web(tmp_path: Path) -> str:
    write_shard(tmp_path / "0", [[1, 2, 3]] * 3_000, "headrace", np.uint16)
    return str(tmp_path)


TRACE = ("--seed", "1", "--seq-len", "4", "--global-batch-size", "2000", "--eos-id", "none", "--step", "0")


def test_a_reader_that_has_enough_is_no_error(web: str) -> None:
    """`headrace trace … | head`: no traceback, whatever is left to print."""
    command = [sys.executable, "-m", "headrace.cli", "trace", web, *TRACE]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b"step 0:")
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 0)
    process.stderr.close()


def test_a_terminal_without_bars_gets_its_figures(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="ascii"))
    assert cli.main(["inspect", web]) == 0
    assert b"2?3" in printed.getvalue()

"""An argument parser that answers a misspelling with what was probably meant. It imports nothing heavy."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterable
from typing import NoReturn


class CommandParser(argparse.ArgumentParser):
    """Options in full only (`--step` is not `--steps`); a wrong one ends the program with status 2 and a suggestion."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog=prog, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and what was probably meant, and exit with status 2."""
        wrong = re.fullmatch(r"unrecognized arguments: (.*)", message)
        if wrong:
            message = unknown("option", wrong[1].split()[0].split("=")[0], self._option_string_actions)
        self.exit(2, f"{self.prog}: error: {message}\nSee `{self.prog} --help`.\n")


def unknown(kind: str, given: str, known: Iterable[str]) -> str:
    """What to say about a word that is not among `known`."""
    names = sorted(known)
    close = difflib.get_close_matches(given, names, 1, 0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"the {kind}s are {', '.join(names)}"
    return f"unknown {kind} {given!r}; {hint}"

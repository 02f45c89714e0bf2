"""A small machine to gather text from: a standard library, two installed distributions, manuals and licences."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

from headrace.demo.gather import Machine

WORDS = ("gate", "river", "turbine", "water", "channel", "def", "return", "import", "licence", "warranty", "copyright")


def prose(seed: int, num_words: int = 400) -> str:
    """Words that depend on `seed` only."""
    generator = random.Random(seed)
    return " ".join(generator.choice(WORDS) + str(generator.randrange(50)) for _ in range(num_words))


def small_machine(folder: Path, *, num_files: int = 40, manuals: bool = True) -> Machine:
    """Files under `folder` that look like a machine's; `num_files` of each kind."""
    write(folder / "stdlib" / "site-packages" / "other.py", prose(1))
    write(folder / "stdlib" / "test" / "test_other.py", prose(2))
    for number in range(num_files):
        write(folder / "stdlib" / "package" / f"module{number}.py", f"# {prose(100 + number)}\n")
        write(folder / "licences" / f"L{number}", prose(200 + number))
        if manuals:
            (folder / "man" / "man1").mkdir(parents=True, exist_ok=True)
            page = f".TH TOOL{number} 1\n.SH NAME\n{prose(300 + number)}\n"
            (folder / "man" / "man1" / f"tool{number}.1.gz").write_bytes(gzip.compress(page.encode(), mtime=0))
    for number in range(num_files):
        install(folder / "site", f"dist{number}", prose(400 + number))
    return machine_at(folder)


def machine_at(folder: Path) -> Machine:
    """The machine that `small_machine` laid down in `folder`."""
    return Machine(folder / "stdlib", (str(folder / "site"),), (folder / "man",), (folder / "licences",))


def install(site: Path, name: str, readme: str) -> Path:
    """Lay down what an installer leaves: METADATA, a licence and RECORD."""
    info = site / f"{name}-1.0.dist-info"
    write(info / "METADATA", f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\n\n{readme}")
    write(info / "licenses" / "LICENSE.txt", f"Licence of {name}. {readme[:50]}\n" + prose(len(name), 300))
    write(
        info / "RECORD", f"{info.name}/METADATA,,\n{info.name}/licenses/LICENSE.txt,,\n{info.name}/missing/NOTICE,,\n"
    )
    return info


def write(path: Path, text: str) -> None:
    """Write UTF-8 text, folders included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")

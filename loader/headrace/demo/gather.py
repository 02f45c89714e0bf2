"""Text that this machine has: code, prose and law, as documents.

The same machine gives the same documents in the same order. Identical texts are kept once, whichever source has them
first; what is tiny, binary or not decodable is left out.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import importlib.metadata
import io
import lzma
import re
import site
import sysconfig
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from email import message_from_string
from pathlib import Path
from typing import Final

from headrace.demo.roff import plain_text

SOURCES: Final = ("code", "prose", "legal")
MIN_CHARACTERS: Final = 200
"shorter texts are left out"
MAX_FILE_BYTES: Final = 2 << 20
"larger files are left out"
MAX_SOURCE_BYTES: Final = {"code": 16 << 20, "manual": 4 << 20, "legal": 8 << 20}
"of each kind of file at most so many bytes as stored; past that, the files whose names hash lowest are taken"

_NOT_CODE = frozenset({"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"})
_LICENCE = re.compile(r"(licen[cs]e|copying|notice|copyright)[^/]*$", re.IGNORECASE)
_LICENCE_SUFFIXES = frozenset(
    {"", ".txt", ".md", ".rst", ".apache", ".bsd", ".mit", ".apache2", ".third-party", ".thirdparty"}
)
_MANUAL = re.compile(r"\.[1-8][a-z]*(\.(gz|bz2|xz))?$")
_OPEN: Mapping[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}


@dataclass(frozen=True)
class Machine:
    """Where to look."""

    stdlib: Path
    packages: tuple[str, ...]
    "site-packages folders"
    manuals: tuple[Path, ...]
    "folders that hold man1 to man8"
    licences: tuple[Path, ...]

    @classmethod
    def here(cls) -> Machine:
        """The running Python and the usual places of a Unix system."""
        user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
        return cls(
            stdlib=Path(sysconfig.get_path("stdlib")),
            packages=tuple(dict.fromkeys([*site.getsitepackages(), *user])),
            manuals=(Path("/usr/share/man"), Path("/usr/local/share/man")),
            licences=(Path("/usr/share/common-licenses"),),
        )


@dataclass(frozen=True)
class Raw:
    """One input as stored: `text` says how to read it."""

    source: str
    name: str
    data: bytes
    read: Callable[[bytes], str]

    def text(self) -> str:
        """The text without surrounding blank space; '' where the bytes are no such text."""
        try:
            return self.read(self.data).strip()
        except (UnicodeDecodeError, SyntaxError, OSError, EOFError, lzma.LZMAError):
            return ""


@dataclass(frozen=True)
class Document:
    """One text and where it comes from."""

    name: str
    text: str

    @property
    def digest(self) -> bytes:
        """SHA-256 of the text: what decides everything that is decided by document."""
        return hashlib.sha256(self.text.encode()).digest()


def inputs(machine: Machine) -> list[Raw]:
    """Every input in (source, name) order, bytes as stored. Unreadable files are left out."""
    found = [
        *_read("code", _code_files(machine.stdlib), _python, MAX_SOURCE_BYTES["code"]),
        *_descriptions(machine.packages),
        *_read("prose", _manual_files(machine.manuals), _manual, MAX_SOURCE_BYTES["manual"]),
        *_read("legal", _licence_files(machine), _utf8, MAX_SOURCE_BYTES["legal"]),
    ]
    return sorted(found, key=lambda raw: (SOURCES.index(raw.source), raw.name))


def fingerprint(raws: Iterable[Raw]) -> str:
    """Hex digest over all names and bytes: it changes when any input does."""
    whole = hashlib.sha256()
    for raw in raws:
        whole.update(f"{raw.source}\0{raw.name}\0{len(raw.data)}\0".encode())
        whole.update(raw.data)
    return whole.hexdigest()


def documents(raws: Iterable[Raw]) -> dict[str, list[Document]]:
    """Documents by source, in input order, each text once."""
    by_source: dict[str, list[Document]] = {source: [] for source in SOURCES}
    seen: set[bytes] = set()
    for raw in raws:
        document = Document(raw.name, raw.text())
        if len(document.text) >= MIN_CHARACTERS and "\0" not in document.text and document.digest not in seen:
            seen.add(document.digest)
            by_source[raw.source].append(document)
    return by_source


def _read(source: str, files: Mapping[str, Path], read: Callable[[bytes], str], limit_bytes: int) -> Iterator[Raw]:
    left = limit_bytes
    for name in sorted(files, key=lambda name: hashlib.sha256(name.encode()).digest()):
        try:
            size = files[name].stat().st_size
            if size > MAX_FILE_BYTES or size > left:
                continue
            data = files[name].read_bytes()
        except OSError:
            continue
        left -= size
        yield Raw(source, name, data, _packed(files[name].suffix, read))


def _packed(suffix: str, read: Callable[[bytes], str]) -> Callable[[bytes], str]:
    unpack = _OPEN.get(suffix)
    return read if unpack is None else lambda data: read(unpack(data))


def _python(data: bytes) -> str:
    """Source text in the encoding that the file declares."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding)


def _utf8(data: bytes) -> str:
    return data.decode("utf-8")


def _manual(data: bytes) -> str:
    return plain_text(_utf8(data))


def _description(data: bytes) -> str:
    """The README in a distribution's METADATA: its body, or the older Description header."""
    message = message_from_string(_utf8(data))
    body = str(message.get_payload())
    return body if body.strip() else re.sub(r"\n {7}[ |]", "\n", str(message.get("Description", "")))


def _code_files(stdlib: Path) -> dict[str, Path]:
    files = {path.relative_to(stdlib).as_posix(): path for path in stdlib.rglob("*.py")}
    return {name: path for name, path in files.items() if _NOT_CODE.isdisjoint(Path(name).parts)}


def _manual_files(roots: Iterable[Path]) -> dict[str, Path]:
    return {
        path.relative_to(root).as_posix(): path
        for root in reversed(list(roots))
        for path in root.glob("man[1-8]/*")
        if _MANUAL.search(path.name) and path.is_file() and not path.is_symlink()
    }


def _descriptions(packages: Iterable[str]) -> Iterator[Raw]:
    for name, metadata, _ in _distributions(packages):
        yield Raw("prose", f"{name}/METADATA", metadata.encode("utf-8", "replace"), _description)


def _licence_files(machine: Machine) -> dict[str, Path]:
    files = {
        path.relative_to(root).as_posix(): path
        for root in machine.licences
        for path in root.glob("*")
        if path.is_file()
    }
    for name, _, distribution in _distributions(machine.packages):
        for file in distribution.files or ():
            if _LICENCE.search(file.as_posix()) and file.suffix.lower() in _LICENCE_SUFFIXES:
                files[f"{name}/{file.as_posix()}"] = Path(str(distribution.locate_file(file)))
    return files


def _distributions(packages: Iterable[str]) -> Iterator[tuple[str, str, importlib.metadata.Distribution]]:
    """(name, METADATA, distribution) of every distribution whose metadata can be read."""
    for distribution in importlib.metadata.distributions(path=list(packages)):
        try:
            metadata = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO")
        except (OSError, UnicodeDecodeError):
            continue
        name = message_from_string(metadata or "").get("Name")
        if metadata and name:
            yield str(name).lower(), metadata, distribution

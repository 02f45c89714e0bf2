"""The demo's corpus on disk: tokenised shards of every source, a small held-back set, and the tokenizer.

    <cache>/demo/text-<fingerprint>/{train,validation}-<source>.jsonl
        a line a document: its name and its text
    <cache>/demo/corpus-<fingerprint>/
        corpus.json             what is here: counts, and size and SHA-256 of every file
        tokenizer.json
        shards/train-<source>/000000-0000.arrow …
        shards/validation-<source>/000000-0000.arrow

The shards are what `headrace tokenize` makes of the text. The folder's name is the fingerprint of everything that went
into it. It is built beside its place and moved there whole, under a lock, and checked when it is opened: whatever a
killed or a second run leaves behind, the next one repairs.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from headrace.demo import tokenizer as bpe
from headrace.demo.gather import SOURCES, Document, Machine, documents, fingerprint, inputs
from headrace.demo.locks import locked
from headrace.errors import ConfigError, SourceError
from headrace.tokenize import Options, tokenize
from headrace.tokenize.folder import STATE

FORMAT: Final = 2
"raised when the same text would give different shards"
SHARD_BYTES: Final = 1 << 20
"so that a small source has several shards too"
MIN_DOCUMENTS: Final = 8
"a source with fewer is refused"
HELD_BACK_ONE_IN: Final = 20
MAX_HELD_BACK_CHARACTERS: Final = 64 << 10
"longer documents are never held back: one could be half a source"
NUM_KEPT: Final = 3
"corpora kept, those used last; others are removed"

Say = Callable[[str], None]


@dataclass(frozen=True)
class CorpusSource:
    """What one source holds, separators not counted."""

    name: str
    num_documents: int
    num_tokens: int
    num_held_back: int
    "documents in the validation set, which are in no training shard"


@dataclass(frozen=True)
class Corpus:
    """A complete corpus on disk."""

    folder: Path
    vocab_size: int
    eos_id: int
    sources: tuple[CorpusSource, ...]

    def train(self, source: str) -> Path:
        """The folder with the training shards of `source`."""
        return self.folder / "shards" / f"train-{source}"

    def validation(self, source: str) -> Path:
        """The folder with the held-back documents of `source`."""
        return self.folder / "shards" / f"validation-{source}"

    @property
    def tokenizer(self) -> Path:
        """The tokenizer's file."""
        return self.folder / "tokenizer.json"


def prepare(root: Path, machine: Machine, say: Say = lambda line: None) -> Corpus:
    """The corpus of this machine: opened where it is complete and its inputs are unchanged, else built.

    `root` is made if need be; `say` is told, a line at a time, what is going on. Safe to call from several processes:
    one builds, the others wait for it.

    Raises:
        ConfigError: `root` can't be written.
        SourceError: this machine has too little text for a source.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        (root / "lock").touch()
    except OSError as error:
        raise ConfigError(
            f"the demo keeps its corpus in {root}, which can't be written ({error.strerror}); "
            "set HEADRACE_CACHE to a folder that can"
        ) from error
    say("corpus: looking at the text on this machine")
    raws = inputs(machine)
    key = hashlib.sha256(f"{FORMAT} {bpe.recipe()} {fingerprint(raws)}".encode()).hexdigest()[:16]
    folder = root / f"corpus-{key}"
    with locked(root / "lock", lambda: say("corpus: waiting for another process that is building it")):
        corpus = load(folder)
        if corpus is None:
            say(f"corpus: building {folder}")
            for unfinished in [*root.glob("*.tmp"), folder, _text_of(folder)]:
                _remove(unfinished)
            _build(documents(raws), folder, root, say)
            corpus = load(folder)
            assert corpus is not None, f"{folder} was just built"
        _remove_old(root)
    for source in corpus.sources:
        say(f"corpus: {source.name}: {source.num_documents:,} documents, {source.num_tokens:,} tokens")
    return corpus


def load(folder: Path) -> Corpus | None:
    """The corpus in `folder`, or None where there is none or a file of it is missing or changed."""
    try:
        record = json.loads((folder / "corpus.json").read_text())
        if any(_digest(folder / name) != digest for name, digest in record["files"].items()):
            return None
        sources = tuple(CorpusSource(**source) for source in record["sources"])
        with suppress(OSError):  # where it can't be written, nothing is removed either
            folder.touch()
        return Corpus(folder, record["vocab_size"], record["eos_id"], sources)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def split(found: Sequence[Document]) -> tuple[list[Document], list[Document]]:
    """(training, held back): each document's digest decides, and at least one is held back."""
    ranked = sorted((d for d in found if len(d.text) <= MAX_HELD_BACK_CHARACTERS), key=lambda d: d.digest)
    chosen = {d.digest for d in ranked if int.from_bytes(d.digest[:8], "big") < (1 << 64) // HELD_BACK_ONE_IN}
    chosen |= {d.digest for d in ranked[:1]}
    return [d for d in found if d.digest not in chosen], [d for d in found if d.digest in chosen]


def _build(found: dict[str, list[Document]], folder: Path, root: Path, say: Say) -> None:
    for source in SOURCES:
        if len(found[source]) < MIN_DOCUMENTS:
            raise SourceError(
                f"source {source!r} has {len(found[source])} documents on this machine; the demo needs at least "
                f"{MIN_DOCUMENTS}; install a few Python packages, or documentation, and try again"
            )
    halves = {source: split(found[source]) for source in SOURCES}
    path = _tokenizer({source: train for source, (train, _) in halves.items()}, root, say)
    unfinished = folder.with_suffix(".tmp")
    parts = {f"train-{source}": train for source, (train, _) in halves.items()}
    parts |= {f"validation-{source}": held_back for source, (_, held_back) in halves.items()}
    made = _shards(parts, _text_of(folder), unfinished / "shards", path, say)
    sources = [
        CorpusSource(source, len(train), made[f"train-{source}"], len(held_back))
        for source, (train, held_back) in halves.items()
    ]
    shutil.copyfile(path, unfinished / "tokenizer.json")
    files = [path for path in sorted(unfinished.rglob("*")) if path.is_file()]
    record = {
        "vocab_size": bpe.VOCAB_SIZE,
        "eos_id": bpe.EOS_ID,
        "sources": [asdict(source) for source in sources],
        "files": {path.relative_to(unfinished).as_posix(): _digest(path) for path in files},
    }
    (unfinished / "corpus.json").write_text(json.dumps(record, indent=1))
    unfinished.rename(folder)


def _tokenizer(train: dict[str, list[Document]], root: Path, say: Say) -> Path:
    texts = [text for found in train.values() for text in bpe.sample(found)]
    path = bpe.kept_path(root, texts)
    if path.exists():
        return path
    for old in root.glob("tokenizer-*.json"):
        old.unlink()
    say(f"tokenizer: training {bpe.VOCAB_SIZE:,} entries on {sum(map(len, texts)) / 1e6:.1f} M characters")
    bpe.train(texts, path)
    return path


def _shards(
    parts: Mapping[str, Sequence[Document]], text: Path, output: Path, tokenizer: Path, say: Say
) -> dict[str, int]:
    """Writes the documents of each part down in `text`, and tokenises them; the tokens of each."""
    text.mkdir(parents=True)
    num_characters = 0
    for part, found in parts.items():
        num_characters += sum(len(document.text) for document in found)
        with (text / f"{part}.jsonl").open("w", encoding="utf-8") as file:
            for document in found:
                file.write(json.dumps({"name": document.name, "text": document.text}) + "\n")
    say(f"corpus: tokenising {num_characters / 1e6:.1f} M characters")
    inputs = [f"{part}={text / part}.jsonl" for part in parts]
    options = Options(shard_bytes=SHARD_BYTES, vocab_size=bpe.VOCAB_SIZE)
    summary = tokenize(inputs, str(tokenizer), output, options=options)
    _remove(output / STATE)
    return {part: counts.tokens for part, counts in summary.sources.items()}


def _text_of(folder: Path) -> Path:
    """Where the text of the corpus in `folder` is kept, which its shards name as the origin of their documents."""
    return folder.with_name(folder.name.replace("corpus-", "text-"))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove_old(root: Path) -> None:
    by_use = sorted(root.glob("corpus-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in by_use[NUM_KEPT:]:
        _remove(old)
        _remove(_text_of(old))


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)

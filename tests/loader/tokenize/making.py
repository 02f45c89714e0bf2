"""Text in every kind of file, tokenizers of every library, and what came of them."""

from __future__ import annotations

import base64
import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import sentencepiece
import tokenizers
from headrace.formats.lineage import LINEAGE_KEY, Lineage, Origin
from headrace.tokenize.encoders.patterns import PATTERNS
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

_SAMPLE = (
    "the of and shard token loader reads a row from disk, then it's packed; 'quoted' don't won't x = y + 1\n"
    "def main(argv):\n    return {}  # done\n\nÜber Größe naïve 日本語のテキスト。次の行\n中文 한국어 "
    "Привет мир 🙂 <|endoftext|> 12345 3.14\r\n\t\ttabs"
)
WORDS = _SAMPLE.split(" ")
"pieces of text of many alphabets, with punctuation and spaces of all kinds"


def text(number: int, length: int = 40) -> str:
    """A document: the same for the same number."""
    state = number * 2654435761 % 2**32 or 1
    words = []
    for _ in range(length):
        state = (state * 1103515245 + 12345) % 2**31
        words.append(WORDS[(state >> 8) % len(WORDS)])
    return f"{number}: " + " ".join(words)


def write_lines(path: Path, texts: Sequence[str | None]) -> Path:
    """JSON lines; compressed by the ending of the name."""
    lines = "".join(json.dumps({"id": n, "text": one}, ensure_ascii=n % 2 == 0) + "\n" for n, one in enumerate(texts))
    content = lines.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(compressed(content, path.suffix))
    return path


def compressed(content: bytes, suffix: str) -> bytes:
    """One frame of what `suffix` says; the content as it is for others."""
    if suffix == ".gz":
        return gzip.compress(content, mtime=0)
    return pa.compress(content, "zstd", asbytes=True) if suffix == ".zst" else content


def train_tokenizer(path: Path, kind: str = "gpt2", vocab_size: int = 400) -> Path:
    """A byte-level BPE of Hugging Face's library, splitting as `kind` does."""
    made = tokenizers.Tokenizer(models.BPE())
    if kind == "gpt2":
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        split = pre_tokenizers.Split(tokenizers.Regex(PATTERNS[kind]), "isolated")
        made.pre_tokenizer = pre_tokenizers.Sequence(
            [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
        )
    if kind == "qwen2":
        made.normalizer = normalizers.NFC()
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    made.train_from_iterator([text(n) for n in range(60)], trainer)
    path.parent.mkdir(parents=True, exist_ok=True)
    made.save(str(path))
    return path


def train_sentences(path: Path) -> Path:
    """A SentencePiece model with byte fallback."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([text(n).replace("\n", " ") for n in range(200)]),
        model_writer=model,
        vocab_size=500,
        model_type="bpe",
        byte_fallback=True,
        character_coverage=0.99,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=False,
        minloglevel=2,
    )
    path.write_bytes(model.getvalue())
    return path


def write_ranks(path: Path) -> Path:
    """A file of tiktoken ranks: all bytes, and some words."""
    words = sorted({word.encode() for word in " ".join(WORDS).split() if len(word.encode()) == 2})
    tokens = [bytes([n]) for n in range(256)] + words
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens)))
    return path


def shards(folder: Path) -> list[Path]:
    """Every shard of a folder, in order."""
    return sorted(path for path in folder.rglob("*.arrow") if "_tokenize" not in path.parts)


def rows(folder: Path) -> list[tuple[list[int], Origin]]:
    """Every document's ids with its origin, in order; rows without a document are left out."""
    found = []
    for shard in shards(folder):
        with pa.OSFile(str(shard), "rb") as file:
            table = pa.ipc.open_file(file).read_all()
        lineage = Lineage.decode(table.schema.metadata[LINEAGE_KEY.encode()].decode())
        for row, ids in enumerate(table.column("tokens").to_pylist()):
            origin = lineage.origin(row)
            assert origin is not None
            if ids:
                found.append((ids, origin))
        assert lineage.origin(table.num_rows) is None
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder but for the lock, which names a process."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != "lock"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}

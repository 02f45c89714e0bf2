"""Three libraries, one behaviour: plain text, no separators, the ids of the bare library, and the same every time."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import tiktoken
import tokenizers
from headrace import ConfigError
from headrace.tokenize.encoders import Encoder, find_tokenizer, open_encoder
from headrace.tokenize.pieces import encode_documents
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.loader.tokenize.making import WORDS, text, train_tokenizer

TEXTS = [text(n) for n in range(30)] + ["<|endoftext|>", "a<|endoftext|>b", " ", "\n", "\0", "x" * 5000]
KINDS = ("tokenizer", "sentences", "ranks")


@pytest.fixture
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return open_encoder(find_tokenizer(request.getfixturevalue(request.param)), special_tokens="text", threads=1)


def per_text(encoder: Encoder, texts: list[str]) -> list[list[int]]:
    ids, lengths = encoder.encode(texts)
    assert (ids.dtype, lengths.dtype) == (np.uint32, np.int64)
    return [part.tolist() for part in np.split(ids, np.cumsum(lengths)[:-1])]


@pytest.mark.parametrize("encoder", KINDS, indirect=True)
def test_a_text_has_the_same_ids_alone_and_in_a_batch_and_comes_back(encoder: Encoder) -> None:
    together = per_text(encoder, TEXTS)
    assert together == [per_text(encoder, [one])[0] for one in TEXTS]
    for ids, one in zip(together, TEXTS, strict=True):
        assert max(ids, default=0) < encoder.vocab_size
        assert encoder.decode(ids) == one


@pytest.mark.parametrize("name", KINDS)
def test_threads_change_nothing(name: str, request: pytest.FixtureRequest) -> None:
    found = find_tokenizer(request.getfixturevalue(name))
    encoders = [open_encoder(found, special_tokens="text", threads=threads) for threads in (1, 3)]
    assert per_text(encoders[0], TEXTS) == per_text(encoders[1], TEXTS)


def test_the_ids_are_those_of_the_bare_libraries(tokenizer: str, sentences: str, ranks: str) -> None:
    bare = tokenizers.Tokenizer.from_file(tokenizer)
    bare.encode_special_tokens = True
    made = per_text(open_encoder(find_tokenizer(tokenizer), special_tokens="text", threads=1), TEXTS)
    assert made == [bare.encode(one, add_special_tokens=False).ids for one in TEXTS]
    pieces = sentencepiece.SentencePieceProcessor(model_file=sentences)
    made = per_text(open_encoder(find_tokenizer(sentences), special_tokens="text", threads=1), TEXTS)
    assert made == [pieces.encode(one) for one in TEXTS]
    found = find_tokenizer(ranks)
    from tiktoken.load import load_tiktoken_bpe

    assert found.pattern is not None
    whole = tiktoken.Encoding("x", pat_str=found.pattern, mergeable_ranks=load_tiktoken_bpe(ranks), special_tokens={})
    made = per_text(open_encoder(found, special_tokens="text", threads=1), TEXTS)
    assert made == [whole.encode_ordinary(one) for one in TEXTS]


def test_special_tokens_are_ids_where_that_is_asked_for(tokenizer: str, sentences: str, ranks: str) -> None:
    special = tokenizers.Tokenizer.from_file(tokenizer).token_to_id("<|endoftext|>")
    encoders = [open_encoder(find_tokenizer(tokenizer), special_tokens=how, threads=1) for how in ("text", "ids")]  # type: ignore[arg-type]
    assert special not in per_text(encoders[0], ["a<|endoftext|>b"])[0]
    assert special in per_text(encoders[1], ["a<|endoftext|>b"])[0]
    for name, said in ((sentences, "never finds"), (ranks, "names none")):
        with pytest.raises(ConfigError, match=rf"--special-tokens is ids, and --tokenizer .* {said}"):
            open_encoder(find_tokenizer(name), special_tokens="ids", threads=1)


def test_what_a_tokenizer_file_says_of_length_padding_and_separators_is_left_aside(
    tokenizer: str, tmp_path: Path
) -> None:
    bare = tokenizers.Tokenizer.from_file(tokenizer)
    bare.enable_truncation(4)
    bare.enable_padding(length=50)
    bare.post_processor = tokenizers.processors.TemplateProcessing(
        single="<|endoftext|> $A <|endoftext|>", special_tokens=[("<|endoftext|>", 0)]
    )
    bare.save(str(tmp_path / "other.json"))
    made, plain = (
        per_text(open_encoder(find_tokenizer(name), special_tokens="text", threads=1), TEXTS)
        for name in (str(tmp_path / "other.json"), tokenizer)
    )
    assert made == plain


def test_a_tokenizer_that_is_not_the_same_every_time_is_refused(tokenizer: str, tmp_path: Path) -> None:
    record = json.loads(Path(tokenizer).read_text())
    record["model"]["dropout"] = 0.1
    (tmp_path / "dropout.json").write_text(json.dumps(record))
    with pytest.raises(ConfigError, match=r"has dropout 0\.1, so its ids differ every time; set it to null"):
        open_encoder(find_tokenizer(str(tmp_path / "dropout.json")), special_tokens="text", threads=1)


def test_what_is_no_tokenizer_is_refused(tmp_path: Path, tokenizer: str, ranks: str) -> None:
    (tmp_path / "bad.json").write_text("{}")
    (tmp_path / "bad.bin").write_bytes(b"\x00\x01")
    (tmp_path / "bad.model").write_bytes(b"\n\x01\x02")
    (tmp_path / "mine.tiktoken").write_bytes(Path(ranks).read_bytes())
    for name, said in (
        ("bad.json", "can't be read as a tokenizer.json"),
        ("bad.bin", r"begins with b'\\x00\\x01'; it must be a tokenizer.json, a SentencePiece model, or"),
        ("bad.model", "can't be read as a SentencePiece model"),
        ("bad.jsn", r"no such file, and no encoding .* did you mean .*bad\.json"),
        ("mine.tiktoken", "does not hold how text is split: give --pattern, one of gpt2, "),
        ("", "is a folder without tokenizer.json or"),
    ):
        with pytest.raises(ConfigError, match=said):
            open_encoder(find_tokenizer(str(tmp_path / name)), special_tokens="text", threads=1)
    with pytest.raises(ConfigError, match=r"no encoding of tiktoken of that name; did you mean cl100k_base\?"):
        find_tokenizer("cl100k_bse")
    mine = find_tokenizer(str(tmp_path / "mine.tiktoken"), pattern="cl100k_base")
    assert mine.fingerprint == find_tokenizer(ranks).fingerprint
    assert find_tokenizer(str(Path(tokenizer).parent)).fingerprint == find_tokenizer(tokenizer).fingerprint


@pytest.mark.parametrize("package", ["tokenizers", "tiktoken", "sentencepiece"])
def test_a_missing_package_is_named_with_what_installs_it(
    package: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixture = {"tokenizers": "tokenizer", "tiktoken": "ranks", "sentencepiece": "sentences"}[package]
    found = find_tokenizer(request.getfixturevalue(fixture))
    monkeypatch.setitem(sys.modules, package, None)
    for module in ("ranks", "sentences"):
        monkeypatch.delitem(sys.modules, f"headrace.tokenize.encoders.{module}", raising=False)
    with pytest.raises(ConfigError, match=rf"needs the package '{package}'.* pip install 'headrace\[tokenize\]'"):
        open_encoder(found, special_tokens="text", threads=1)


ALPHABET = st.one_of(
    st.sampled_from(
        [*WORDS, " ", "  ", "\n", "\n\n", "\r\n", "\t", "'s", "'LL", "1", "1234", "…", "\x85", "\u2028", "e\u0301"]
    ),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=3),
)


@pytest.fixture(scope="module", params=["gpt2", "llama3", "qwen2", "o200k_base", "ranks"])
def cutting(request: pytest.FixtureRequest, models_folder: Path) -> Encoder:
    if request.param == "ranks":
        return open_encoder(find_tokenizer(request.getfixturevalue("ranks")), special_tokens="text", threads=1)
    path = train_tokenizer(models_folder / f"{request.param}.json", request.param)
    return open_encoder(find_tokenizer(str(path)), special_tokens="text", threads=1)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ALPHABET, max_size=40).map("".join), st.integers(1, 9))
def test_p08_a_long_document_that_is_cut_has_the_ids_of_the_whole(cutting: Encoder, long: str, size: int) -> None:
    """P08: pieces are cut only where no id can change, for every known way to split."""
    ids, lengths = encode_documents(cutting, [long, "x"], None, group_characters=16, piece_characters=size)
    assert np.split(ids, np.cumsum(lengths)[:-1])[0].tolist() == per_text(cutting, [long])[0]


def test_p08_the_known_tokenizers_are_cut_and_others_never(tokenizer: str, sentences: str, tmp_path: Path) -> None:
    """P08: prose is cut into many pieces; a pipeline with a step that may look across a cut is not."""
    prose = "Once there was a loader\nthat read a row at a time\n" * 100
    known = open_encoder(find_tokenizer(tokenizer), special_tokens="text", threads=1)
    assert len(known.places(prose, 100) or []) > 30
    assert open_encoder(find_tokenizer(sentences), special_tokens="text", threads=1).places(prose, 100) is None
    record = json.loads(Path(tokenizer).read_text())
    for key, value in (
        ("normalizer", {"type": "Replace", "pattern": {"String": " "}, "content": "_"}),
        ("pre_tokenizer", None),
        ("pre_tokenizer", {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}),
    ):
        (tmp_path / "other.json").write_text(json.dumps({**record, key: value}))
        other = open_encoder(find_tokenizer(str(tmp_path / "other.json")), special_tokens="text", threads=1)
        assert other.places(prose, 100) is None


def test_split_long_cuts_at_line_feeds_then_spaces_then_anywhere(sentences: str) -> None:
    encoder = open_encoder(find_tokenizer(sentences), special_tokens="text", threads=1)
    for filler, pieces in (
        ("the of and\n", ["the of and\n" * 93] * 2),
        ("the of and ", ["the of and " * 93] * 2),
        ("x", ["x" * 1024] * 2),
    ):
        whole = "".join(pieces) + filler
        ids, lengths = encode_documents(encoder, [whole, "y"], 1024, group_characters=1 << 16)
        expected = [token for part in per_text(encoder, [*pieces, filler]) for token in part]
        assert ids[: lengths[0]].tolist() == expected
        assert encoder.decode(ids[: lengths[0]].tolist()) == whole

"""From a step back to the rows of the original text, and on with shards that were made while a run was under way."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tokenizers
import torch
from headrace import ShardError, Source, cli
from headrace.formats.lineage import Lineage, Origin, joined
from headrace.manifest import read_manifest
from headrace.origins import Origins
from headrace.tokenize import Options, tokenize
from hypothesis import given
from hypothesis import strategies as st

from tests.loader.corpora import open_loader, take_step, write_corpus
from tests.loader.tokenize.making import rows, shards, text, train_tokenizer, write_lines

SMALL = Options(shard_bytes=8_000)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(train_tokenizer(tmp_path_factory.mktemp("models") / "tokenizer.json"))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50), st.integers(1, 9)), max_size=20))
def test_lineage_names_the_origin_of_every_row(runs: list[tuple[int, int, int]]) -> None:
    merged: list[tuple[int, int, int]] = []
    joined(merged, runs)
    names = ("a", "ü/b", "s3://c", "d")
    lineage = Lineage.decode(Lineage(names, tuple(merged)).encode())
    expected = [Origin(names[source], first + n) for source, first, count in runs for n in range(count)]
    assert [lineage.origin(row) for row in range(len(expected))] == expected
    assert lineage.origin(len(expected)) is None and lineage.origin(-1) is None


@pytest.mark.parametrize("damage", ["", "{}", '{"inputs": [], "runs": [[0, 0, 1]]}', '{"inputs": ["a"], "runs": [1]}'])
def test_damaged_lineage_is_refused(damage: str) -> None:
    with pytest.raises(ValueError, match=r"lineage|input|Expecting"):
        Lineage.decode(damage)


def test_a_step_leads_back_to_the_original_rows(
    tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts: dict[str, list[str | None]] = {
        name: [text(n + 1000 * k) if n % 5 else None for n in range(80)] for k, name in enumerate(("web", "code"))
    }
    write_lines(tmp_path / "raw" / "web.jsonl.gz", texts["web"])
    write_lines(tmp_path / "raw" / "code.jsonl", texts["code"])
    inputs = [f"web={tmp_path}/raw/web.jsonl.gz", f"code={tmp_path}/raw/code.jsonl"]
    tokenize(inputs, tokenizer, tmp_path / "out", options=SMALL, workers=2)
    bare = tokenizers.Tokenizer.from_file(tokenizer)
    bare.encode_special_tokens = True
    with open_loader([Source(name, str(tmp_path / "out" / name)) for name in texts], seq_len=64, prefetch=0) as loader:
        ids = [row for batch in take_step(loader) for row in batch.input_ids.tolist()]
        torch.save(loader.state_dict(), tmp_path / "last.pt")
    sources = [f"{name}={tmp_path}/out/{name}" for name in texts]
    words = ["trace", *sources, "--checkpoint", str(tmp_path / "last.pt"), "--step", "0"]
    assert cli.main([*words, "--json"]) == 0
    documents = json.loads(capsys.readouterr().out)["documents"]
    made: dict[int, list[int]] = {}
    for one in documents:
        original = texts[one["source"]][one["origin"]["row"]]
        assert one["origin"]["input"].startswith(f"{tmp_path}/raw/{one['source']}.jsonl")
        assert original is not None
        stretch = bare.encode(original, add_special_tokens=False).ids[one["start"] : one["end"]]
        made.setdefault(one["slot"], []).extend(stretch)
    assert [[token for token in row if token != 0] for row in ids] == [made[slot] for slot in sorted(made)], (
        "the original rows, encoded, are what the step held"
    )
    assert cli.main(words) == 0
    assert f"        from row {documents[0]['origin']['row']:,} of {tmp_path}/raw/" in capsys.readouterr().out


def test_shards_of_others_have_no_origin_and_damaged_ones_are_told(tokenizer: str, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "plain", {"web": [[[1, 2, 3]]]}, layouts=("headrace",))
    write_corpus(tmp_path / "other", {"web": [[[1, 2, 3]]]}, layouts=("parquet",))
    for root, name in ((corpus.root, "00000.arrow"), (tmp_path / "other", "00000.parquet")):
        assert Origins([read_manifest("web", root / "web")]).of("web", name, 0) is None
    with pytest.raises(ShardError, match=r"gone\.arrow"):
        Origins([read_manifest("web", corpus.root / "web")]).of("web", "gone.arrow", 0)


def test_training_starts_on_the_first_shards_and_a_resume_takes_up_the_rest(tokenizer: str, tmp_path: Path) -> None:
    """Start before it is done: every document is delivered once, those of later shards after the resume."""
    write_lines(tmp_path / "raw" / "a.jsonl.gz", [text(n) for n in range(600)])
    write_lines(tmp_path / "raw" / "b.jsonl.gz", [text(n) for n in range(600, 1200)])
    out = tmp_path / "out"
    command = [sys.executable, "-m", "headrace.cli", "tokenize", str(tmp_path / "raw"), "--tokenizer", tokenizer]
    making = subprocess.Popen([*command, "-o", str(out), "--shard-size", "8kB", "--workers", "1"])
    try:
        deadline = time.monotonic() + 300
        while len(shards(out)) < 2 and making.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        making.send_signal(signal.SIGSTOP)  # which shows no more shards while the run trains on these
        source = Source("web", str(out), max_epochs=1)
        options = {"seq_len": 32, "global_batch_size": 4, "micro_batch_size": 4, "eos_id": 0, "prefetch": 0}
        with open_loader([source], **options) as loader:
            early = len(loader.manifests[0].shards)
            steps = [
                token for _ in range(3) for batch in take_step(loader) for token in batch.input_ids.flatten().tolist()
            ]
            state = loader.state_dict()
        making.send_signal(signal.SIGCONT)
        assert making.wait(300) == 0
    finally:
        making.kill()
        making.wait()
    assert json.loads((out / "manifest.json").read_text())["complete"]
    assert early < len(shards(out))
    with open_loader([source], on_data_change="append", **options) as loader:
        loader.load_state_dict(state)
        assert len(loader.manifests[0].shards) == len(shards(out))
        for batch in loader:
            steps += batch.input_ids.flatten().tolist()
    expected = sorted(token for ids, _ in rows(out) for token in ids)
    assert sorted(token for token in steps if token != 0) == expected, "each token of each document once"

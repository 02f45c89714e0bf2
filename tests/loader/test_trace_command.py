"""`headrace trace`: what the command says is what the loader delivered."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from headrace import cli
from headrace.mix import Revision
from headrace.recorded import stitch
from headrace.telemetry.port import Activated
from tokenizers import Tokenizer, decoders, models

from tests.loader.corpora import Corpus, numbered, open_loader, random_corpus, take_step, write_corpus

WEIGHTS = {"web": 0.6, "code": 0.4}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return random_corpus(tmp_path_factory.mktemp("trace"), {"web": 60, "code": 25}, mean=12)


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any], list[Any]]:
    """(checkpoint after step 12, traces of steps 0 to 19, what holds one document)."""
    with open_loader(corpus.sources(**WEIGHTS), prefetch=0, packing="best_fit", bos_id=1) as loader:
        for step in range(12):
            if step == 5:
                loader.set_weights({"web": 1, "code": 3}, ramp_steps=2)
            take_step(loader)
        file = tmp_path_factory.mktemp("run") / "last.pt"
        torch.save({"model": torch.ones(2), "train_state": {"loader": loader.state_dict()}}, file)
        steps = [[list(piece) for piece in loader.trace(step)] for step in range(20)]
        return file, steps, [list(found) for found in loader.find("web/00001.arrow", 3, until_step=30)]


def words(corpus: Corpus, *more: str) -> list[str]:
    """The sources in another order than the run had them, then `more`."""
    return ["trace", str(corpus.root / "code"), f"web={corpus.root / 'web'}", *more]


def said(capsys: pytest.CaptureFixture[str], words: list[str]) -> str:
    assert cli.main(words) == 0
    return capsys.readouterr().out


def test_a_step_past_or_to_come_from_a_checkpoint(
    corpus: Corpus, run: tuple[Path, list[Any], list[Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    file, steps, _ = run
    for step in (0, 6, 11, 19):
        given = words(corpus, "--checkpoint", str(file), "--step", str(step), "--json")
        printed = json.loads(said(capsys, given))
        assert printed["step"] == step
        keys = ("slot", "source", "path", "row", "start", "end")
        assert [[piece[key] for key in keys] for piece in printed["documents"]] == steps[step]
    text = said(capsys, words(corpus, "--checkpoint", str(file), "--step", "6"))
    assert text.startswith(f"step 6: {len(steps[6])} stretches of documents in 8 sequences\n")
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) == len(steps[6]) + 2


def test_the_steps_of_a_document(
    corpus: Corpus, run: tuple[Path, list[Any], list[Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    file, _, found = run
    given = words(corpus, "--checkpoint", str(file), "--document", "web/00001.arrow:3", "--until-step", "30")
    printed = json.loads(said(capsys, [*given, "--json"]))
    assert [list(delivery.values()) for delivery in printed["deliveries"]] == found != []
    assert len(said(capsys, given).splitlines()) == len(found) + 2
    given = words(corpus, "--checkpoint", str(file), "--document", "00001.arrow:3", "--source", "web")
    first = found[-1][0]
    later = json.loads(said(capsys, [*given, "--first-step", str(first), "--json"]))["deliveries"]
    assert later[0]["step"] == first


def test_a_run_from_its_options_alone(corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a checkpoint: in words, and with the sources in a file."""
    with open_loader(corpus.sources(**WEIGHTS), seed=7) as loader:
        expected = [piece._asdict() for piece in loader.trace(3)]
    run = {"seed": 7, "seq_len": 16, "global_batch_size": 8}
    options = [word for name, value in run.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    sources = [f"{corpus.root / name}:{weight}" for name, weight in WEIGHTS.items()]
    given = ["trace", *sources, *options, "--eos-id", "0", "--step", "3", "--json"]
    assert json.loads(said(capsys, given))["documents"] == expected
    listed = [{"name": n, "path": str(corpus.root / n), "weight": w} for n, w in WEIGHTS.items()]
    (tmp_path / "run.json").write_text(json.dumps({**run, "eos_id": 0, "sources": listed}))
    given = ["trace", "--config", str(tmp_path / "run.json"), "--step", "3", "--json"]
    assert json.loads(said(capsys, given))["documents"] == expected


def test_what_was_left_out_then_is_left_out_of_the_trace(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """exclude and max_epochs of the run come from the file of its options."""
    listed = {"name": "web", "path": str(corpus.root / "web"), "exclude": ["00000.arrow"]}
    (tmp_path / "run.json").write_text(json.dumps({"sources": [listed]}))
    from headrace import Source

    with open_loader([Source(**listed)], prefetch=0) as loader:
        take_step(loader)
        (tmp_path / "state.json").write_text(json.dumps(loader.state_dict()))
        expected = [piece._asdict() for piece in loader.trace(0)]
    given = [
        "trace",
        "--config",
        str(tmp_path / "run.json"),
        "--checkpoint",
        str(tmp_path / "state.json"),
        "--step",
        "0",
    ]
    assert json.loads(said(capsys, [*given, "--json"]))["documents"] == expected
    assert cli.main(["trace", str(corpus.root / "web"), *given[3:]]) == 1
    assert "exclude" in capsys.readouterr().err


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """Word `w<id>` for each id below 1,000."""
    words = Tokenizer(models.WordLevel({f"w{number}": number for number in range(1000)}, unk_token="w0"))
    words.decoder = decoders.Metaspace()
    words.save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


def test_text_of_each_stretch(tmp_path: Path, tokenizer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = write_corpus(tmp_path / "data", {"web": [[*numbered([6, 300]), None, *numbered([5], 400)]]})
    options = ["--seed", "1", "--seq-len", "64", "--global-batch-size", "4", "--eos-id", "0", "--step", "0"]
    given = ["trace", str(corpus.root / "web"), *options, "--decode", str(tokenizer)]
    documents = json.loads(said(capsys, [*given, "--json"]))["documents"]
    lengths = {0: range(1, 7), 1: range(7, 307), 3: range(400, 405)}
    assert {piece["row"] for piece in documents} >= {1}
    for piece in documents:
        tokens = lengths[piece["row"]][piece["start"] : piece["end"]]
        assert piece["text"].replace(" ", "") == "".join(f"w{token}" for token in tokens)
    text = said(capsys, given)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" in text


@pytest.mark.parametrize(
    ("more", "status", "error"),
    [
        ([], 2, "give either --step N or --document PATH:ROW"),
        (["--step", "1", "--document", "a:1"], 2, "give either --step N or --document PATH:ROW"),
        (["--step", "1", "--checkpoint", "a", "--job", "b"], 2, "give either --checkpoint or --job"),
        (["--step", "1"], 2, "no seq_len; it has no default"),
        (["--document", "a.arrow"], 2, "--document is 'a.arrow'; it must be PATH:ROW"),
        (["--step", "1", "--checkpoint", "no.pt"], 1, "checkpoint no.pt does not exist"),
        (["--step", "1", "--config", "no.json"], 2, "--config no.json can't be read"),
        (["--step", "1", "--decode", "no.json"], 2, "--decode is 'no.json', which can't be read as a tokenizer"),
        (["--step", "-1"], 1, "step is -1"),
        (["--document", "no.arrow:1"], 2, "path is 'no.arrow'; there is no such shard in code, web"),
    ],
)
def test_misuse(corpus: Corpus, more: list[str], status: int, error: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = (
        [] if "seq_len" in error else ["--seed", "1", "--seq-len", "16", "--global-batch-size", "8", "--eos-id", "none"]
    )
    assert cli.main([*words(corpus), *run, *more]) == status
    assert f"headrace trace: {error}" in capsys.readouterr().err


def test_no_sources_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["trace", "--step", "1"]) == 2
    assert "no sources; give where the run's shards are" in capsys.readouterr().err


def test_a_wrong_id_is_refused(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words(corpus, "--eos-id", "x"))
    assert ended.value.code == 2
    assert "it is 'x'; it must be a token id, or none" in capsys.readouterr().err


def test_a_missing_tokenizers_package_is_said_with_what_to_do(
    corpus: Corpus, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert cli.main(words(corpus, "--step", "1", "--decode", "t.json")) == 2
    assert "pip install 'headrace[decode]'" in capsys.readouterr().err


def activated(revision: str, step: int, lineage: str, web: int = 500_000) -> Activated:
    return Activated(revision, step, {"web": web, "code": 1_000_000 - web}, 0, lineage)


def test_a_log_from_the_record_of_several_lineages() -> None:
    """Each holds up to where the next began; what was replayed is there once."""
    recorded = [
        activated("config:1", 0, "a"),
        activated("service:2", 50, "a", 400_000),
        activated("service:2", 50, "b", 400_000),
        activated("service:3", 80, "a", 300_000),
        activated("service:4", 80, "b", 200_000),
        activated("service:5", 80, "c", 100_000),
    ]

    def log(*lineages: str) -> list[tuple[str, int]]:
        revisions = stitch(recorded, lineages)
        assert all(isinstance(revision, Revision) for revision in revisions)
        return [(revision.id, revision.from_step) for revision in revisions]

    assert log("a") == [("config:1", 0), ("service:2", 50), ("service:3", 80)]
    assert log("a", "b") == [("config:1", 0), ("service:2", 50), ("service:4", 80)]
    assert log("a", "c") == [("config:1", 0), ("service:2", 50), ("service:5", 80)]

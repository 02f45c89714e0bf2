"""`headrace bench` measures what it says, on any format, and counts what packing pads and cuts."""

from __future__ import annotations

import json
import mmap
from dataclasses import asdict, fields, replace
from pathlib import Path

import numpy as np
import pytest
from headrace import ConfigError, HeadraceError, Source, cli
from headrace.bench import pace
from headrace.bench.child import start_cold
from headrace.bench.fit import measure_fit
from headrace.bench.measure import _first_pass, measure_rates
from headrace.bench.memory import memory_now
from headrace.bench.plain import PlainRead
from headrace.bench.report import Figures, as_text
from headrace.bench.workload import Workload
from headrace.reader import SourceReader

from tests.loader.corpora import Corpus, numbered, open_loader, random_corpus, write_shard

MIB = 1 << 20


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return random_corpus(tmp_path_factory.mktemp("bench"), {"web": 300, "code": 200}, mean=80)


def workload(corpus: Corpus, **options: object) -> Workload:
    return Workload(tuple(corpus.sources(web=0.6, code=0.4)), seq_len=64, micro_batch=2, micro_batches=2, **options)  # type: ignore[arg-type]


def test_every_figure(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    """The command as a whole, cold process included, in JSON."""
    words = [f"{corpus.root / 'web'}:0.6", f"{corpus.root / 'code'}:0.4", "--seq-len", "64", "--micro-batch", "2"]
    options = ["--seconds", "0.02", "--rounds", "2", "--eos-id", "0", "--packing", "best_fit", "--step-time", "0.008"]
    assert cli.main(["bench", *words, *options, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert list(printed) == [field.name for field in fields(Figures)]
    figures = Figures(**printed)
    assert figures.pace_tokens_per_s == pytest.approx(2 * 4 * 64 / 0.008)
    assert figures.ratio is not None
    assert figures.plain_read_tokens_per_s is not None
    assert figures.ratio > 0
    assert 0 <= figures.wait_share <= 1
    assert figures.resume_ratio == pytest.approx(figures.resume_s / figures.first_batch_s)
    assert figures.tokens_in_sources == corpus.num_tokens("web") + corpus.num_tokens("code")
    assert 0 < figures.padded_share < 1
    assert figures.cut_share is not None
    assert 1 < figures.peak_memory_mib < 1000
    assert 0 < figures.cold_first_batch_s < 60


def test_the_text_fits_a_terminal(corpus: Corpus) -> None:
    numbers = {field.name: 0.5 for field in fields(Figures)}
    figures = Figures(**numbers | {"plain_read": "decoded", "state_bytes": 700, "tokens_in_sources": 10**14})  # type: ignore[arg-type]
    assert max(map(len, as_text(figures).splitlines())) <= 80
    assert "pyarrow alone" in as_text(figures)
    elsewhere = Figures(**asdict(figures) | {"plain_read_tokens_per_s": None, "ratio": None, "cut_share": None})
    assert "the files are not on this machine" in as_text(elsewhere)


@pytest.mark.parametrize(("option", "value"), [("--seconds", "0"), ("--rounds", "-1"), ("--step-time", "nan")])
def test_lengths_that_measure_nothing_are_refused(
    corpus: Corpus, option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", str(corpus.root / "web"), option, value]) == 2
    assert f"{option} is {float(value):g}" in capsys.readouterr().err.replace(".0", "")


def test_what_packing_pads_is_what_batches_hold(corpus: Corpus) -> None:
    """The share from the manifest alone is that of a whole epoch."""
    fit = measure_fit(workload(corpus, eos_id=0, packing="best_fit"))
    real = places = 0
    with open_loader(
        corpus.sources(), seq_len=64, packing="best_fit", epochs=1, outputs=("input_ids", "labels")
    ) as loader:
        for batch in loader:
            rows = batch.source >= 0
            # Labels are ignored at padding and at each document's last place, its separator.
            assert batch.labels is not None
            real += int((batch.labels[rows] >= 0).sum())
            places += int(rows.sum()) * 64
    documents = sum(len(known) for known in corpus.documents.values())
    assert fit.padded_share == pytest.approx(1 - (real + documents) / places)
    assert fit.cut_share is not None
    assert fit.cut_share < 0.05
    assert measure_fit(workload(corpus)).cut_share is None


def test_documents_that_had_to_be_cut_are_counted(tmp_path: Path) -> None:
    """Documents of just over half a sequence: two never share one, so some fit nowhere whole."""
    write_shard(tmp_path / "a", numbered([33] * 400), "headrace", np.uint16)
    fit = measure_fit(Workload((Source("a", str(tmp_path)),), seq_len=64, packing="best_fit"))
    assert fit.cut_share is not None
    assert 0.4 < fit.cut_share < 0.6
    assert fit.padded_share < 0.02


def test_a_plain_read_counts_every_token(tmp_path: Path) -> None:
    documents = numbered([50, 70, 90, 30])
    write_shard(tmp_path / "parquet" / "a", documents, "parquet", np.uint16, batch_rows=2)
    write_shard(tmp_path / "arrow" / "a", documents, "headrace", np.uint16)
    sources = [Source("parquet", str(tmp_path / "parquet"), 1), Source("arrow", str(tmp_path / "arrow"), 0)]
    with open_loader(sources) as loader:
        decoded = PlainRead(loader.manifests, [1_000_000, 0], seq_len=120, micro_batch=2)
        assert decoded.has_parquet
        counts = [decoded() for _ in range(10)]
        assert sum(counts) % 120 == 0  # whole row groups, of 120 tokens each
        assert sum(counts) >= 10 * 240
        mapped = PlainRead(loader.manifests[1:], [1_000_000], seq_len=16, micro_batch=2)
        assert not mapped.has_parquet
        assert mapped() == 32
        with pytest.raises(ConfigError, match="seq_len is 5000; source 'arrow' has no file that long"):
            PlainRead(loader.manifests[1:], [1_000_000], seq_len=5000, micro_batch=2)


def test_decoded_data_is_measured_while_it_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over one pass where the cache holds it all, so that every round decodes every block once; else as it comes."""
    write_shard(tmp_path / "web" / "a", numbered([40] * 300), "parquet", np.uint16, batch_rows=10)
    opened: list[int] = []
    read = SourceReader.open_block
    monkeypatch.setattr(SourceReader, "open_block", lambda self, block: opened.append(block) or read(self, block))
    asked = Workload((Source("web", str(tmp_path / "web")),), seq_len=40, micro_batch=2, micro_batches=2)
    with asked.loader() as loader:
        rates = measure_rates(loader, asked, seconds=0.01, rounds=3)
        assert rates.plain_read == "decoded"
        assert _first_pass(loader, asked) == 12_000
        assert _first_pass(loader, replace(asked, cache_bytes=20_000)) is None
    for block in range(30):
        assert 3 <= opened.count(block) <= 6  # three rounds, and what a loader prepares for its next pass


def test_a_workload_survives_the_way_to_another_process(corpus: Corpus) -> None:
    asked = workload(corpus, eos_id=0, outputs=("input_ids",), cache_bytes=MIB)
    assert Workload.from_json(asked.to_json()) == asked


def test_a_cold_process_that_fails_says_why(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\ncat > /dev/null\necho Traceback >&2\necho 'OSError: no memory left' >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    with pytest.raises(HeadraceError, match="a fresh process could not load: OSError: no memory left"):
        start_cold(workload(corpus).to_json(), 0.01)


def test_memory_of_its_own_is_told_from_mapped_pages(tmp_path: Path) -> None:
    before = memory_now()
    # New pages whatever the process has freed before, which malloc would use again.
    pages = mmap.mmap(-1, 32 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    held = np.frombuffer(pages, np.uint8)
    held.fill(1)
    grown = memory_now()
    assert 30 * MIB < grown.own - before.own < 40 * MIB
    np.save(tmp_path / "mapped.npy", held)
    mapped = np.load(tmp_path / "mapped.npy", mmap_mode="r")
    assert int(mapped.sum()) == 32 * MIB
    assert memory_now().mapped - grown.mapped > 30 * MIB


def test_waiting_is_measured(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loader that takes three times as long as the loop rests has it wait most of its time; a quick one does not."""
    with open_loader(corpus.sources(), prefetch=0) as loader:
        take = type(loader).__next__

        def slow(self: object) -> object:
            pace.time.sleep(0.03)
            return take(loader)

        monkeypatch.setattr(type(loader), "__next__", slow)
        waited = pace.wait_share(loader, 0.01, 0.4)
        monkeypatch.undo()
        assert pace.wait_share(loader, 0.05, 0.4) < 0.6 < waited

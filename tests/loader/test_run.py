"""One start: what it reports of each step, which changes it replays, and how it ends."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace.agreement import LeaderSeals, World
from headrace.batch import Batch
from headrace.config import Source, parse_config
from headrace.data import Data, open_data
from headrace.mix import PPM, Revision, weights_at
from headrace.plan import Position
from headrace.resume import beginning
from headrace.run import Run, recorded_revisions
from headrace.state import Restored
from headrace.telemetry.port import Activated, Proposal, StepSample, Telemetry

from tests.loader.corpora import Corpus, random_corpus

ALONE = World(0, 1, 0, 1)


@dataclass
class Recorder:
    """A control plane in memory: keeps what it is told, and proposes what it is given."""

    proposal: Proposal | None = None
    record: list[Activated] | None = None
    samples: list[StepSample] = field(default_factory=list)
    losses: list[tuple[int, Mapping[str, tuple[float, int]]]] = field(default_factory=list)
    activations: list[Activated] = field(default_factory=list)
    asked: list[tuple[str, int, float]] = field(default_factory=list)
    ended: list[str | None] = field(default_factory=list)
    joined: dict[str, Any] = field(default_factory=dict)

    def connect(self, **joined: Any) -> Telemetry:
        self.joined = joined
        return self

    def step_ended(self, sample: StepSample) -> None:
        self.samples.append(sample)

    def observe(self, step: int, losses: Mapping[str, tuple[float, int]]) -> None:
        self.losses.append((step, losses))

    def latest_proposal(self) -> Proposal | None:
        return self.proposal

    def activated(self, activation: Activated) -> None:
        self.activations.append(activation)

    def replay_record(self, lineage: str, from_step: int, wait_s: float) -> list[Activated] | None:
        self.asked.append((lineage, from_step, wait_s))
        return self.record

    def finish(self, *, failed: str | None = None) -> None:
        self.ended.append(failed)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    corpus = random_corpus(tmp_path_factory.mktemp("run"), {"web": 60, "code": 30})
    return data_of(corpus)


def data_of(corpus: Corpus, **options: Any) -> Data:
    chosen: dict[str, Any] = {"seq_len": 16, "global_batch_size": 8, "micro_batch_size": 4, "seed": 5, "eos_id": 0}
    return open_data(parse_config({"sources": corpus.sources(web=1, code=1), "prefetch": 0, **chosen, **options}))


def fresh(data: Data) -> Restored:
    return beginning(data, Revision("config:1", 0, data.weights_ppm))


def resumed(data: Data, step: int = 20, *, had_service: bool = True) -> Restored:
    """A state of step 20 in which version 2 was the last."""
    log = (Revision("config:1", 0, data.weights_ppm), Revision("service:2", 7, {"web": 300_000, "code": 700_000}))
    position = Position(step, np.array([70, 90]), np.zeros(2, np.int64))
    began = beginning(data, log[0])
    return replace(began, position=position, log=log, lineage="lineage-1", had_service=had_service)


def steps(run: Run, number: int) -> list[list[Batch]]:
    found: list[list[Batch]] = [[]]
    while len(found) <= number:
        item = run.take()
        found[-1].append(item.batch)
        if item.finished is not None:
            found.append([])
    return found[:-1]


def activated(name: str, step: int, web: int = 500_000, ramp: int = 0) -> Activated:
    return Activated(name, step, {"web": web, "code": PPM - web}, ramp, "lineage-1")


def test_every_step_is_reported_as_it_was_delivered(data: Data) -> None:
    plane = Recorder()
    run = Run(data, ALONE, fresh(data), plane.connect)
    taken = steps(run, 12)
    run.close(None)
    assert [sample.step for sample in plane.samples] == list(range(12))
    delivered = {"web": 0, "code": 0}
    for sample, batches in zip(plane.samples, taken, strict=True):
        drawn = [s for batch in batches for s in batch.source.tolist()]
        assert len(sample.waits_s) == (1 if sample.step == 0 else 2)
        assert all(wait >= 0 for wait in sample.waits_s)
        assert sample.tokens == 8 * 16
        assert sample.total_tokens == (sample.step + 1) * 8 * 16
        assert sample.revision == "config:1"
        assert sample.queue_depth == 0
        assert sample.bytes_read > 0
        for k, source in enumerate(sample.sources):
            delivered[source.name] += drawn.count(k)
            assert (source.sequences, source.tokens) == (drawn.count(k), 16 * drawn.count(k))
            assert source.ordinal == delivered[source.name]
            assert source.target_ppm == 500_000
            total = data.manifests[k].num_tokens + data.manifests[k].num_documents
            assert source.epoch == source.ordinal * 16 // total
            assert source.file in ("00000.arrow", "00001.arrow", "00002.arrow")
            assert source.row is not None
            assert 0 <= source.row < 20
    assert plane.ended == [None]


def test_masked_tokens_are_reported_with_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the rank that counts, with the source, the file and the row of the last one."""
    corpus = random_corpus(tmp_path, {"web": 60, "code": 30})
    largest = max(token for document in corpus.documents["code"] for token in document)
    data = data_of(corpus, vocab_size=largest, on_bad_data="mask")
    plane = Recorder()
    run = Run(data, ALONE, fresh(data), plane.connect)
    taken = steps(run, 30)
    run.close(None)
    for sample, batches in zip(plane.samples, taken, strict=True):
        lost = sum(int((batch.input_ids == 0).sum()) for batch in batches)
        assert sample.masked_tokens <= lost
        assert (sample.masked_at is None) == (sample.masked_tokens == 0)
    masked = [sample.masked_at for sample in plane.samples if sample.masked_at is not None]
    assert masked
    assert {place.source for place in masked} == {"code"}
    (document,) = (document for document in corpus.documents["code"] if largest in document)
    number, row = divmod(corpus.documents["code"].index(document), 10)
    assert {(place.file, place.row) for place in masked} == {(f"{number:05}.arrow", row)}
    assert sum(sample.masked_tokens for sample in plane.samples) >= len(document)
    quiet = Recorder()
    monkeypatch.setattr("headrace.run.counts_tokens", lambda world, store: False)
    rank = Run(data, ALONE, fresh(data), quiet.connect)
    steps(rank, 30)
    rank.close(None)
    assert {sample.masked_tokens for sample in quiet.samples} == {0}


def test_a_rank_that_does_not_count_reports_no_tokens(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.run.counts_tokens", lambda world, store: False)
    plane = Recorder()
    run = Run(data, ALONE, fresh(data), plane.connect)
    steps(run, 1)
    run.close("KeyError: 'lost'")
    assert plane.samples[0].tokens == sum(source.tokens for source in plane.samples[0].sources) == 0
    assert plane.samples[0].total_tokens == 128
    assert plane.ended == ["KeyError: 'lost'"]


def test_a_first_start_opens_a_lineage_and_asks_for_no_record(data: Data) -> None:
    plane = Recorder(record=[activated("service:9", 3)])
    run = Run(data, ALONE, fresh(data), plane.connect)
    assert not plane.asked
    assert str(uuid.UUID(run.start.nonce)) == run.start.nonce == run.start.lineage
    assert plane.joined == {
        "world": ALONE,
        "counts_tokens": True,
        "attempt": run.start.nonce,
        "lineage": run.start.nonce,
        "resumed_from_step": None,
        "parent_lineage": None,
        "weights_ppm": {"web": PPM // 2, "code": PPM // 2},
        "beginning": None,
    }
    assert plane.activations == [Activated("config:1", 0, dict(data.weights_ppm), 0, run.start.nonce)]
    run.close(None)


def test_a_proposal_is_agreed_reported_and_applied(data: Data) -> None:
    plane = Recorder()
    run = Run(data, ALONE, fresh(data), plane.connect)
    steps(run, 3)
    plane.proposal = Proposal("service:2", {"web": 0, "code": PPM}, None, 0)
    after = steps(run, 3)
    assert {s for batches in after for batch in batches for s in batch.source.tolist()} == {1}
    assert [(one.revision, one.step) for one in plane.activations] == [("config:1", 0), ("service:2", 3)]
    assert [sample.revision for sample in plane.samples] == ["config:1"] * 3 + ["service:2"] * 3
    assert [sample.sources[0].target_ppm for sample in plane.samples] == [500_000] * 3 + [0] * 3
    run.close(None)


def test_a_resume_replays_what_was_recorded_after_it(data: Data) -> None:
    record = [
        activated("service:4", 25, 900_000),
        activated("service:3", 22, 100_000, 4),
        activated("service:3", 22, 100_000, 4),
    ]
    plane = Recorder(record=record)
    run = Run(data, ALONE, resumed(data), plane.connect)
    assert plane.asked == [("lineage-1", 20, 10.0)]
    assert plane.joined["resumed_from_step"] == 20
    assert run.start.lineage == "lineage-1"
    assert run.start.known_version == 4
    plane.proposal = Proposal("service:4", {"web": 900_000, "code": 100_000}, None, 0)
    steps(run, 8)
    assert [(one.id, one.from_step) for one in run.stream.log[2:]] == [("service:3", 22), ("service:4", 25)]
    assert weights_at(run.stream.log, 24, ("web", "code"))["web"] == 200_000
    assert {one.lineage for one in plane.activations} == {"lineage-1"}
    run.close(None)


def test_a_version_newer_than_the_record_departs_from_it(data: Data) -> None:
    plane = Recorder(record=[activated("service:3", 25)])
    plane.proposal = Proposal("service:4", {"web": PPM, "code": 0}, None, 0)
    run = Run(data, ALONE, resumed(data), plane.connect)
    steps(run, 8)
    assert [(one.id, one.from_step, one.lineage) for one in run.stream.log[2:]] == [("service:4", 20, run.start.nonce)]
    assert plane.activations[-1].lineage == run.start.nonce
    run.close(None)


def test_a_rewind_replays_nothing_and_takes_no_undone_version_for_an_edit(
    data: Data, caplog: pytest.LogCaptureFixture
) -> None:
    plane = Recorder(record=[activated("service:3", 22), activated("service:5", 25)])
    plane.proposal = Proposal("service:5", {"web": 0, "code": PPM}, None, 0)
    with caplog.at_level(logging.WARNING, "headrace"):
        run = Run(data, ALONE, replace(resumed(data), replays=False, departs=True), plane.connect)
    assert "going back to step 20 without 2 changes of the mix after it" in caplog.text
    assert run.start.lineage == run.start.nonce
    assert (run.start.replay, run.start.undone_version) == ((), 5)
    steps(run, 8)
    assert len(run.stream.log) == 2, "as in the checkpoint"
    plane.proposal = Proposal("service:6", {"web": PPM, "code": 0}, None, 0)
    steps(run, 1)
    assert [(one.id, one.from_step) for one in run.stream.log[2:]] == [("service:6", 28)]
    run.close(None)


def test_a_rewind_stays_one_after_later_starts(data: Data) -> None:
    """The next start of the new lineage finds nothing recorded, and the undone version still is no edit."""
    plane = Recorder(record=[activated("service:5", 25)])
    first = Run(data, ALONE, replace(resumed(data), replays=False, departs=True), plane.connect)
    steps(first, 2)
    position, log = first.stream.position(22), tuple(first.stream.log)
    first.close(None)
    again = Recorder(record=[], proposal=Proposal("service:5", {"web": 0, "code": PPM}, None, 0))
    second = Run(data, ALONE, replace(first.restored, position=position, log=log, had_service=True), again.connect)
    assert again.asked[0][0] == second.start.lineage == first.start.lineage
    steps(second, 4)
    assert len(second.stream.log) == len(log)
    second.close(None)


def test_without_the_record_the_stream_goes_on_with_its_own_log_and_says_so(
    data: Data, caplog: pytest.LogCaptureFixture
) -> None:
    plane = Recorder(record=None)
    with caplog.at_level(logging.WARNING, "headrace"):
        run = Run(data, ALONE, resumed(data), plane.connect)
    assert "the control plane did not answer within 10.0 s" in caplog.text
    assert "in a new lineage" in caplog.text
    assert run.start.lineage == run.start.nonce
    assert run.start.replay == ()
    run.close(None)


def test_a_run_that_never_had_a_service_waits_for_none(data: Data) -> None:
    plane = Recorder(record=None)
    run = Run(data, ALONE, resumed(data, had_service=False), plane.connect)
    assert not plane.asked
    assert run.start.lineage == "lineage-1"
    run.close(None)


def test_without_telemetry_nothing_is_kept_for_reports(data: Data) -> None:
    run = Run(data, ALONE, fresh(data), lambda **_: None)
    batch = run.take().batch
    finished = run.take().finished
    assert batch.step == 0
    assert finished is not None
    assert finished.sources == ()
    run.observe(0, {"web": (1.0, 1)})
    run.close(None)


def test_a_local_change_is_told_to_the_service(data: Data) -> None:
    plane = Recorder()
    run = Run(data, ALONE, fresh(data), plane.connect)
    assert isinstance(run.seals, LeaderSeals)
    name = run.seals.propose({"web": 1, "code": PPM - 1}, 7)
    steps(run, 1)
    assert plane.activations[-1] == Activated(name, 0, {"web": 1, "code": PPM - 1}, 7, run.start.lineage)
    run.close(None)


@pytest.mark.parametrize("prefetch", [1, 3])
def test_reports_follow_what_the_loop_took_not_what_was_prepared(tmp_path: Path, prefetch: int) -> None:
    data = data_of(random_corpus(tmp_path, {"web": 60, "code": 30}), prefetch=prefetch)
    plane = Recorder()
    run = Run(data, ALONE, fresh(data), plane.connect)
    steps(run, 4)
    assert len(plane.samples) == 4
    assert all(sample.queue_depth <= prefetch * 2 for sample in plane.samples)
    run.close(None)
    assert not [thread for thread in threading.enumerate() if thread.name == "headrace-prefetch"]


def names_and_steps(revisions: Sequence[Revision]) -> list[tuple[str, int]]:
    return [(revision.id, revision.from_step) for revision in revisions]


def test_a_record_becomes_revisions_once_each_in_the_order_of_their_steps() -> None:
    record = [
        activated("service:3", 9),
        activated("local:0a:1", 5),
        activated("service:3", 9),
        activated("service:2", 5),
    ]
    found = recorded_revisions(record, (), ("web", "code"))
    assert names_and_steps(found) == [("local:0a:1", 5), ("service:2", 5), ("service:3", 9)]


def test_what_the_checkpoint_knows_is_not_replayed() -> None:
    known = [Revision("config:1", 0, {"web": PPM, "code": 0})]
    record = [activated("config:1", 0), activated("service:2", 0)]
    assert names_and_steps(recorded_revisions(record, known, ("web", "code"))) == [("service:2", 0)]


def test_a_recorded_change_of_other_sources_is_left_out_loudly(caplog: pytest.LogCaptureFixture) -> None:
    record = [Activated("service:2", 5, {"web": 400_000, "poems": 600_000}, 0, "lineage-1"), activated("service:3", 6)]
    with caplog.at_level(logging.WARNING, "headrace"):
        assert names_and_steps(recorded_revisions(record, (), ("web", "code"))) == [("service:3", 6)]
    assert "the recorded change service:2 at step 5 is not replayed" in caplog.text
    assert "not of the sources web, code" in caplog.text


def test_the_working_set_is_told_and_warned_about_when_it_can_not_be_held(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Mapped Arrow costs the documents' places; decoded Parquet its tokens too, which may be more than the cache."""
    tokens = np.arange(1, 600_001, dtype=np.int64) % 1000
    table = pa.table({"tokens": pa.array([tokens], pa.list_(pa.int64()))})
    (tmp_path / "decoded").mkdir()
    pq.write_table(table, tmp_path / "decoded" / "a.parquet")
    (tmp_path / "mapped").mkdir()
    with pa.OSFile(str(tmp_path / "mapped" / "a.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    said = {}
    for name in ("decoded", "mapped"):
        options = {"seq_len": 16, "global_batch_size": 8, "micro_batch_size": 4, "seed": 5, "eos_id": 0}
        sources = [Source(name, str(tmp_path / name), 1)]
        data = open_data(parse_config({"sources": sources, **options, "cache_bytes": 1 << 20}))
        with caplog.at_level("INFO", "headrace"):
            Run(data, ALONE, fresh(data), Recorder().connect).close(None)
        said[name] = [(r.levelname, r.getMessage()) for r in caplog.records if "working set" in r.getMessage()]
        caplog.clear()
    assert [level for level, _ in said["decoded"]] == ["WARNING"]
    assert "about 5 MiB of open blocks on this rank, but cache_bytes is 1 MiB" in said["decoded"][0][1]
    assert [level for level, _ in said["mapped"]] == ["INFO"]


def test_moving_past_steps_applies_the_changes_recorded_among_them(data: Data) -> None:
    """And leaves those recorded after them to be replayed at their steps."""
    plane = Recorder(record=[activated("service:3", 25, 900_000), activated("service:4", 60, 200_000)])
    began = replace(resumed(data), skip_steps=20)
    run = Run(data, ALONE, began, plane.connect)
    steps(run, 25)
    run.close(None)
    assert [sample.step for sample in plane.samples] == list(range(40, 65))
    assert [(r.id, r.from_step) for r in run.stream.log[2:]] == [("service:3", 25), ("service:4", 60)]
    whole = Run(data, ALONE, resumed(data), Recorder(record=plane.record).connect)
    steps(whole, 45)
    whole.close(None)
    assert run.stream.position(65).counts.tolist() == whole.stream.position(65).counts.tolist()
    assert run.restored.eras[-1].changes == {"skipped_steps": 20}
    assert plane.samples[0].total_tokens == (160 + 8) * 16

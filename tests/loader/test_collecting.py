"""Start-up pauses the garbage collector, leaves it as it was, and imports nothing that it can spare."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from headrace import Batch, Loader, Source, SourceError
from headrace.collecting import without_collecting

from tests.loader.corpora import numbered, open_loader, write_corpus


def test_it_rests_inside_and_is_as_it_was_afterwards() -> None:
    assert gc.isenabled()
    with without_collecting():
        assert not gc.isenabled()
        with without_collecting():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_one_that_the_script_turned_off_stays_off() -> None:
    gc.disable()
    try:
        with without_collecting():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_it_runs_again_after_a_failure() -> None:
    with pytest.raises(ValueError, match="of the start"), without_collecting():
        raise ValueError("of the start")
    assert gc.isenabled()


def test_it_rests_from_making_a_loader_to_its_first_batch_only(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, {"web": [numbered([50] * 40)]}, layouts=("headrace",))
    seen = []

    def collate(batch: Batch) -> Batch:
        seen.append(gc.isenabled())
        return batch

    with open_loader(corpus.sources(), prefetch=0, collate=collate, epochs=1) as loader:
        assert gc.isenabled()
        for _ in loader:
            assert gc.isenabled()
    assert seen == [False, *[True] * (len(seen) - 1)]
    with pytest.raises(SourceError):
        Loader(
            [Source("web", str(tmp_path / "nothing"))],
            seq_len=8,
            global_batch_size=1,
            micro_batch_size=1,
            seed=1,
            eos_id=0,
        )
    assert gc.isenabled()


def test_a_loader_without_a_job_needs_neither_an_http_client_nor_pyarrow() -> None:
    """Each costs a tenth of the time to the first batch, and local Arrow needs neither."""
    script = "import sys, headrace; headrace.Loader; print(*{'httpx', 'pyarrow', 'psutil', 'yaml'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"yaml"}  # numba imports that one where it is installed


def test_the_first_batch_needs_no_compiler_once_kernels_are_kept(tmp_path: Path) -> None:
    """What numba loads to compile, its array functions above all, costs a third of the time to the first batch."""
    corpus = write_corpus(tmp_path, {"web": [numbered([50] * 40)]}, layouts=("headrace",))
    script = (
        "import sys\nfrom headrace import Loader, Source\n"
        f"loader = Loader([Source('web', {str(corpus.root / 'web')!r})], seq_len=16, global_batch_size=8,\n"
        "    micro_batch_size=4, seed=1, eos_id=0, job=None, rank=0, world_size=1)\n"
        "next(loader)\nprint('numba.np.arrayobj' in sys.modules)"
    )
    environment = os.environ | {"HEADRACE_CACHE": str(tmp_path / "cache")}
    said = [
        subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [done.stdout.strip() for done in said] == ["True", "False"]

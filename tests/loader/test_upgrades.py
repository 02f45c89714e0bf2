"""Checkpoints of every older format go on as they would have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from headrace import StateError
from headrace.upgrades import FORMAT, upgraded

from tests.loader.corpora import open_loader, random_corpus, sequences, take_step

FORMAT_1: dict[str, Any] = {
    "format": 1,
    "seed": 1,
    "step": 12,
    "seq_len": 16,
    "lanes": 512,
    "packing": "concat",
    "shuffle": 1,
    "separators": "[null, 0]",
    "transform": "null",
    "sources": '["web", "code"]',
    "counts": "[52, 44]",
    "accumulators": "[333360, -333360]",
    "log": '[["config:1",0,0,null,[666667,333333]],["local:01c145f2:1",6,4,null,[250000,750000]]]',
    "fingerprints": '{"web":["4389fa22fcaef4fa859f5eef6f3accf5",3,[]],'
    '"code":["c5b5eeee93d4a4ae22368c8c19b379c4",3,[]]}',
    "legs": '{"web":[["whole",16,[[0,3]],[],[],null]],"code":[["whole",16,[[0,3]],[],[],null]]}',
    "parked": "{}",
    "eras": "[[0,[0,1],[0,0],[0,0],[[0,8]],0,null,{}]]",
    "run": '{"lineage": "01c145f2-f112-4d56-82fb-20a2524ae06a", "had_service": false}',
}
"as it was written, of the corpus and the changes below"


@pytest.mark.parametrize("old", [FORMAT_1], ids=["1"])
def test_an_old_checkpoint_goes_on_as_the_run_would_have(old: dict[str, Any], tmp_path: Path) -> None:
    corpus = random_corpus(tmp_path, {"web": 60, "code": 40})
    with open_loader(corpus.sources(web=2, code=1), prefetch=0) as loader:
        whole = [sequences(take_step(loader)) for _ in range(6)]
        loader.set_weights({"web": 1, "code": 3}, ramp_steps=4)
        whole += [sequences(take_step(loader)) for _ in range(14)]
        names = loader.source_names
        fingerprints = {name: m.fingerprint for name, m in zip(names, loader.manifests, strict=True)}
    # A fingerprint holds the sizes of files, which differ between versions of Arrow.
    listed = {name: [fingerprints[name], *row[1:]] for name, row in json.loads(old["fingerprints"]).items()}
    given = {**old, "fingerprints": json.dumps(listed)}
    before = dict(given)
    with open_loader(corpus.sources(web=2, code=1)) as loader:
        loader.load_state_dict(given)
        assert loader.step == 12
        assert [sequences(take_step(loader)) for _ in range(8)] == whole[12:]
        assert loader.state_dict()["format"] == FORMAT
    assert given == before, "what was given is left as it is"


def test_every_format_has_an_upgrade_and_ends_at_the_newest() -> None:
    assert FORMAT == 2
    assert upgraded(FORMAT_1)["format"] == FORMAT
    assert json.loads(upgraded(FORMAT_1)["run"])["job"] is None


@pytest.mark.parametrize("run", ["", "[]", "7", "null", '{"lineage": 1}'])
def test_damage_in_an_old_checkpoint_is_found(run: str, tmp_path: Path) -> None:
    corpus = random_corpus(tmp_path, {"web": 6, "code": 4})
    with (
        open_loader(corpus.sources()) as loader,
        pytest.raises(StateError, match=r"the state is damaged \(.*\); load an earlier checkpoint"),
    ):
        loader.load_state_dict({**FORMAT_1, "run": run})

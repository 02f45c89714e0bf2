"""The code and the commands of the pages do what the pages say, run as they stand."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import torch
from headrace.kernels import cache_root

from tests.docs import corpus
from tests.docs.pages import ROOT, blocks

README = ROOT / "README.md"
GUIDES = ROOT / "docs" / "guides"
BIN = f"{Path(sys.executable).parent}/"
# What the README's script leaves to its reader.
YOURS = """
import time
import torch

def train(input_ids, labels):
    time.sleep(0.002)
    return torch.rand(len(input_ids))

def finish_step(state):
    assert state["step"] > 0
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A cache of its own, but for the kernels that this machine has compiled already."""
    folder, kernels = tmp_path_factory.mktemp("cache"), cache_root() / "kernels"
    kernels.mkdir(parents=True, exist_ok=True)
    (folder / "kernels").symlink_to(kernels)
    return str(folder)


@contextmanager
def running(command: list[str], folder: Path, name: str, environment: dict[str, str]) -> Iterator[Path]:
    """A command in the background with its output in a file, ended with everything it started."""
    log = folder / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield log
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(pattern: str, log: Path) -> "re.Match[str]":
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        found = re.search(pattern, log.read_text())
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{pattern!r} is not in {log}:\n{log.read_text()}")


def shell(text: str, folder: Path, environment: dict[str, str]) -> str:
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"{text}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


def test_the_readme_from_a_script_to_an_agreed_edit(tmp_path: Path, cache: str) -> None:
    corpus.write(tmp_path)
    [script] = blocks(README, "python")
    assert len(script.text.splitlines()) <= 12
    (tmp_path / "train.py").write_text(YOURS + corpus.moved(script.text, tmp_path))
    serve, train, edit = (b.text for b in blocks(README, "bash") if b.heading == "Watch it, and change the mix")
    environment = os.environ | {
        "HEADRACE_SERVER_DATA_DIR": str(tmp_path / "server"),
        "HEADRACE_SERVER_PORT": "0",
        "HEADRACE_SERVER_REPORT_EVERY_S": "0.3",
        "HEADRACE_CACHE": cache,
        "OMP_NUM_THREADS": "1",
    }
    with running(["bash", "-c", serve.replace(".venv/bin/", BIN)], tmp_path, "serve", environment) as log:
        address = wait_for(r"Headrace is at http://(\S+)", log)[1]
        wait_for("sign in as 'admin'", log)

        def here(text: str) -> str:
            return text.replace(".venv/bin/", BIN).replace("127.0.0.1:8400", address)

        with running(["bash", "-euc", here(train)], tmp_path, "train", environment) as training:
            wait_for('/reports", "status": 202', log)
            printed = shell(here(edit), tmp_path, environment)
            assert 'etag: "v1"' in printed and '"version":2' in printed, printed + training.read_text()
            assert (tmp_path / "operator.curl").stat().st_mode & 0o077 == 0
            wait_for_both_ranks(here(edit), tmp_path, environment, training)


def wait_for_both_ranks(edit: str, folder: Path, environment: dict[str, str], training: Path) -> None:
    """Repeat the page's last two questions until both ranks apply version 2, agreed at one step."""
    setup, questions = edit.partition("curl -siK")[0], edit.strip().splitlines()[-2:]
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        activations, ranks = (json.loads(shell(setup + line, folder, environment))["items"] for line in questions)
        agreed = [item["step"] for item in activations if item["version"] == 2]
        if agreed and [rank["mix_version"] for rank in ranks] == [2, 2]:
            assert len(agreed) == 1
            return
        time.sleep(0.3)
    raise AssertionError(f"{activations}\n{ranks}\n{training.read_text()}")


def test_the_guide_to_embedding_runs_from_top_to_bottom(tmp_path: Path, cache: str) -> None:
    corpus.write(tmp_path)
    script = "\n".join(block.text for block in blocks(GUIDES / "embed.md", "python"))
    (tmp_path / "train.py").write_text(corpus.moved(script, tmp_path))
    command = [f"{BIN}torchrun", "--standalone", "--nproc-per-node", "2", "train.py"]
    environment = os.environ | {"HEADRACE_CACHE": cache, "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "checkpoint.pt").exists() and (tmp_path / "checkpoint" / ".metadata").exists()


def test_the_guide_to_rescaling_goes_on_at_another_number_of_ranks(tmp_path: Path, cache: str) -> None:
    """On one rank, and from its checkpoint on three, which don't divide the batch."""
    corpus.write(tmp_path)
    [script] = blocks(GUIDES / "rescale.md", "python")
    for ranks, steps in (("1", "STEPS = 4"), ("3", "STEPS = 6")):
        text = re.sub(r'(Path\("checkpoint.pt"\)), 10', rf"\1, {steps[8:]}", script.text)
        (tmp_path / "train.py").write_text(corpus.moved(text, tmp_path))
        [command] = blocks(GUIDES / "rescale.md", "bash")
        here = f"export PATH={BIN[:-1]}:$PATH\n{command.text}".replace(
            "--nproc-per-node=1", f"--nproc-per-node={ranks}"
        )
        shell(here.replace("1:4", "1").replace("29400", "0"), tmp_path, os.environ | {"HEADRACE_CACHE": cache})
        assert torch.load(tmp_path / "checkpoint.pt", weights_only=True)["loader"]["step"] == int(steps[8:])


def test_the_guide_to_extending_runs_from_top_to_bottom(tmp_path: Path) -> None:
    corpus.write(tmp_path)
    script = "\n".join(block.text for block in blocks(GUIDES / "extend.md", "python"))
    exec(corpus.moved(script, tmp_path), {"__name__": "extend"})


def test_the_guide_to_resuming_with_changes_runs_from_top_to_bottom(tmp_path: Path) -> None:
    corpus.write(tmp_path)
    [block] = blocks(GUIDES / "resume.md", "python")
    exec(corpus.moved(block.text, tmp_path), {})


def test_the_guide_to_data_writes_a_shard_and_leaves_a_row_out(tmp_path: Path) -> None:
    from headrace.manifest import read_manifest

    (tmp_path / "math").mkdir()
    exec(corpus.moved("\n".join(block.text for block in blocks(GUIDES / "data.md", "python")), tmp_path), {})
    manifest = read_manifest("math", tmp_path / "math")
    assert (manifest.num_documents, manifest.num_tokens) == (2, 5)


def test_the_guide_to_tokenizing_makes_shards_from_text(tmp_path: Path) -> None:
    """By its command, and by its script, which finds nothing left to do."""
    from headrace.manifest import read_manifest

    from tests.loader.tokenize.making import text, train_tokenizer, write_lines

    for name in ("web", "code"):
        write_lines(tmp_path / "raw" / name / "a.jsonl", [text(n) for n in range(20)])
    train_tokenizer(tmp_path / "raw" / "tokenizer.json")

    def here(page: str) -> str:
        return corpus.moved(page, tmp_path).replace("/raw/", f"{tmp_path}/raw/").replace("-o /data", f"-o {tmp_path}")

    [block] = blocks(GUIDES / "tokenize.md", "bash")
    command = block.text.split("\n", 1)[1]
    printed = shell(f"export PATH={BIN[:-1]}:$PATH\n{here(command)}", tmp_path, dict(os.environ))
    assert "2 new shards with" in printed
    assert read_manifest("web", tmp_path / "web").num_documents == 20
    [script] = blocks(GUIDES / "tokenize.md", "python")
    said: dict[str, object] = {}
    exec(here(script.text).replace('"/data"', f'"{tmp_path}"'), said)
    assert said["summary"].new_shards == 0  # type: ignore[attr-defined]


def test_bench_runs_as_the_readme_says(tmp_path: Path, cache: str) -> None:
    corpus.write(tmp_path)
    [bench] = (block.text for block in blocks(README, "bash") if block.heading == "How fast on your data")
    quick = f"{corpus.moved(bench, tmp_path).strip()} --seconds 0.05 --rounds 1".replace(".venv/bin/", BIN)
    printed = shell(quick, tmp_path, os.environ | {"HEADRACE_CACHE": cache})
    assert re.search(r"loader +[\d.,]+ M tokens/s", printed) and re.search(r"ratio +0?\.?\d", printed), printed


def test_the_tools_run_as_their_guide_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a run of five steps, whose checkpoint lies where the page has it."""
    import torch
    from headrace import Loader, Source
    from headrace.cli import main as headrace

    corpus.write(tmp_path)
    sources = [Source(name, str(tmp_path / name)) for name in ("web", "code")]
    with Loader(
        sources, seq_len=1024, global_batch_size=8, micro_batch_size=8, seed=1, eos_id=0, job=None, prefetch=0
    ) as loader:
        for _ in range(5):
            next(loader)
        torch.save({"loader": loader.state_dict()}, tmp_path / "checkpoint.pt")
    [config] = blocks(GUIDES / "tools.md", "json")
    assert [source["name"] for source in json.loads(config.text)["sources"]] == ["web", "code"]
    monkeypatch.chdir(tmp_path)
    said = {}
    for block in blocks(GUIDES / "tools.md", "bash"):
        program, *words = shlex.split(corpus.moved(block.text.replace("\\\n", " "), tmp_path))
        assert program == "headrace"
        assert headrace(words) == 0
        said[block.heading] = capsys.readouterr().out
    assert "10,000 steps × 512 sequences × 4,096 tokens" in said["What a source holds"]
    assert said["What a step held"].startswith("step 4: ")
    assert len(said["Which steps held a document"].splitlines()) >= 3
    assert "resume at step 10,000,000" in said["How fast"]


def test_a_backup_is_a_database(tmp_path: Path) -> None:
    from headrace_server.cli import main

    folder = tmp_path / "share" / "headrace"
    assert main(["migrate", "--data-dir", str(folder)]) == 0
    [backup] = (block.text for block in blocks(GUIDES / "operate.md", "bash") if block.heading == "Backup")
    shell(f"export PATH={BIN[:-1]}:$PATH\n{backup}", tmp_path, os.environ | {"HEADRACE_SERVER_DATA_DIR": str(folder)})
    assert (tmp_path / "headrace-backup.db").read_bytes()[:15] == b"SQLite format 3"

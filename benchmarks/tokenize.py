"""`headrace tokenize` next to the bare libraries: ``python -m benchmarks.tokenize``.

Throughput of the command on all cores, start and reading included, next to the `tokenizers` library alone encoding
the same texts, which are in memory already, with as many threads; memory of a worker; the time per byte of one 8 MB
document next to small ones, and for a tokenizer that replaces and never splits; and, where they can be installed,
each in an environment of its own under HEADRACE_CACHE, datatrove and preprocessing as Megatron does it (a pool of
processes that encode line by line, one writer). Prints a line of JSON and a table.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from benchmarks.environments import InstallError, environment, python_in

DATATROVE = "0.10.1"
LONG_CHARACTERS = 8_000_000
VOCAB_SIZE = 32_000
SAMPLE_CHARACTERS = 3_000_000

_BARE = """
import json, os, sys, time
threads = sys.argv[3]
os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads != "1" else "false"
os.environ["RAYON_NUM_THREADS"] = threads
import tokenizers
made = tokenizers.Tokenizer.from_file(sys.argv[1])
made.encode_special_tokens = True
texts = [json.loads(line)["text"] for path in sys.argv[4:] for line in open(path, encoding="utf-8")]
made.encode_batch_fast(texts[:64], add_special_tokens=False)
step, tokens = int(sys.argv[2]), 0
began = time.perf_counter()
for start in range(0, len(texts), step):
    tokens += sum(len(one.ids) for one in made.encode_batch_fast(texts[start : start + step], add_special_tokens=False))
print(json.dumps({"seconds": time.perf_counter() - began, "tokens": tokens}))
"""

_MEGATRON = """
import json, multiprocessing, sys, time
import numpy, tokenizers

def begin():
    global made
    made = tokenizers.Tokenizer.from_file(sys.argv[1])

def encode(line):
    return made.encode(json.loads(line)["text"], add_special_tokens=False).ids

if __name__ == "__main__":
    tokens, began = 0, None
    with multiprocessing.Pool(int(sys.argv[2]), begin) as pool, open(sys.argv[3], "wb") as out:
        for path in sys.argv[4:]:
            with open(path, encoding="utf-8") as lines:
                for ids in pool.imap(encode, lines, 32):
                    began = began or time.perf_counter()
                    out.write(numpy.array(ids, numpy.uint16).tobytes())
                    tokens += len(ids)
    print(json.dumps({"seconds": time.perf_counter() - began, "tokens": tokens}))
"""

_DATATROVE = """
import json, sys, time
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.tokens import DocumentTokenizer

if __name__ == "__main__":
    began = time.perf_counter()
    steps = [
        JsonlReader(sys.argv[4]),
        DocumentTokenizer(sys.argv[3], tokenizer_name_or_path=sys.argv[1], eos_token=None, shuffle_documents=False),
    ]
    workers = int(sys.argv[2])
    LocalPipelineExecutor(steps, tasks=workers, workers=workers, logging_dir=sys.argv[3] + "/logs").run()
    print(json.dumps({"seconds": time.perf_counter() - began}))
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=192, help="of text; a start takes 0.7 s (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="each way in turn; the median counts (%(default)s)")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--long-megabytes", type=float, default=LONG_CHARACTERS / 1e6, help="of the long document")
    parser.add_argument("--alone", action="store_true", help="without datatrove and Megatron's way")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headrace-tokenize-bench-") as name:
        figures = measure(Path(name), options)
    print(json.dumps(figures))
    for key, value in figures.items():
        print(f"{key:<44}{value:>14,.3f}" if isinstance(value, float) else f"{key:<44}{value!s:>14}")


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Every figure, by name."""
    texts = sample(options.megabytes * 1_000_000)
    size = sum(len(text.encode()) for text in texts)
    files = write(folder / "raw", texts, 2 * options.workers)
    tokenizer = train(folder / "tokenizer.json", texts)
    ways: dict[str, Callable[[int], dict[str, float]]] = {
        "bare": lambda n: bare(tokenizer, files, options.workers),
        "headrace": lambda n: headrace(folder / f"out{n}", tokenizer, folder / "raw", options.workers),
    }
    if not options.alone:
        ways["megatron_style"] = lambda n: script(_MEGATRON, tokenizer, options.workers, folder / f"mega{n}", *files)
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    for n in range(options.rounds):
        for name, way in ways.items():
            runs[name].append(way(n))
    figures: dict[str, Any] = {"text_mb": size / 1e6, "workers": options.workers, "documents": len(texts)}
    for name, found in runs.items():
        figures[f"{name}_mb_per_s"] = size / 1e6 / statistics.median(run["seconds"] for run in found)
    figures["ratio_to_bare"] = figures["headrace_mb_per_s"] / figures["bare_mb_per_s"]
    figures["worker_mb"] = max(run["worker_mb"] for run in runs["headrace"])
    figures["same_tokens"] = runs["headrace"][0]["tokens"] == runs["bare"][0]["tokens"]
    if not options.alone:
        figures["datatrove_mb_per_s"] = datatrove(folder, tokenizer, options.workers, size)
    return figures | long_document(folder, tokenizer, texts, int(options.long_megabytes * 1e6))


def sample(num_bytes: int) -> list[str]:
    """Texts of this machine: Python's own sources and those of the packages beside it, again where they are too few."""
    folders = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))
    names = sorted({path for folder in folders for path in Path(folder).rglob("*.py")})
    texts: list[str] = []
    left = num_bytes
    while left > 0:
        before = left
        for name in names:
            try:
                text = name.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            if 0 < len(text) <= 100_000:
                texts.append(text)
                left -= len(text)
            if left <= 0:
                break
        assert left < before, f"no Python sources in {folders}"
    return texts


def write(folder: Path, texts: Sequence[str], num_files: int) -> list[Path]:
    """JSON lines, dealt out to so many files."""
    folder.mkdir(parents=True)
    paths = [folder / f"{number:03}.jsonl" for number in range(num_files)]
    for number, path in enumerate(paths):
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts[number::num_files])
    return paths


def train(path: Path, texts: Sequence[str]) -> Path:
    """A byte-level BPE as GPT-2's."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: PLC0415

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=VOCAB_SIZE, initial_alphabet=alphabet, show_progress=False)
    step = max(1, sum(map(len, texts)) // SAMPLE_CHARACTERS)
    made.train_from_iterator(texts[::step], trainer)
    made.save(str(path))
    return path


def bare(tokenizer: Path, files: Sequence[Path], threads: int) -> dict[str, float]:
    """The library alone, texts in memory, ids taken out as lists."""
    return script(_BARE, tokenizer, 256, str(threads), *files)


def script(code: str, *words: object) -> dict[str, float]:
    """What a Python program prints as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "measured.py")
        path.write_text(code)
        ran = subprocess.run([sys.executable, path, *map(str, words)], check=True, capture_output=True, text=True)
    return dict(json.loads(ran.stdout.splitlines()[-1]))


def headrace(out: Path, tokenizer: Path, raw: Path, workers: int) -> dict[str, float]:
    """The command, from its start to its end, and the most memory that a worker of it had of its own."""
    words = ["tokenize", str(raw), "--tokenizer", str(tokenizer), "-o", str(out), "--workers", str(workers), "--json"]
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "headrace.cli", *words], stdout=subprocess.PIPE, text=True)
    peak = _Peak(process.pid)
    printed, _ = process.communicate()
    seconds = time.perf_counter() - began
    assert process.returncode == 0
    return {"seconds": seconds, "tokens": json.loads(printed)["total"]["tokens"], "worker_mb": peak.end() / 1e6}


class _Peak:
    """The most memory of its own that a child of a process has, looked at every 100 ms.

    Children are looked for rarely: that goes through all processes of the machine, and takes time from those measured.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._most = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def end(self) -> int:
        """Bytes; no more is looked at."""
        self._done.set()
        self._thread.join()
        return self._most

    def _watch(self) -> None:
        children: list[psutil.Process] = []
        looks = 0
        while not self._done.wait(0.1):
            with suppress(psutil.Error):
                if not children or looks % 50 == 0:
                    children = psutil.Process(self._pid).children()
                looks += 1
                for child in children:
                    info = child.memory_info()
                    self._most = max(self._most, info.rss - info.shared)


def long_document(folder: Path, tokenizer: Path, texts: Sequence[str], num_characters: int) -> dict[str, float]:
    """Seconds per byte of a long document over those of small ones, and of a tokenizer that never splits: 8 over 1."""
    joined = "\n".join(texts)[:num_characters]
    small = [joined[start : start + 4000] for start in range(0, len(joined), 4000)]
    seconds = {}
    for name, documents in (("long", [joined]), ("small", small)):
        write(folder / name, documents, 1)
        seconds[name] = headrace(folder / f"{name}-out", tokenizer, folder / name, 1)
    whole = json.loads(tokenizer.read_text())
    whole["pre_tokenizer"] = None
    whole["normalizer"] = {"type": "Replace", "pattern": {"String": " "}, "content": "Ġ"}
    (folder / "whole.json").write_text(json.dumps(whole))
    for name, characters in (("eighth", num_characters // 8), ("whole", num_characters)):
        write(folder / name, [joined[:characters]], 1)
        seconds[name] = headrace(folder / f"{name}-out", folder / "whole.json", folder / name, 1)
    return {
        "long_over_small": seconds["long"]["seconds"] / seconds["small"]["seconds"],
        "long_worker_mb": seconds["long"]["worker_mb"],
        "unsplit_8_over_1": seconds["whole"]["seconds"] / seconds["eighth"]["seconds"],
        "unsplit_worker_mb": seconds["whole"]["worker_mb"],
    }


def datatrove(folder: Path, tokenizer: Path, workers: int, size: int) -> float | str:
    """MB of text a second of datatrove's pipeline, or why there is none."""
    try:
        python = python_in(environment(f"datatrove-{DATATROVE}", [f"datatrove[io,processing]=={DATATROVE}"]))
        path = folder / "trove.py"
        path.write_text(_DATATROVE)
        words = [python, path, tokenizer, str(workers), folder / "trove", folder / "raw"]
        ran = subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError, InstallError) as error:
        said = str(getattr(error, "stderr", None) or error).strip().splitlines()
        return f"not measured: {said[-1][:80] if said else error}"
    return size / 1e6 / float(json.loads(ran.stdout.splitlines()[-1])["seconds"])


if __name__ == "__main__":
    main()

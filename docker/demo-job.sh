#!/bin/sh
# Two CPU ranks of the demo's training script, reporting to HEADRACE_URL with the key in HEADRACE_TOKEN_FILE.
set -eu
: "${HEADRACE_URL:?is where the control plane is, such as http://server:8400}"
: "${HEADRACE_TOKEN_FILE:?is a file with a key that has the scopes ingest and read}"
HEADRACE_TOKEN=$(cat "$HEADRACE_TOKEN_FILE")
export HEADRACE_TOKEN
corpus=$(
    python - <<'PYTHON'
import sys
from headrace.demo.corpus import prepare
from headrace.demo.gather import Machine
from headrace.kernels import cache_root

print(prepare(cache_root() / "demo", Machine.here(), lambda line: print(line, file=sys.stderr)).folder)
PYTHON
)
exec torchrun --standalone --nproc-per-node "${DEMO_RANKS:-2}" --module headrace.demo.train \
    --corpus "$corpus" --out training --steps "${DEMO_STEPS:-2000}" --job "${HEADRACE_JOB:-demo}" --resume

#!/usr/bin/env bash
# What failed on a machine that was busy with other tests runs once more, alone: what fails again is broken, what passes
# is named, for a test that depends on the load is to be mended too. More than a few failures are no accident.
# Arguments: the exit code of the run, the program pytest.
set -euo pipefail
code=$1 pytest=$2
failed=.pytest_cache/v/cache/lastfailed
[ "$code" -eq 1 ] && [ -f "$failed" ] || exit "$code"
if [ "$(grep -c '"tests/' "$failed")" -gt 5 ]; then exit "$code"; fi
echo "--- these failed beside others; once more, alone ---"
grep -o '"tests/[^"]*"' "$failed" | tee .pytest_cache/failed_beside_others
"$pytest" tests --ignore=tests/e2e -n 0 --last-failed --last-failed-no-failures none
echo "--- passed alone, to be mended so that load does not matter: ---"
cat .pytest_cache/failed_beside_others

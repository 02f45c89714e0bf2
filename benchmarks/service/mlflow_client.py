"""A training loop that logs to MLflow with its own client; run by the Python of MLflow's environment.

    python mlflow_client.py URI SECONDS sync|async

Prints its run, logs 34 values a second for SECONDS and lets what is queued go out. Prints one JSON object: the values
it logged, those whose call failed, the longest a call took, and how long the loop was held up in all (seconds).
"""

import json
import sys
import time

import mlflow  # type: ignore[import-not-found]

VALUES = 34


def main() -> None:
    """Log with the client's defaults."""
    uri, seconds, mode = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    mlflow.set_tracking_uri(uri)
    run = mlflow.start_run()
    print(run.info.run_id, flush=True)
    began = due = time.monotonic()
    logged = failed = step = 0
    longest = waited = 0.0
    while time.monotonic() - began < seconds:
        called = time.monotonic()
        try:
            mlflow.log_metrics({f"m{i}": float(step) for i in range(VALUES)}, step=step, synchronous=mode == "sync")
            logged += VALUES
        except Exception as error:
            failed += VALUES
            print(f"{type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
        took = time.monotonic() - called
        longest, waited, step = max(longest, took), waited + took, step + 1
        due = max(due + 1, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    if mode == "async":
        mlflow.flush_async_logging()
    found = {"logged": logged, "failed": failed, "longest_s": longest, "waited_s": waited}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()

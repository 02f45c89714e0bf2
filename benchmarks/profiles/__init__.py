"""Where the time goes: `python -m benchmarks.profiles`."""

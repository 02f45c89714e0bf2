"""``python -m headrace_server``: the same as the ``headrace-server`` command."""

from .cli import main

if __name__ == "__main__":  # not in a worker, which imports this too
    raise SystemExit(main())

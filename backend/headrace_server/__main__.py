"""``python -m headrace_server``: the same as the ``headrace-server`` command."""

from .cli import main

raise SystemExit(main())

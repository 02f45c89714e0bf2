"""From raw text to shards.

    from headrace.tokenize import Options, tokenize

    summary = tokenize(["web=/raw/web"], "tokenizer.json", "/data", options=Options(compression="zstd"))

In the order data flows: `inputs` (what is there), `units` over `cutting` (work that is done by itself, a pure function
of the inputs), `reading/` (rows of any file), `encoders/` over `pieces` (ids), `work` (one unit: rows to shards),
`folder` and `records` (what is written down), `ledger` (the books: what is made, shown and pending), `engine` with
`local` over `worker`, and `on_ray` (who works), `run`, `progress`, `summary`, `command`.
"""

from headrace.tokenize.options import Options
from headrace.tokenize.run import tokenize
from headrace.tokenize.summary import Summary

__all__ = ["Options", "Summary", "tokenize"]

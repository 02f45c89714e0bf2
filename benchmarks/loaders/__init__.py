"""Headrace beside other loaders: the same corpus, the same work, the same run.

In the order data flows: `corpus` (the tokens, and how each loader likes them), `environments` (a virtual environment a
loader), `entries` (the rows of the table), `drivers/` (one file a loader, run in its environment), `harness` (what a
driver is asked to measure), `processes` (runs it), `measure` (all of them in turn), `table` and `bars` (what came out),
`pages` and `pictures` (the same in README.md and docs/benchmarks.md).
"""

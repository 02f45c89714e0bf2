"""The demo: real text that every machine has, a tiny GPT, a plain `torchrun` script, and the command that runs them.

Read it in the order that data flows: `gather` and `roff` (text from this machine), `tokenizer`, `corpus` (shards on
disk), `model`, `train` (what a user would write), then what `headrace demo` adds: `children`, `control`, `outcome`,
`stages`, `run`.
"""

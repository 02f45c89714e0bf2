r"""How well-known tokenizers split a text before they merge, and where such a split is sure to be.

A text may be cut at a place without changing an id where no match of the pattern crosses it and no match before it
depends on what follows. Of the patterns here that holds

- behind a line feed between a character that is no space and a letter: a match with a line feed has no letter behind
  it (`[^\r\n\p{L}\p{N}]?` excludes it, `[\r\n]*` and `[\r\n/]*` end at a letter, runs of `\s` do), and `\s+(?!\S)`
  matters only in runs of two and more;
- before a single space between two ASCII letters: runs of letters end there, and ` ?\p{L}+` and its kin begin with the
  space.

Merging never looks across a split, and the normal form NFC is the same on both sides: neither a line feed nor a space
composes with a letter.
"""

from __future__ import annotations

import re
from typing import Final

_GPT2: Final = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
_R50K: Final = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
_LLAMA3: Final = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"""
    r"""|\s+(?!\S)|\s+"""
)
_CL100K: Final = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"""
    r"""|\s+(?!\S)|\s"""
)
_O200K: Final = (
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
    r"""|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
    r"""|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)

PATTERNS: Final = {
    "gpt2": _GPT2,
    "r50k_base": _R50K,
    "p50k_base": _R50K,
    "cl100k_base": _CL100K,
    "llama3": _LLAMA3,
    "qwen2": _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}"),
    "o200k_base": _O200K,
}
"""Split patterns by the name of the encoding or model that they are known from."""

_LETTERS: Final = "A-Za-zА-Яа-яぁ-ゖァ-ヺ一-龥가-힣"
_CUTS: Final = re.compile(rf"(?<=[!-~、。！-～{_LETTERS}]\n)(?=[{_LETTERS}])|(?<=[A-Za-z])(?= [A-Za-z])")


def cut_places(text: str, limit: int) -> list[int]:
    """Places of `text`, ascending, where pieces of about `limit` characters begin: the first safe one after each."""
    places: list[int] = []
    match = _CUTS.search(text, limit)
    while match is not None:
        places.append(match.start())
        match = _CUTS.search(text, match.start() + limit)
    return places

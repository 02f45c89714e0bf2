"""Everything that can be known to be wrong from the words alone is refused with the value and what is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from headrace.config import LoaderConfig, Source, parse_config
from headrace.errors import ConfigError

GOOD: dict[str, Any] = {
    "sources": [Source("web", "/data/web", 0.7), Source("code", "/data/code", 0.3)],
    "seq_len": 64,
    "global_batch_size": 8,
    "micro_batch_size": 2,
    "seed": 1,
    "eos_id": 0,
}


def refusal(options: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as refused:
        parse_config(GOOD | options)
    return str(refused.value)


def test_the_defaults() -> None:
    config = parse_config(GOOD)
    assert config.names == ("web", "code")
    assert config.outputs == ("input_ids", "labels", "position_ids")
    assert (config.lanes, config.prefetch, config.mix_lease_steps, config.packing) == (512, 2, 1, "concat")
    assert config.num_separators == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seq_lem": 8}, "unknown option 'seq_lem'; did you mean 'seq_len'?"),
        ({"zzz": 8}, "unknown option 'zzz'; the options are sources, seq_len"),
        ({"names": ("a",)}, "unknown option 'names'"),
        ({"seq_len": 1}, "seq_len is 1; it must be a whole number from 2 to 1073741824"),
        ({"seq_len": 64.0}, "seq_len is 64.0; it must be a whole number"),
        ({"seq_len": "64"}, "seq_len is '64'; it must be a whole number"),
        ({"seq_len": True}, "seq_len is True"),
        ({"global_batch_size": 0}, "global_batch_size is 0; it must be a whole number from 1"),
        ({"micro_batch_size": -1}, "micro_batch_size is -1"),
        ({"seed": -1}, "seed is -1; it must be a whole number from 0 to 9223372036854775807"),
        ({"seed": 1 << 63}, "seed is 9223372036854775808"),
        ({"prefetch": -1}, "prefetch is -1"),
        ({"mix_lease_steps": 0}, "mix_lease_steps is 0"),
        ({"cache_bytes": 10}, "cache_bytes is 10"),
        ({"disk_cache_bytes": -1}, "disk_cache_bytes is -1; it must be a whole number from 0"),
        ({"total_steps": -5}, "total_steps is -5"),
        ({"resume_wait_s": -1}, "resume_wait_s is -1; it must be a number of seconds from 0 to 86400"),
        ({"resume_wait_s": "10"}, "resume_wait_s is '10'"),
        ({"resume_wait_s": float("nan")}, "resume_wait_s is nan"),
        ({"lanes": 3}, "lanes is 3; it must be a power of two from 1 to 65536"),
        ({"lanes": 0}, "lanes is 0"),
        ({"lanes": 1 << 17}, "lanes is 131072"),
        ({"packing": "bestfit"}, "packing is 'bestfit'; it must be one of 'concat'"),
        ({"outputs": ("labels",)}, "outputs is ('labels',); it must hold 'input_ids'"),
        ({"outputs": ("input_ids", "label")}, "outputs holds 'label'; it may hold input_ids, labels"),
        ({"outputs": ("input_ids", "label")}, "did you mean 'labels'?"),
        ({"outputs": 7}, "outputs is 7; it must be a tuple of input_ids"),
        ({"token_dtype": torch.float32}, "token_dtype is torch.float32; it must be one of torch.int64"),
        ({"token_dtype": "int64"}, "token_dtype is int64; it must be one of"),
        ({"eos_id": -1}, "eos_id is -1"),
        ({"eos_id": 100, "vocab_size": 100}, "eos_id is 100; with vocab_size 100 it must be below 100"),
        (
            {"bos_id": 300, "token_dtype": torch.uint8},
            "bos_id is 300; with token_dtype torch.uint8 it must be",
        ),
        ({"vocab_size": 0}, "vocab_size is 0; it must be a whole number from 1"),
        (
            {"vocab_size": 65_537, "token_dtype": torch.uint16},
            "token_dtype is torch.uint16, which holds ids up to 65535, but vocab_size is 65537; use a wider",
        ),
        ({"sources": []}, "sources is []; it must be a list of at least one headrace.Source"),
        ({"sources": None}, "sources is None"),
        ({"sources": ["web"]}, "sources holds 'web'; every item must be a headrace.Source"),
        ({"sources": [Source("a", "/a"), Source("a", "/b")]}, "source name 'a' is used 2 times; names must be unique"),
        ({"sources": [Source("a", "/a", 1), Source("b", "/b")]}, "source 'b' has no weight but others have"),
        ({"sources": [Source("a", "/a", 0), Source("b", "/b", 0)]}, "every weight is 0"),
    ],
)
def test_options_that_are_not_allowed(options: dict[str, Any], message: str) -> None:
    assert message in refusal(options)


@pytest.mark.parametrize("name", ["seq_len", "global_batch_size", "micro_batch_size", "seed", "eos_id"])
def test_an_option_without_a_default_has_to_be_given(name: str) -> None:
    options = {key: value for key, value in GOOD.items() if key != name}
    with pytest.raises(ConfigError, match=f"no {name}; "):
        parse_config(options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", "/a"), "source name is ''; it must be 1 to 100 printable characters"),
        (("x" * 101, "/a"), "it must be 1 to 100 printable characters"),
        (("a\nb", "/a"), r"source name is 'a\nb'"),
        ((7, "/a"), "source name is 7"),
        (("a", ""), "path of source 'a' is ''; it must be a path to shards"),
        (("a", None), "path of source 'a' is None"),
        (("a", "/a", -0.5), "weight of 'a' is -0.5; weights must be finite and at least 0"),
        (("a", "/a", float("nan")), "weight of 'a' is nan"),
        (("a", "/a", "half"), "weight of 'a' is 'half'; weights must be numbers"),
    ],
)
def test_sources_that_are_not_allowed(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Source(*arguments)
    assert message in str(refused.value)


def test_what_is_as_good_as_the_plain_thing_is_taken() -> None:
    config = parse_config(
        GOOD
        | {
            "sources": Source("web", Path("/data/web")),  # type: ignore[arg-type]
            "seq_len": np.int64(64),
            "outputs": ["cu_seqlens", "input_ids"],
        }
    )
    assert config.sources[0].path == "/data/web"
    assert type(config.seq_len) is int
    assert config.outputs == ("input_ids", "cu_seqlens")
    assert parse_config(GOOD | {"outputs": "input_ids"}).outputs == ("input_ids",)


def test_a_config_cannot_be_changed() -> None:
    config = LoaderConfig(**GOOD)
    with pytest.raises(AttributeError):
        config.seq_len = 8  # type: ignore[misc]


def test_ids_stay_below_the_vocabulary_or_what_the_type_holds() -> None:
    assert parse_config(GOOD | {"vocab_size": 65_536, "token_dtype": torch.uint16}).id_limit == 65_536
    assert parse_config(GOOD | {"token_dtype": torch.int16}).id_limit == 32_768
    assert parse_config(GOOD).id_limit == 1 << 62


@pytest.mark.parametrize(
    ("given", "items"),
    [
        ((), ()),
        ("old/**", ("old/**",)),
        (["a*", "/lists/drop.csv", "a*"], ("a*", "/lists/drop.csv")),
        (Path("drop.parquet"), ("./drop.parquet",)),
        ([Path("/lists/drop.jsonl"), "drop.parquet"], ("/lists/drop.jsonl", "drop.parquet")),
        ("s3://bucket/drop.arrow?scheme=http&endpoint_override=127.0.0.1:9000",) * 2,
        ("../lists/DROP.CSV", ("../lists/DROP.CSV",)),
    ],
)
def test_globs_and_lists_of_rows_to_leave_out(given: Any, items: Any) -> None:
    """A path object is a file, a text is one by how it begins."""
    assert Source("web", "/data/web", exclude=given).exclusions == ((items,) if isinstance(items, str) else items)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "exclude of source 'web' is 3; it must be a glob, a file of rows, or a list"),
        (["a", 3], "exclude of source 'web' holds 3; every item must be a glob or a path"),
        ([""], "exclude of source 'web' holds ''"),
        (b"abc", "exclude of source 'web' holds 97"),
        ("/lists/drop.txt", "'/lists/drop.txt'; a file of (path, row) pairs ends in one of .parquet, .arrow,"),
        ("./2019/**", "'./2019/**'; a file of (path, row) pairs ends in"),
        (
            "/data/web/*.parquet",
            "'/data/web/*.parquet'; a glob is relative to the source's path: take what comes before",
        ),
        ("s3://b/drop?.csv", "'s3://b/drop?.csv'; a glob is relative"),
    ],
)
def test_what_cant_be_left_out_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Source("web", "/data/web", exclude=given)
    assert message in str(refused.value)


@pytest.mark.parametrize("given", ["", 7, ()])
def test_an_index_that_is_no_place_is_refused(given: object) -> None:
    with pytest.raises(ConfigError, match=r"index of source 'web' is .*; it must be a path, a URI or None"):
        Source("web", "/data/web", index=given)  # type: ignore[arg-type]


def test_an_index_is_kept_as_text() -> None:
    assert Source("web", "/data/web", index=Path("/data/web.parquet")).index == "/data/web.parquet"  # type: ignore[arg-type]

"""The `pyarrow.fs` file system that a URI means, with short time-outs and no retries of its own."""

from __future__ import annotations

import datetime
import os
import threading
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import parse_qsl

import pyarrow as pa
from pyarrow import fs

from headrace.errors import SourceError

MAX_CONNECTIONS: Final = 128

QUICK_S: Final = 2.0
"""Seconds without a byte after which a first try is given up; a thread can't end, nor the interpreter, before that."""

PATIENT_S: Final = 5.0
"""The same for later tries, so that a store which is always slow is read all the same."""

LISTING_S: Final = 30.0
"""The same for listings, which begin nothing else until they are done."""

_S3_OPTIONS: Final = ("endpoint_override", "scheme", "region", "anonymous", "role_arn", "tls_ca_file_path")
_GCS_OPTIONS: Final = ("endpoint_override", "scheme", "anonymous", "project_id")
_AZURE_OPTIONS: Final = (
    "account_name",
    "blob_storage_authority",
    "blob_storage_scheme",
    "dfs_storage_authority",
    "dfs_storage_scheme",
)
_constructing = threading.Lock()


def file_system(scheme: str, path: str, options: str) -> tuple[Callable[[float], fs.FileSystem], str, str]:
    """How to make the file system of `scheme://path?options`, the path inside it, and what tells its host from others.

    The first takes the seconds without a byte after which a request is given up. Raises SourceError for an option, a
    bucket or a container that can't be, and for a password in the URI.
    """
    shown = f"{scheme}://{path}"
    given = dict(parse_qsl(options, keep_blank_values=True))
    host, slash, rest = path.partition("/")
    if not host:
        raise SourceError(f"{shown} names no bucket; write {scheme}://bucket/prefix")
    if any(part in ("", ".", "..") for part in path.split("/")):
        raise SourceError(f"{shown} has an empty part, '.' or '..' between its slashes; write the path without")
    if scheme in ("abfs", "abfss", "az"):
        container, _, account = host.partition("@")
        if account:
            given.setdefault("account_name", account.partition(".")[0])
        host = container
    elif "@" in host:
        raise SourceError(
            f"the URI of {scheme}://{host.rpartition('@')[2]}{slash}{rest} holds credentials, which would end up in "
            "logs; give them through the environment"
        )
    make, allowed = {"s3": (_s3, _S3_OPTIONS), "gs": (_gcs, _GCS_OPTIONS), "gcs": (_gcs, _GCS_OPTIONS)}.get(
        scheme, (_azure, _AZURE_OPTIONS)
    )
    for name in given:
        if name not in allowed:
            raise SourceError(f"{shown} has the option {name!r}; {scheme} takes {', '.join(allowed)}")

    def construct(stall_s: float) -> fs.FileSystem:
        return make(shown, host, dict(given), stall_s)

    identity = "&".join(f"{name}={value}" for name, value in sorted(given.items()))
    return construct, f"{host}{slash}{rest}", identity


def _s3(shown: str, bucket: str, options: dict[str, Any], stall_s: float) -> fs.FileSystem:
    options["anonymous"] = _flag(options.get("anonymous"))
    if "region" not in options:
        options["region"] = _region(shown, bucket, options)
    with _constructing:
        # The number of connections is taken from the size of pyarrow's own pool of threads when the client is made.
        before = pa.io_thread_count()
        pa.set_io_thread_count(max(before, MAX_CONNECTIONS))
        try:
            return fs.S3FileSystem(
                **{name: value for name, value in options.items() if value is not None},
                request_timeout=stall_s,
                retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=1),
            )
        finally:
            pa.set_io_thread_count(before)


def _region(shown: str, bucket: str, options: dict[str, Any]) -> str:
    named = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if named:
        return named
    if "endpoint_override" in options or os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT_URL_S3"):
        return "us-east-1"
    try:
        return str(fs.resolve_s3_region(bucket))
    except OSError as error:
        raise SourceError(
            f"{shown}: the region of bucket '{bucket}' can't be found ({error}); check the bucket's name and the "
            "network, or add ?region=…, or ?endpoint_override=… for a store that is not Amazon's"
        ) from error


def _gcs(shown: str, bucket: str, options: dict[str, Any], stall_s: float) -> fs.FileSystem:
    options["anonymous"] = _flag(options.get("anonymous"))
    return fs.GcsFileSystem(**options, retry_time_limit=datetime.timedelta(seconds=int(QUICK_S)))


def _azure(shown: str, container: str, options: dict[str, Any], stall_s: float) -> fs.FileSystem:
    options.setdefault("account_name", os.environ.get("AZURE_STORAGE_ACCOUNT"))
    if not options["account_name"]:
        raise SourceError(
            f"{shown} names no storage account; write abfs://{container}@account.dfs.core.windows.net/…, or set "
            "AZURE_STORAGE_ACCOUNT"
        )
    key, token = os.environ.get("AZURE_STORAGE_KEY"), os.environ.get("AZURE_STORAGE_SAS_TOKEN")
    return fs.AzureFileSystem(**options, account_key=key, sas_token=None if key else token)


def _flag(value: str | None) -> bool:
    return (value or "").lower() in ("1", "true", "yes")

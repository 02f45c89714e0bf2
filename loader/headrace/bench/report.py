"""What a run measured, as JSON or for a terminal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figures:
    """What one run measured; rates are medians over the rounds."""

    loader_tokens_per_s: float
    plain_read_tokens_per_s: float | None
    "None where the files are not on this machine"
    plain_read: str
    "`mapped`, or `decoded` where a source is Parquet"
    ratio: float | None
    "median over rounds of loader / plain read, each pair measured one after the other"
    cpu_ns_per_token: float
    "user and system time of the process"
    pace_tokens_per_s: float
    "of the loop that the next two are about"
    wait_share: float
    "part of its time that a loop at this pace waits for data, 0 to 1"
    python_slowdown: float
    "how much longer pure Python takes beside the loader than alone; 0.05 is 5 %"
    first_batch_s: float
    "from making a loader to its first batch, in a warm process"
    resume_s: float
    "the same for one that goes on from step 10,000,000"
    resume_ratio: float
    cold_first_batch_s: float
    "in a fresh process, from after `import torch`"
    peak_memory_mib: float
    "private memory of that process above the interpreter with torch"
    peak_mapped_mib: float
    "pages of mapped files beside it, which the system takes back when it needs them"
    state_bytes: int
    tokens_in_sources: int
    padded_share: float
    "part of all places that is padding, 0 with joined documents"
    cut_share: float | None
    "documents no longer than a sequence that best-fit packing splits all the same; None with joined documents"


def as_text(figures: Figures) -> str:
    """A line for each figure, within 80 columns."""
    rows = [("loader", f"{figures.loader_tokens_per_s / 1e6:,.1f} M tokens/s")]
    if figures.plain_read_tokens_per_s is None or figures.ratio is None:
        rows.append(("plain read", "none: the files are not on this machine"))
    else:
        name = "pyarrow alone, decoding" if figures.plain_read == "decoded" else "plain memory-mapped read"
        rows += [
            (name, f"{figures.plain_read_tokens_per_s / 1e6:,.1f} M tokens/s"),
            ("ratio", f"{figures.ratio:.3f}"),
        ]
    pace = f"at {figures.pace_tokens_per_s / 1e6:,.2f} M tokens/s"
    rows += [
        ("CPU time", f"{figures.cpu_ns_per_token:.2f} ns/token"),
        ("data-wait", f"{figures.wait_share:.2%} of the loop's time {pace}"),
        ("slowdown of Python beside", f"{figures.python_slowdown:+.1%} {pace}"),
        ("first batch", f"{figures.cold_first_batch_s:.3f} s after `import torch` in a cold process"),
        ("", f"{figures.first_batch_s:.3f} s after the loader was made in a warm one"),
        ("resume at step 10,000,000", f"{figures.resume_s:.3f} s, {figures.resume_ratio:.2f} of a fresh start"),
        ("memory", f"{figures.peak_memory_mib:,.0f} MiB above the interpreter with torch"),
        ("", f"and {figures.peak_mapped_mib:,.0f} MiB of mapped pages that can be dropped"),
        ("state", f"{figures.state_bytes:,} bytes"),
        ("data", f"{figures.tokens_in_sources:,} tokens"),
    ]
    if figures.cut_share is not None:
        packed = f"{figures.padded_share:.2%} of places padded, {figures.cut_share:.3%} of documents cut"
        rows.append(("packing", packed))
    return "\n".join(f"{name:<27}{value}" for name, value in rows)

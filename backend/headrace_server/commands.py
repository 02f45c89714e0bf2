"""``headrace-server jobs | mix | export | figure | report``: the API from a shell, by HEADRACE_URL and HEADRACE_TOKEN.

Exit codes: 0 done, 1 refused, 2 wrong usage, 3 somebody changed the mix first, 4 no answer, 5 recorded but waiting for
an approval. The token is read from the environment only: options show in the process list.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from .client import AwaitingApprovalError, Client, ClientError, Job, MixChangedError, UnreachableError
from .exports.schemas import Format, What
from .figures.schemas import FigureName
from .jobs.schemas import JobState, JobSummary
from .mix.schemas import MixPreview, MixVersion
from .series.schemas import Axis

REFUSED, CHANGED, UNREACHABLE, WAITING = 1, 3, 4, 5
NAMES = ("jobs", "mix", "export", "figure", "report")


def _weight(text: str) -> tuple[str, float]:
    name, equals, number = text.rpartition("=")
    try:
        if name and equals:
            return name, float(number)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not SOURCE=WEIGHT, as in web=0.7")


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Describe the commands."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--url", help="where the server is (HEADRACE_URL)")
    shared.add_argument("--project", help="whose jobs (HEADRACE_PROJECT, else default)")
    shared.add_argument("--json", action="store_true", help="print what the API says, as JSON")

    jobs = commands.add_parser("jobs", parents=[shared], help="list jobs")
    jobs.add_argument("name", nargs="?", help="part of the name")
    jobs.add_argument("--state", choices=get_args(JobState))
    jobs.add_argument("--archived", action="store_true", help="those that were put away")

    _add_mix(commands, shared)
    export = commands.add_parser("export", parents=[shared], help="write what is kept of a job to a file")
    export.add_argument("job")
    export.add_argument("what", choices=get_args(What))
    export.add_argument("--output", "-o", type=Path, required=True, help="the file; .parquet is written as Parquet")
    export.add_argument("--format", dest="file_format", choices=get_args(Format))

    figure = commands.add_parser("figure", parents=[shared], help="write a chart: a page (.html) or Plotly's JSON")
    figure.add_argument("job")
    figure.add_argument("name", choices=get_args(FigureName))
    figure.add_argument("--x", choices=get_args(Axis), default="step")
    figure.add_argument("--output", "-o", type=Path, required=True)

    report = commands.add_parser("report", parents=[shared], help="write a job's report, one page of HTML")
    report.add_argument("job")
    report.add_argument("--output", "-o", type=Path, required=True)


def _add_mix(commands: "argparse._SubParsersAction[argparse.ArgumentParser]", shared: argparse.ArgumentParser) -> None:
    mix = commands.add_parser("mix", help="look at a job's mix and change it").add_subparsers(
        dest="action", required=True
    )
    for action, about in (("show", "the newest version"), ("history", "every version, newest first")):
        mix.add_parser(action, parents=[shared], help=about).add_argument("job")
    change = argparse.ArgumentParser(add_help=False)
    change.add_argument("--reason", required=True, help="why; it stays in the history")
    change.add_argument("--wait", action="store_true", help="until every rank has it")
    change.add_argument("--timeout-s", type=float, default=300.0, help="with --wait (300)")
    based = argparse.ArgumentParser(add_help=False)
    based.add_argument("--base", type=int, metavar="VERSION", help="the version you looked at; a newer one refuses")
    for action, about, parents in (
        ("set", "change the weights", [shared, change, based]),
        ("preview", "what weights would mean; changes nothing", [shared]),
    ):
        sub = mix.add_parser(action, parents=parents, help=about)
        sub.add_argument("job")
        sub.add_argument("weights", nargs="+", type=_weight, metavar="SOURCE=WEIGHT", help="every source; 0 pauses one")
        sub.add_argument("--ramp-steps", type=int, default=0)
        if action == "set":
            sub.add_argument("--from-step", type=int)
    revert = mix.add_parser("revert", parents=[shared, change, based], help="a new version with an older one's weights")
    revert.add_argument("job")
    revert.add_argument("version", type=int)
    for action, about in (("pause", "stop a source at once"), ("resume", "return a paused source to its weight")):
        sub = mix.add_parser(action, parents=[shared, change], help=about)
        sub.add_argument("job")
        sub.add_argument("source")


def run(args: argparse.Namespace) -> int:
    """Do what was asked; returns the exit code."""
    try:
        with Client(args.url, project=args.project) as client:
            _COMMANDS[args.command](client, args)
    except MixChangedError as error:
        print(f"headrace-server: {error.detail}", file=sys.stderr)
        print(_version_line(error.current), file=sys.stderr)
        return CHANGED
    except AwaitingApprovalError as error:
        print(f"headrace-server: {error}", file=sys.stderr)
        return WAITING
    except ClientError as error:
        print(f"headrace-server: {error}", file=sys.stderr)
        return UNREACHABLE if isinstance(error, UnreachableError) else REFUSED
    except OSError as error:
        print(f"headrace-server: {error}", file=sys.stderr)
        return REFUSED
    return 0


def _print_json(found: BaseModel | Sequence[BaseModel]) -> None:
    if isinstance(found, BaseModel):
        print(found.model_dump_json(indent=2))
    else:
        print(json.dumps([item.model_dump(mode="json") for item in found], ensure_ascii=False, indent=2))


def plain(text: str) -> str:
    """A text on one line of a terminal, with nothing in it that the terminal obeys."""
    return "".join(char if char.isprintable() else "�" for char in text)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns side by side, as wide as they need."""
    lines = [list(columns), *([plain(cell) for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _job_row(job: JobSummary) -> list[str]:
    step = _count(job.step) + (f" / {job.total_steps:,}" if job.total_steps is not None else "")
    mix = " ".join(f"{share.source}={share.target_ppm / 10_000:.4g}%" for share in job.mix)
    return [job.name, job.state, step, _count(job.tokens_per_s), f"{job.ranks_live}/{job.ranks_total}", mix]


def _jobs(client: Client, args: argparse.Namespace) -> None:
    found = list(client.jobs(args.name, state=args.state, archived=args.archived))
    if args.json:
        _print_json(found)
    else:
        print(table(["JOB", "STATE", "STEP", "TOKENS/S", "RANKS", "MIX"], map(_job_row, found)))


def _weights(weights_ppm: dict[str, int]) -> str:
    return " ".join(f"{name}={ppm / 10_000:.4g}%" for name, ppm in weights_ppm.items())


def _version_line(found: MixVersion) -> str:
    return plain(f"version {found.version} by {found.author}, {found.life.state}: {_weights(found.weights_ppm)}")


def _version_row(found: MixVersion) -> list[str]:
    agreed = found.life.agreed_step
    created = f"{found.created_at:%Y-%m-%d %H:%M:%S}"
    shown = [str(found.version), found.life.state, _count(agreed), _weights(found.weights_ppm)]
    return [*shown, found.author, created, found.reason]


def _print_preview(found: MixPreview) -> None:
    rows = []
    for name, ppm in found.weights_ppm.items():
        epochs = found.epochs_at_end.get(name)
        shown = "" if epochs is None else f"{epochs:.2f}"
        rows.append([name, f"{ppm / 10_000:.4g}%", f"{found.delta_ppm[name] / 10_000:+.4g}", shown])
    print(table(["SOURCE", "WEIGHT", "CHANGE", "EPOCHS AT END"], rows))
    for warning in found.warnings:
        print(plain(f"{warning.code}: {warning.message}"))


def _changed(job: Job, args: argparse.Namespace) -> MixVersion:
    if args.action == "set":
        made = job.set_mix(
            dict(args.weights),
            reason=args.reason,
            from_step=args.from_step,
            ramp_steps=args.ramp_steps,
            base=args.base,
        )
    elif args.action in ("pause", "resume"):
        made = (job.pause if args.action == "pause" else job.resume)(args.source, reason=args.reason)
    else:
        made = job.revert(args.version, reason=args.reason, base=args.base)
    return job.wait_applied(made, timeout_s=args.timeout_s) if args.wait else made


def _mix(client: Client, args: argparse.Namespace) -> None:
    job = client.job(args.job)
    if args.action == "preview":
        previewed = job.preview(dict(args.weights), ramp_steps=args.ramp_steps)
        _print_json(previewed) if args.json else _print_preview(previewed)
    elif args.action == "history":
        versions = list(job.history())
        if args.json:
            _print_json(versions)
        else:
            names = ["VERSION", "STATE", "FROM STEP", "WEIGHTS", "BY", "WHEN (UTC)", "REASON"]
            print(table(names, map(_version_row, versions)))
    else:
        version = job.mix if args.action == "show" else _changed(job, args)
        _print_json(version) if args.json else print(_version_line(version))


def _wrote(args: argparse.Namespace, path: Path) -> None:
    size = path.stat().st_size
    print(json.dumps({"path": str(path), "bytes": size}) if args.json else f"{path}: {size:,} bytes")


def _export(client: Client, args: argparse.Namespace) -> None:
    _wrote(args, client.job(args.job).export(args.output, args.what, file_format=args.file_format))


def _figure(client: Client, args: argparse.Namespace) -> None:
    figure = client.job(args.job).figure(args.name, x=args.x)
    html = args.output.suffix.lower() in (".html", ".htm")
    text: str = figure.to_html(include_plotlyjs=True) if html else figure.to_json()
    args.output.write_text(text, encoding="utf-8")
    _wrote(args, args.output)


def _report(client: Client, args: argparse.Namespace) -> None:
    _wrote(args, client.job(args.job).report(args.output))


_COMMANDS: dict[str, Callable[[Client, Any], None]] = {
    "jobs": _jobs,
    "mix": _mix,
    "export": _export,
    "figure": _figure,
    "report": _report,
}

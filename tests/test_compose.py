"""The compose file and the images it builds, as far as that can be known without a Docker engine.

Where a client can read compose files (`docker compose` or `docker-compose`), it must accept this one.
"""

import fnmatch
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from headrace_server.settings import Settings

ROOT = Path(__file__).parents[1]
COMPOSE = ROOT / "docker-compose.yml"
PROXY = ROOT / "docker" / "haproxy.cfg"
DOCKERFILES = sorted((ROOT / "docker").glob("*.Dockerfile"))
PASSWORD = "POSTGRES_PASSWORD"


def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())["services"]
    return found


@cache
def client() -> tuple[str, ...] | None:
    """A command that reads compose files, or None."""
    for command in (("docker", "compose"), ("docker-compose",)):
        if shutil.which(command[0]):
            asked = subprocess.run([*command, "version"], capture_output=True, check=False)
            if asked.returncode == 0:
                return command
    return None


def configured(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """What the client makes of the compose file with just these variables; the developer's own `.env` is not read."""
    command = client()
    assert command is not None
    (tmp_path / "empty.env").touch()
    plain = {name: value for name, value in os.environ.items() if name != PASSWORD}
    options = ["--file", str(COMPOSE), "--project-directory", str(ROOT), "--env-file", str(tmp_path / "empty.env")]
    return subprocess.run(
        [*command, *options, "config"], env=plain | environment, capture_output=True, text=True, check=False
    )


def instructions(dockerfile: Path) -> Iterator[tuple[str, str]]:
    """(NAME, arguments) of each instruction, continued lines joined."""
    text = re.sub(r"(?m)^\s*#.*\n", "", dockerfile.read_text()).replace("\\\n", " ")
    for line in filter(None, (line.strip() for line in text.splitlines())):
        name, _, arguments = line.partition(" ")
        yield name.upper(), arguments.strip()


def sent_to_the_builder(path: str) -> bool:
    """Whether `.dockerignore` lets a path into the build: of the patterns that match it, the last one decides."""
    ignored = False
    for pattern in (ROOT / ".dockerignore").read_text().split("\n"):
        if pattern and not pattern.startswith("#"):
            plain = pattern.lstrip("!").removeprefix("**/")
            parts = Path(path).parts
            prefixes = ["/".join(parts[: i + 1]) for i in range(len(parts))]
            anywhere = "**/" in pattern and any(fnmatch.fnmatch(part, plain) for part in parts)
            if anywhere or any(fnmatch.fnmatch(prefix, plain) for prefix in prefixes):
                ignored = not pattern.startswith("!")
    return not ignored


def test_a_client_accepts_the_file_and_needs_only_the_password(tmp_path: Path) -> None:
    if client() is None:
        pytest.skip("no client that reads compose files; the other tests read the file themselves")
    accepted = configured(tmp_path, **{PASSWORD: "made-for-this-test"})
    assert accepted.returncode == 0, accepted.stderr
    assert set(yaml.safe_load(accepted.stdout)["services"]) == set(services())
    for refused in (configured(tmp_path), configured(tmp_path, **{PASSWORD: ""})):
        assert refused.returncode != 0
        assert f"set {PASSWORD}" in refused.stderr


def test_the_database_password_has_no_default_anywhere() -> None:
    uses = re.findall(r"\$\{?POSTGRES_PASSWORD[^}\s]*", COMPOSE.read_text())
    assert uses and all(use.startswith("${POSTGRES_PASSWORD:?") for use in uses), uses
    for name, service in services().items():
        for variable, value in service.get("environment", {}).items():
            if re.search("PASSWORD|TOKEN$|KEY|SECRET", variable):
                assert str(value).startswith("${POSTGRES_PASSWORD:?"), f"{name}: {variable} is {value!r}"
            assert not re.search(r"//[^/@]*:[^@]*@", str(value)), f"{name}: a password in {variable}"


def test_services_start_in_order() -> None:
    waits = {name: service.get("depends_on", {}) for name, service in services().items()}
    conditions = {name: {on: how["condition"] for on, how in waiting.items()} for name, waiting in waits.items()}
    completed = "service_completed_successfully"
    assert conditions == {
        "postgres": {},
        "migrate": {"postgres": "service_healthy"},
        "server-a": {"postgres": "service_healthy", "migrate": completed},
        "server-b": {"postgres": "service_healthy", "migrate": completed},
        "proxy": {"server-a": "service_healthy", "server-b": "service_healthy"},
        "demo-key": {"migrate": completed},
        "demo": {"proxy": "service_healthy", "demo-key": completed},
    }
    for waiting in conditions.values():
        for on, condition in waiting.items():
            if condition == "service_healthy":
                in_image = any(name == "HEALTHCHECK" for name, _ in instructions(dockerfile_of(on)))
                assert "healthcheck" in services()[on] or in_image, f"nothing says when {on} is healthy"


def dockerfile_of(service: str) -> Path:
    build = services()[service].get("build")
    return ROOT / build["dockerfile"] if build else Path(os.devnull)


def test_only_loopback_is_published_and_every_image_of_ours_is_confined() -> None:
    for name, service in services().items():
        assert all(str(port).startswith("127.0.0.1:") for port in service.get("ports", [])), name
        if "build" in service:
            assert service["cap_drop"] == ["ALL"] and service["security_opt"] == ["no-new-privileges:true"], name


def test_only_the_servers_and_what_sets_them_up_reach_the_database_and_only_the_proxy_is_published() -> None:
    on_database = {name for name, service in services().items() if "database" in service.get("networks", [])}
    assert on_database == {"postgres", "migrate", "server-a", "server-b", "demo-key"}
    assert yaml.safe_load(COMPOSE.read_text())["networks"]["database"]["internal"] is True
    assert [name for name, service in services().items() if service.get("ports")] == ["proxy"]


def test_the_servers_believe_the_proxy_alone_about_who_is_calling() -> None:
    proxy = services()["proxy"]["networks"]["front"]["ipv4_address"]
    for name in ("server-a", "server-b"):
        assert services()[name]["environment"]["FORWARDED_ALLOW_IPS"] == proxy
    text = PROXY.read_text()
    for header in ("X-Forwarded-For", "X-Forwarded-Proto", "Forwarded"):
        assert f"http-request del-header {header}\n" in text
    assert text.index("del-header X-Forwarded-For") < text.index("option forwardfor")


def test_the_proxy_has_both_servers_checks_them_and_lets_streams_last() -> None:
    text = PROXY.read_text()
    port = "8400"
    assert re.findall(r"(?m)^\s+server \S+ (\S+)$", text) == [f"server-a:{port}", f"server-b:{port}"]
    assert "option httpchk GET /readyz" in text and "on-marked-down shutdown-sessions" in text
    assert re.findall(r"timeout (?:client|server) (\w+)", text) == ["1h", "1h"]
    assert services()["proxy"]["volumes"] == [f"./{PROXY.relative_to(ROOT)}:/usr/local/etc/haproxy/haproxy.cfg:ro"]


def test_every_service_has_limits_and_one_that_lives_a_check() -> None:
    for name, service in services().items():
        limits = service["deploy"]["resources"]["limits"]
        assert limits.keys() == {"cpus", "memory"}, name
        if service.get("restart") == "unless-stopped" and "build" not in service:
            assert service["healthcheck"]["test"], name


def test_servers_have_longer_to_stop_than_they_take() -> None:
    for name in ("server-a", "server-b"):
        assert int(services()[name]["stop_grace_period"].removesuffix("s")) >= Settings().shutdown_s + 5


def test_server_variables_are_settings() -> None:
    prefix = "HEADRACE_SERVER_"
    text = "\n".join(path.read_text() for path in [COMPOSE, *DOCKERFILES])
    used = set(re.findall(rf"{prefix}([A-Z_]+)(?=[:=])", text))
    assert used
    assert {name.lower() for name in used} <= set(Settings.model_fields)


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.stem)
def test_every_copied_file_exists_and_reaches_the_builder(dockerfile: Path) -> None:
    copied = []
    for name, arguments in instructions(dockerfile):
        words = [word for word in arguments.split() if not word.startswith("--chmod")]
        if name == "COPY" and not words[0].startswith("--from"):
            copied += words[:-1]
    assert copied
    for source in copied:
        assert (ROOT / source).exists(), f"{dockerfile.name} copies {source}, which does not exist"
        assert sent_to_the_builder(source.rstrip("/")), f"{source} is in .dockerignore"
    for secret in (
        ".env",
        ".git/config",
        ".venv/bin/python",
        "operator.curl",
        "frontend/node_modules/vite/package.json",
    ):
        assert not sent_to_the_builder(secret), f"{secret} would be sent to the builder"


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.stem)
def test_the_image_runs_as_a_user_without_rights(dockerfile: Path) -> None:
    steps = list(instructions(dockerfile))
    last_stage = max(i for i, (name, _) in enumerate(steps) if name == "FROM")
    users = [arguments for name, arguments in steps[last_stage:] if name == "USER"]
    assert users and users[-1] not in ("root", "0")
    assert not any(":latest" in arguments or ":" not in arguments for name, arguments in steps if name == "FROM")


def test_the_job_script_says_what_is_missing() -> None:
    script = ROOT / "docker" / "demo-job.sh"
    ran = subprocess.run(
        ["sh", str(script)], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False
    )
    assert ran.returncode != 0
    assert "HEADRACE_URL" in ran.stderr and "where the control plane is" in ran.stderr

"""The files for deployment: they parse, and every command, path, port and variable in them is one of ours.

No image is built here, and nothing is started: this machine has neither a Docker daemon nor a cluster.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from documents import ROOT, blocks

from leadhand.cli.catalogue import COMMANDS
from leadhand.cli.commands.serve import PORT
from leadhand.cli.parser import Call, parse

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
PAGES = [ROOT / "docs" / "how-to" / name for name in ("deploy.md",)]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
HOME = "/var/lib/leadhand"
NAMES = "|".join(sorted({words.partition(" ")[0] for words in COMMANDS}))
COMMAND = re.compile(rf"(?:leadhand|run --rm server) ((?:{NAMES})\b.*)")
"""A call of leadhand: by itself, in the image of a service, or in a pod."""
PROGRAM = "/opt/leadhand/bin/leadhand"


def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


def manifests() -> list[dict[str, Any]]:
    return [each for path in MANIFESTS for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))]


def containers() -> Iterator[dict[str, Any]]:
    for each in manifests():
        if each["kind"] == "Deployment":
            yield from each["spec"]["template"]["spec"]["containers"]


def command_lines() -> Iterator[list[str]]:
    """The arguments of every call of leadhand in these files."""
    for words in re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE):
        yield yaml.safe_load(words)
    for service in compose()["services"].values():
        if service["image"] == "leadhand":
            yield [str(word) for word in service["command"]]
    for unit in UNITS:
        program, *words = shlex.split(re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)[0])
        assert program == PROGRAM
        yield words
    for container in containers():
        yield [str(word) for word in container["args"]]
    for page in PAGES:
        for block in blocks(page, "console", "shell"):
            for line in block.text.replace("\\\n", " ").splitlines():
                found = COMMAND.search(line)
                if found is not None:
                    yield shlex.split(found[1], comments=True)


@pytest.mark.parametrize("words", list(command_lines()), ids=" ".join)
def test_every_command_is_understood(words: list[str]) -> None:
    assert isinstance(parse(words), Call)


def test_the_image_runs_as_an_ordinary_user_and_is_checked() -> None:
    _, build, final = DOCKERFILE.split("\nFROM ")
    assert "AS build" in build
    assert re.search(r"^USER 10001$", final, re.MULTILINE)
    assert f"http://127.0.0.1:{PORT}/readyz" in final
    assert f"EXPOSE {PORT}\n" in final
    assert f"LEADHAND_HOME={HOME} " in final
    extras = re.findall(r'^ARG EXTRAS="(.*)"$', build, re.MULTILINE)[0].split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras) <= project["optional-dependencies"].keys()


def test_the_build_has_what_the_package_is_made_of() -> None:
    """Everything that hatch reads is let through; see hatch_build.py."""
    let_through = re.findall(r"^!/(\S+?)/?$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert {"src", "docs", "console", "hatch_build.py", "pyproject.toml", "README.md", "LICENSE"} == set(let_through)
    assert all((ROOT / path).exists() for path in let_through)


def test_the_services_wait_for_the_database_and_publish_to_this_machine_only() -> None:
    services = compose()["services"]
    for name in ("server", "host"):
        assert services[name]["depends_on"] == {"database": {"condition": "service_healthy"}}
        url = services[name]["environment"]["LEADHAND_DATABASE_URL"]
        assert url.startswith("postgresql://leadhand:${POSTGRES_PASSWORD")
        assert url.endswith("@database/leadhand")
    assert services["server"]["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert "ports" not in services["database"]


def test_hosts_have_more_time_to_end_than_they_take() -> None:
    unit = (DEPLOY / "systemd" / "leadhand-host@.service").read_text(encoding="utf-8")
    (pod,) = [
        each["spec"]["template"]["spec"]
        for each in manifests()
        if each["metadata"]["name"] == "leadhand-host" and each["kind"] == "Deployment"
    ]
    patience = {
        int(compose()["services"]["host"]["stop_grace_period"].removesuffix("m")) * 60,
        pod["terminationGracePeriodSeconds"],
    }
    patience.add(int(re.findall(r"^TimeoutStopSec=(.*)$", unit, re.MULTILINE)[0]))
    graces = {int(words[words.index("--grace") + 1]) for words in command_lines() if "--grace" in words}
    assert len(graces) == 1
    assert max(graces) < min(patience)
    assert all("--grace" in words for words in command_lines() if words[0] == "work")


def test_the_metrics_that_hosts_are_scaled_by_are_those_of_a_server() -> None:
    offered = (ROOT / "src" / "leadhand" / "server" / "metrics.py").read_text(encoding="utf-8")
    (scaled,) = [each for each in manifests() if each["kind"] == "ScaledObject"]
    for trigger in scaled["spec"]["triggers"]:
        assert f'"{re.findall(r"leadhand_[a-z_]+", trigger["metadata"]["query"])[0]}"' in offered


def test_the_manifests_fit_together() -> None:
    named = {(each["kind"], each["metadata"]["name"]): each for each in manifests()}
    scaled = named["ScaledObject", "leadhand-host"]["spec"]["scaleTargetRef"]["name"]
    assert ("Deployment", scaled) in named
    service = named["Service", "leadhand"]["spec"]
    server = named["Deployment", "leadhand-server"]["spec"]
    assert service["selector"] == server["selector"]["matchLabels"] == server["template"]["metadata"]["labels"]
    assert service["ports"][0]["port"] == PORT
    for container in containers():
        assert container["volumeMounts"] == [{"name": "home", "mountPath": HOME}]
    (checked,) = [each for each in containers() if "readinessProbe" in each]
    assert checked["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert checked["ports"][0]["containerPort"] == PORT


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    for unit in UNITS:
        text = unit.read_text(encoding="utf-8").replace(PROGRAM, sys.executable)
        (tmp_path / unit.name.replace("@", "@1")).write_text(text, encoding="utf-8")
    verified = subprocess.run(
        ["systemd-analyze", "verify", *sorted(map(str, tmp_path.glob("*.service")))],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (verified.returncode, verified.stderr) == (0, "")

"""The three commands of the guide, typed by somebody who has nothing yet: from the installation to an answer."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from apis import PETSTORE, Api, star_trek
from processes import PATIENCE_S, start_async

from leadhand.testing.faults import served_by
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.scripted_model import ScriptedModel, plans, subtask

ROOT = Path(__file__).resolve().parents[2]
BLOCK = (ROOT / "docs" / "how-to" / "call-an-api.md").read_text().split("```shell\n")[1].partition("```")[0]
PIPES: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
HOSTED = "https://petstore3.swagger.io/api/v3"


@pytest.mark.slow
async def test_three_commands_lead_from_the_installation_to_an_answer(tmp_path: Path) -> None:
    """The package is this checkout, the model and the petstore are scripted servers; all else is as it is shown."""
    install, model, ask = BLOCK.splitlines()
    assert (install, model.partition(":")[0]) == ("pip install leadhand", "export LEADHAND_MODEL=openai")
    python, environment = tmp_path / "venv" / "bin" / "python", tmp_path / "venv"
    for words in (
        ["venv", "-q", "-p", sys.executable, environment],
        ["pip", "install", "-q", "-p", python, "-e", ROOT],
    ):
        subprocess.run(["uv", *words], check=True, cwd=tmp_path)
    order = plans(subtask("sold", "findPetsByStatus", status=["sold"]))
    script = served_by(ScriptedModel(plan=order, lenient=True))
    async with ScriptedServer(script) as server, Api(PETSTORE).open() as api:
        document = json.loads(PETSTORE.read_text()) | {"servers": [{"url": "/"}]}
        api.answers |= {"GET /openapi.json": document, "GET /pet/findByStatus": [{"name": "Rex", "photoUrls": []}]}
        own = {"LEADHAND_HOME": str(tmp_path / "home"), "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        own["PATH"] = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
        typed, pipes = (
            f"{model}\n{ask.replace(HOSTED, api.url)}",
            {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE},
        )
        shell = await asyncio.create_subprocess_shell(typed, env={**os.environ, **own}, cwd=tmp_path, **pipes)
        said, log = await shell.communicate()
    assert shell.returncode == 0, log.decode()
    assert "Rex" in said.decode()
    assert api.received[-1].query == [("status", "sold")]


async def test_a_project_names_its_apis(tmp_path: Path) -> None:
    (tmp_path / "petstore.json").write_text(PETSTORE.read_text())
    async with Api(PETSTORE).open() as api:
        api.answers["GET /pet/7"] = {"name": "Rex", "photoUrls": []}
        table = f'document = "petstore.json"\nbase_url = "{api.url}"\nheaders = {{api_key = "env:KEY"}}\n'
        (tmp_path / "leadhand.toml").write_text(f'[openapi.pets]\n{table}include = ["getPetById"]\n')
        (tmp_path / "elsewhere").mkdir()
        environment = {**os.environ, "LEADHAND_HOME": str(tmp_path / "home"), "KEY": "a-key-of-the-store"}
        command = (sys.executable, "-m", "leadhand", "tools", "call", "getPetById", "petId=7", "--project", "..")
        process = await start_async(*command, cwd=str(tmp_path / "elsewhere"), env=environment, **PIPES)
        said, log = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert process.returncode == 0, log.decode()
    assert "Rex" in said.decode()
    assert api.received[0].headers["api_key"] == "a-key-of-the-store"


@pytest.mark.parametrize("words", [["get_animal", "uid=x"], ["trek_call", "operation=get_animal", "args={}"]])
async def test_who_calls_an_operation_of_many_by_another_form_is_told_the_right_one(
    tmp_path: Path, words: list[str]
) -> None:
    environment = {**os.environ, "LEADHAND_HOME": str(tmp_path / "home")}
    document = star_trek(tmp_path).rename(tmp_path / "trek.json")
    command = (sys.executable, "-m", "leadhand", "tools", "call", *words, "--openapi", str(document))
    process = await start_async(*command, cwd=str(tmp_path), env=environment, **PIPES)
    _, log = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert process.returncode == 2
    assert "trek_call" in log.decode()
    assert "arguments='{…}'" in log.decode()

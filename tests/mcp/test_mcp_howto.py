"""The three commands of the guide, typed by somebody who has nothing yet: from the installation to an answer."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leadhand.testing.faults import served_by
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.scripted_model import ScriptedModel, plans, subtask

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "use-mcp-servers.md"


@pytest.mark.slow
async def test_three_commands_lead_from_the_installation_to_an_answer(tmp_path: Path) -> None:
    """The package is this checkout, and the model a scripted server; everything else is as it is shown."""
    install, model, ask = PAGE.read_text().split("```shell\n")[1].partition("```")[0].splitlines()
    assert model.startswith("export LEADHAND_MODEL=openai:")
    extra = install.removeprefix('pip install "leadhand').removesuffix('"')
    python, environment = tmp_path / "venv" / "bin" / "python", tmp_path / "venv"
    for words in (
        ["venv", "-q", "-p", sys.executable, environment],
        ["pip", "install", "-q", "-p", python, "-e", f"{ROOT}{extra}"],
    ):
        subprocess.run(["uv", *words], check=True, cwd=tmp_path)
    order = plans(subtask("tokyo", "get_current_time", timezone="Asia/Tokyo"))
    async with ScriptedServer(served_by(ScriptedModel(plan=order, lenient=True))) as server:
        own = {"LEADHAND_HOME": str(tmp_path / "home"), "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        own["PATH"] = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
        shell = await asyncio.create_subprocess_shell(
            f"{model}\n{ask}", env={**os.environ, **own}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
        )
        said, log = await shell.communicate()
    assert shell.returncode == 0, log.decode()
    assert "Asia/Tokyo" in said.decode()

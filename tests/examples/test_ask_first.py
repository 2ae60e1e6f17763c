"""A mail that a person has to approve (examples/ask_first.py), answered at a terminal."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import start_async

from leadhand import Leadhand
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.scripted_model import calls, says

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "ask_first.py"


@pytest.mark.parametrize(("key", "made"), [("y", [("send_mail", True)]), ("n", [])])
async def test_the_answer_of_the_person_decides(key: str, made: list[tuple[str, bool]], tmp_path: Path) -> None:
    script = [calls("send_mail", to="ann@example.org", body="The meeting is at 11."), says("That is what was asked.")]
    async with ScriptedServer(script) as server:
        settings = {"LEADHAND_BASE_URL": server.base_url, "LEADHAND_MODEL": "openai_compatible:scripted"}
        environment = {**os.environ, **settings, "LEADHAND_HOME": str(tmp_path)}
        pipe: Any = asyncio.subprocess.PIPE
        program = await start_async(sys.executable, str(EXAMPLE), env=environment, stdin=pipe, stdout=pipe)
        printed, _ = await asyncio.wait_for(program.communicate(f"{key}\n".encode()), 60)
    assert "ann@example.org" in printed.decode().partition("[y/n]")[0]
    async with Leadhand(home=tmp_path, model="offline") as lead:
        (listing,) = await lead.runs()
        answer = await (await lead.get(listing.run_id)).answer()
    assert [(each.tool, each.ok) for each in answer.done if each.ok] == made


def test_it_is_short() -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= 31

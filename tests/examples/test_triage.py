"""The triage of mails (examples/triage.py): one tool, a typed result for each mail, and a summary."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from processes import start_async

from leadhand.testing.faults import request_of
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.scripted_model import Step, brief_of, calls, gives

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "triage.py"


def sorted_by_rule(body: dict[str, Any]) -> Step:
    """Look the sender up, then sort: customers are urgent."""
    request = request_of(body, "scripted")
    mail = brief_of(request)["input"]
    if len(request.messages) < 3:
        return calls("customer", email=mail.partition(":")[0])
    return gives({"team": "billing" if "invoice" in mail else "sales", "urgent": "gold" in str(request.messages[-1])})


async def test_each_mail_gets_a_ticket_and_the_last_line_sums_up(tmp_path: Path) -> None:
    async with ScriptedServer(sorted_by_rule) as server:
        settings = {"LEADHAND_BASE_URL": server.base_url, "LEADHAND_MODEL": "openai_compatible:scripted"}
        environment = {**os.environ, **settings, "LEADHAND_HOME": str(tmp_path)}
        pipe: Any = asyncio.subprocess.PIPE
        program = await start_async(sys.executable, str(EXAMPLE), env=environment, stdout=pipe)
        printed, _ = await asyncio.wait_for(program.communicate(), 60)
    assert printed.decode().splitlines() == [
        "team='billing' urgent=True",
        "team='sales' urgent=False",
        "2 of 2",
    ]


def test_it_is_short() -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= 20

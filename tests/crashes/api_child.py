"""A run that calls one operation of an API, as a program that tests kill: ``python api_child.py CONFIG``, JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from leadhand import Leadhand
from leadhand.core.tool import ApprovalPolicy
from leadhand.testing.scripted_model import ScriptedModel, plans, subtask
from leadhand.tools.openapi import openapi

CONFIG: dict[str, Any] = json.loads(sys.argv[1])


async def live() -> None:
    plan = plans(subtask("act", CONFIG["tool"], **CONFIG["args"]))
    source = openapi(CONFIG["document"], base_url=CONFIG["url"])
    models = ScriptedModel(plan=[plan], lenient=True)
    async with Leadhand(models=models, tools=[source], home=CONFIG["home"], approve=ApprovalPolicy.AUTO) as lead:
        run = await (lead.resume(CONFIG["resume"]) if "resume" in CONFIG else lead.start("Act."))
        print(run.run_id, flush=True)
        status = (await run.wait()).status.value
        print(json.dumps({"status": status, "asked": [each.approval.kind for each in await lead.approvals()]}))


asyncio.run(live())

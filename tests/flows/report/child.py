"""One life of a report, as a program that a test kills: ``python child.py CONFIG``, JSON.

Every request to the model is a line in the file ``calls``. The request of the assignment ``hold`` is never answered.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from flows.report.reports import TOPIC, WRONG, assignment_of, lead, model

CONFIG: dict[str, Any] = json.loads(sys.argv[1])


def note(line: str) -> None:
    descriptor = os.open(CONFIG["calls"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


async def live() -> None:
    scripted = model(draft_1=WRONG)
    ask = scripted.ask

    async def noted(request: Any, on_text: Any = None) -> Any:
        note(assignment_of(request))
        if assignment_of(request) == CONFIG["hold"]:
            print(json.dumps({"held": CONFIG["hold"]}), flush=True)
            await asyncio.Event().wait()
        return await ask(request, on_text)

    scripted.ask = noted
    async with lead(Path(CONFIG["home"]), scripted) as opened:
        resumed = CONFIG.get("resume")
        run = await (opened.resume(resumed) if resumed else opened.start(TOPIC, flow="report"))
        print(json.dumps({"run_id": run.run_id}), flush=True)
        answer = await run.answer()
        task = answer.document["task"]
        print(json.dumps({"status": answer.status.value, "answer": answer.text, "drafts": len(task["drafts"])}))


asyncio.run(live())

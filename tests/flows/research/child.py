"""One life of a research run, as a program that a test kills: ``python child.py CONFIG``, JSON.

Every request to the model is a line in the file ``calls``: the worker and the turn, for a subagent also its task. The
request that equals ``hold`` is never answered. ``limits`` are those of the run that is started or resumed.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from flows.judges import judge
from flows.research.runs import QUESTION, SOUND, both, lead, model, search
from leadhand import Leadhand, Limits
from leadhand.testing.scripted_model import brief_of, calls

CONFIG: dict[str, Any] = json.loads(sys.argv[1])


def name_of(request: Any) -> str:
    turn = sum(message.role == "assistant" for message in request.messages) + 1
    task = f"-{brief_of(request)['task']['task_name']}" if request.worker == "subagent" else ""
    return f"{request.worker}{task}-{turn}"


async def live() -> None:
    todos = calls("todo_list_write", todos=[{"id": "1", "content": "costs", "status": "pending"}])
    read = calls("filesystem_read", path="memory/size.md")
    scripted = model(lead=lead(todos, both, read, SOUND), writer=SOUND, judge=judge())
    ask = scripted.ask

    async def noted(request: Any, on_text: Any = None) -> Any:
        name = name_of(request)
        descriptor = os.open(CONFIG["calls"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, f"{name}\n".encode())
        os.close(descriptor)
        if name == CONFIG["hold"]:
            print(json.dumps({"held": name}), flush=True)
            await asyncio.Event().wait()
        return await ask(request, on_text)

    scripted.ask = noted
    async with Leadhand(home=Path(CONFIG["home"]), models=scripted, tools=[search], check="judge") as opened:
        resumed, limits = CONFIG.get("resume"), CONFIG.get("limits", {})
        if resumed:
            run = await opened.resume(resumed, limits=Limits(**limits))
        else:
            run = await opened.start(QUESTION, flow="research", **limits)
        print(json.dumps({"run_id": run.run_id}), flush=True)
        answer = await run.answer()
        print(json.dumps({"status": answer.status.value, "answer": answer.text}))


asyncio.run(live())

"""One life of a report, as a program that a test kills: ``python child.py CONFIG``, JSON.

Every request to the model is a line in the file ``calls``. The request of the step ``hold`` is never answered;
``draft-1#2`` is the second one.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from flows.judges import judge, step_of
from flows.report.reports import CONTRADICTED, TOPIC, WRONG, lead, model
from leadhand.testing.scripted_model import calls

CONFIG: dict[str, Any] = json.loads(sys.argv[1])


def note(line: str) -> None:
    descriptor = os.open(CONFIG["calls"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


def research_of_documents(request: Any) -> Any:
    """Search the documents of the run, and name the first passage."""
    if len(request.messages) == 2:
        return calls("web_search", query="boiler Mill Lane")
    found = re.search(r"[0-9a-f]{8}\.\d+", request.messages[-1].content)
    return {"summary": "", "findings": [{"statement": "The boiler is old.", "passages": [found[0] if found else ""]}]}


async def live() -> None:
    scripted = model(draft_1=WRONG, judge=judge(CONTRADICTED))
    more: dict[str, Any] = {"check": "judge"}
    if CONFIG.get("searches"):
        scripted = model(researcher=research_of_documents, writer="# Heat pumps\n\nThe boiler is old [p1].")
        more = {"offline": True, "documents": CONFIG.get("documents")}
    ask = scripted.ask
    seen = Counter[str]()

    async def noted(request: Any, on_text: Any = None) -> Any:
        name = step_of(request)
        name = "-".join(name.split("-")[:2]) if request.worker == "judge" else name  # without the digest of the draft
        note(name)
        seen[name] += 1
        if CONFIG["hold"] == (name if seen[name] == 1 else f"{name}#{seen[name]}"):
            print(json.dumps({"held": CONFIG["hold"]}), flush=True)
            await asyncio.Event().wait()
        return await ask(request, on_text)

    scripted.ask = noted
    async with lead(Path(CONFIG["home"]), scripted, **more) as opened:
        resumed = CONFIG.get("resume")
        run = await (opened.resume(resumed) if resumed else opened.start(TOPIC, flow="report"))
        print(json.dumps({"run_id": run.run_id}), flush=True)
        answer = await run.answer()
        task = answer.document["task"]
        ended = {"status": answer.status.value, "answer": answer.text, "drafts": len(task["drafts"])}
        print(json.dumps({**ended, "sources": [source.url for source in answer.sources]}))


asyncio.run(live())

"""A model server as a process of its own: ``python model_server.py PORT KIND``, where ``KIND`` is ``answers`` or
``holds``, which never answers a worker. It writes its port first, and a line for every call of a worker."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from leadhand.testing.faults import Serving, request_of
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.steps import brief_of, gives, says, worker_of

SUBTASKS = 8
DONE = f"all {SUBTASKS}: it is done"


async def answer(body: dict[str, Any]) -> Serving:
    request = request_of(body, "scripted")
    facts = brief_of(request)
    match worker_of(request):
        case "plan":
            how = {"tool": "measure", "expected_output": "a sentence"}
            subtasks = [{"name": f"part {n}", "args": {"n": n}, **how} for n in range(SUBTASKS)]
            return gives({"goal": "all of it", "subtasks": subtasks, "cannot": []})
        case "review":
            verdicts = [{"subtask": shown["subtask"], "verdict": "accept"} for shown in facts["subtasks"]]
            return gives({"verdicts": verdicts, "complete": True, "answer": DONE})
        case "work":
            print("work", flush=True)
            if sys.argv[2] == "holds":
                await asyncio.Event().wait()
            return says("it is done")
        case _:
            return says(DONE)


async def main() -> None:
    async with ScriptedServer(answer, port=int(sys.argv[1])) as server:
        print(server.base_url.split(":")[2].split("/")[0], flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())

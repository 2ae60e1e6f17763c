"""One life of a run, as a program that tests kill: ``python child.py CONFIG``, JSON.

It uses the public API alone. Whatever its tools and models do is a line in the file ``calls``, written at once, so
that it outlives the program. What is named in ``hold`` waits until the file ``gate`` is there.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import Any

from leadhand import FailureClass, Leadhand, LeadhandError, Limits, ToolContext, ToolError, ToolReturn, tool
from leadhand.ports.models import ModelRequest
from leadhand.stores import writer
from leadhand.stores.transaction import Append
from leadhand.testing.scripted_model import ScriptedModel, Step, brief_of, gives, plans, reviews, says, subtask

CONFIG: dict[str, Any] = json.loads(sys.argv[1])
HOLD: str = CONFIG.get("hold", "")
POLL_S = 0.01


def note(*words: object) -> None:
    """Append a line, in one system call: no other process's line gets into it, and no kill can cut it in two."""
    descriptor = os.open(CONFIG["calls"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, (" ".join(map(str, words)) + "\n").encode())
    os.close(descriptor)


def say(**said: Any) -> None:
    print(json.dumps(said), flush=True)


async def held(what: str) -> None:
    if what == HOLD:
        note("held", what)
        while not os.path.exists(CONFIG["gate"]):  # noqa: ASYNC110 (another process makes it)
            await asyncio.sleep(POLL_S)


# --- the work --------------------------------------------------------------------------------------------------------


@tool
async def piece(n: int, context: ToolContext) -> ToolReturn:
    """Do piece n of the work; there is none below zero."""
    note("call", context.call_id)
    if n < 0:
        raise ToolError(f"there is no piece {n}", type="no_such", class_=FailureClass.UNAVAILABLE)
    await asyncio.sleep(CONFIG.get("seconds", 0))
    await held(f"piece {n}")
    return ToolReturn(raw={"n": n}, summary=f"piece {n}")


@tool(effect="once")
async def pay(n: int, context: ToolContext) -> ToolReturn:
    """Pay n coins."""
    note("call", context.call_id)
    await held("pay")
    return ToolReturn(raw={"n": n}, summary=f"paid {n}")


@tool
async def fork(n: int, context: ToolContext) -> ToolReturn:
    """Leave a child of this process behind, which does nothing and stays."""
    child = os.fork()
    if not child:
        os.closerange(0, 3)  # whoever started us would wait for its end
        signal.pause()
    note("forked", child)
    return ToolReturn(raw={"n": n}, summary=f"forked {n}")


# --- the lead: what it says follows from what it is told -------------------------------------------------------------


async def planned(request: ModelRequest) -> Step:
    note("asked", request.key)
    await held("plan")
    plan = plans(*(subtask(f"{name}_{n}", name, n=n) for name, n in CONFIG["plan"]))
    return plan.slowly(CONFIG.get("word_s", 0))


async def reviewed(request: ModelRequest) -> Step:
    note("asked", request.key)
    await held("review")
    brief = brief_of(request)
    accept = [shown["subtask"] for shown in brief["subtasks"] if shown["status"] == "completed"]
    below = [shown for shown in brief["subtasks"] if shown["status"] != "completed" and shown["tool"] == "piece"]
    replan = {
        shown["subtask"]: subtask(shown["name"], "piece", n=-shown["args"]["n"])
        for shown in below
        if shown["args"]["n"] < 0
    }
    done = {*accept, *replan}
    drop = {shown["subtask"]: "it cannot be had" for shown in brief["subtasks"] if shown["subtask"] not in done}
    return reviews(accept=accept, replan=replan, drop=drop)


async def composed(request: ModelRequest) -> Step:
    note("asked", request.key)
    await held("compose")
    return says("; ".join(sorted(result["summary"] for result in brief_of(request)["results"])) or "nothing")


async def shaped(request: ModelRequest) -> Step:
    note("asked", request.key)
    await held("shape")
    return gives({"pieces": [result["summary"] for result in brief_of(request)["results"]]})


PIECES = {"type": "object", "properties": {"pieces": {"type": "array", "items": {"type": "string"}}}}


# --- its death -------------------------------------------------------------------------------------------------------


def die_at(moment: str, event: str, subject: str) -> None:
    """Have the process killed in the middle of its store: ``before`` or ``after`` the commit that holds such an event.

    ``subject`` is the beginning of what the event is about.

    What is killed here has run every line of the writer up to that point; nobody has been told of the commit yet.
    """
    transact = writer.Writer._transact_once  # pyright: ignore[reportPrivateUsage]

    def fatal(self: Any, writes: Any, **how: Any) -> Any:
        events = [each.event for write in writes if isinstance(write, Append) for each in write.events]
        if any(each.type == event and each.subject.startswith(subject) for each in events):
            connection = self._session.connection()
            commit = connection.commit

            def dies() -> None:
                if moment == "after":
                    commit()
                os.kill(os.getpid(), signal.SIGKILL)

            connection.commit = dies
        return transact(self, writes, **how)

    writer.Writer._transact_once = fatal  # pyright: ignore[reportPrivateUsage]


# --- its life --------------------------------------------------------------------------------------------------------


def new_lead() -> Leadhand:
    models = ScriptedModel(plan=planned, review=reviewed, compose=composed)
    return Leadhand(
        models=models.on(lambda request: request.worker == "shape", always=shaped),
        tools=[piece, pay, fork],
        home=CONFIG["home"],
        store=CONFIG["url"],
        limits=Limits(max_workers=CONFIG.get("max_workers", 4)),
    )


async def live() -> None:
    async with new_lead() as lead:
        if CONFIG.get("await_go"):
            say(ready=True)
            await asyncio.to_thread(sys.stdin.readline)
        try:
            output = PIECES if CONFIG.get("shape") else None
            start = lead.resume(CONFIG["resume"]) if "resume" in CONFIG else lead.start("do the work", output=output)
            run = await start
        except LeadhandError as error:
            say(refused=type(error).__name__, what=error.what)
            return
        say(run_id=run.run_id)
        answer = await run.answer()
        say(status=answer.status.value, answer=answer.text)
        if HOLD == "end":
            note("held", "end")
            await asyncio.Event().wait()


async def hammer() -> None:
    """One small run after another, several at a time; every run's end is told."""

    async def one_after_another(lead: Leadhand) -> None:
        for _ in range(CONFIG["hammer"]):
            answer = await lead.run("do the work")
            say(run_id=answer.run_id, status=answer.status.value, answer=answer.text)

    async with new_lead() as lead:
        say(ready=True)
        await asyncio.to_thread(sys.stdin.readline)
        await asyncio.gather(*(one_after_another(lead) for _ in range(3)))


if __name__ == "__main__":
    if "die" in CONFIG:
        die_at(*CONFIG["die"])
    asyncio.run(hammer() if "hammer" in CONFIG else live())

"""One life of a run of a function, as a program that tests kill: ``python child.py CONFIG``, JSON.

Whatever its models and tools do is a line in the file ``calls``, written at once, so that it outlives the program.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from typing import Any

from pydantic import BaseModel

from leadhand import Leadhand, Limits, Worker, tool
from leadhand.flows import FlowContext, flow
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, brief_of, calls, gives, says

CONFIG: dict[str, Any] = json.loads(sys.argv[1]) if __name__ == "__main__" else {}
DELAY_S: float = CONFIG.get("delay_s", 0.05)


def note(*words: object) -> None:
    descriptor = os.open(CONFIG["calls"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, (" ".join(map(str, words)) + "\n").encode())
    os.close(descriptor)


class Section(BaseModel):
    question: str


class Plan(BaseModel):
    sections: list[Section]


class Verdict(BaseModel):
    approved: bool
    problems: list[str] = []


planner = Worker("planner", "Plan.", output=Plan, loop="reply")
researcher = Worker("researcher", "Research.", loop="reply")
summarizer = Worker("summarizer", "Summarize.", loop="reply")
writer = Worker("writer", "Write.", loop="reply")
critic = Worker("critic", "Criticise.", output=Verdict, loop="reply")
mailer = Worker("mailer", "Send.", tools=("send_mail",))


@tool(effect="once", approval="auto")
async def send_mail(to: str, text: str) -> str:
    """Send a mail."""
    note("sent", to)
    await asyncio.sleep(CONFIG.get("mail_s", 0.0))
    return "sent"


@flow
async def researched(run: FlowContext, max_revisions: int = 2) -> Any:
    """Plan, research and summarise side by side, write, and revise."""
    plan = await run.ask(planner, topic=run.request)

    async def research(question: str) -> Any:
        raw = await run.ask(researcher, question=question)
        return await run.ask(summarizer, findings=raw)

    found = await run.gather(research(each.question) for each in plan.value.sections)
    draft = await run.ask(writer, plan=plan, findings=found)
    for _ in range(max_revisions):
        verdict = await run.ask(critic, draft=draft)
        if verdict.value.approved:
            break
        draft = await run.ask(writer, plan=plan, findings=found, draft=draft, problems=verdict.value.problems)
    return draft


@flow
async def mails(run: FlowContext) -> Any:
    """Send a mail that says when it was sent, by a clock that every pass reads anew."""
    found = [await run.ask(researcher, question=str(number)) for number in range(2)]
    sent = await run.ask(mailer, to="bob", findings=found, at=time.time_ns())
    return await run.ask(summarizer, findings=sent)


@flow
async def posts(run: FlowContext) -> Any:
    """The same without a model that sends it."""
    await run.call("send_mail", to="bob", text=str(time.time_ns()))
    return "posted"


@flow
async def orders(run: FlowContext) -> Any:
    """The same as a work order."""
    text = str(time.time_ns())
    await run.order("send it", [{"name": "send", "tool": "send_mail", "args": {"to": "bob", "text": text}}])
    return "ordered"


@flow
async def rolls(run: FlowContext) -> Any:
    """Steps without effects whose inputs are random."""
    found = [await run.ask(researcher, question=str(random.random())) for _ in range(3)]
    return await run.ask(writer, findings=found)


async def answer(request: ModelRequest) -> Any:
    given, worker = brief_of(request), request.messages[0].text.partition("\n")[0].rstrip(".")
    if worker == "Send":
        over = any(message.role == "tool" for message in request.messages)
        return says("I sent it") if over else calls("send_mail", to="bob", text=str(given["findings"]))
    note("asked", worker, json.dumps(given, sort_keys=True))
    await asyncio.sleep(DELAY_S)
    match worker:
        case "Plan":
            return gives({"sections": [{"question": f"q{number}"} for number in range(5)]})
        case "Research":
            return says(f"raw {given['question']}")
        case "Summarize":
            return says(f"sum of {given['findings']}")
        case "Criticise":
            return gives({"approved": given["draft"].count("!") >= 2, "problems": ["more !"]})
        case _:
            return says(f"draft{'!' * (1 + given.get('draft', '').count('!')) if 'draft' in given else ''}")


async def live() -> None:
    models = ScriptedModel().on(lambda _: True, always=answer)
    flows = [researched, mails, posts, orders, rolls]
    async with Leadhand(
        flows=flows,
        models=models,
        tools=[send_mail],
        home=CONFIG["home"],
        check="off",
        approve="auto",
        limits=Limits(budget=None, max_workers=4),
        store=CONFIG.get("url"),
    ) as lead:
        if "resume" in CONFIG:
            run = await lead.resume(CONFIG["resume"])
        else:
            run = await lead.start("cats", flow=CONFIG["flow"])
        print(json.dumps({"run_id": run.run_id}), flush=True)
        state = await run.wait()
        document = await run.document()
        told = {"status": state.status.value, "answer": document["answer"], "question": document["question"]}
        print(json.dumps({**told, "failure": document["failure"]}), flush=True)


if __name__ == "__main__":
    asyncio.run(live())

# bench-peer: name=pydantic-ai venv=core label="Pydantic AI + gather"
# bench-peer: name=pydantic-ai-dbos venv=core variant=dbos durable=1 label="Pydantic AI + DBOS (SQLite)"
# bench-peer: name=pydantic-ai-dbos-step venv=core variant=dbos-step durable=1 label="Pydantic AI + DBOS, tool as step"
"""Plan agent -> N worker agents -> compose agent; with DBOS, lead and workers are durable workflows."""

import asyncio
import os

from _common import (
    COMPOSER,
    LEAD,
    MODEL,
    TOOL_DOC,
    WORKER,
    args,
    compose_prompt,
    lookup_value,
    plan_prompt,
    run,
    work_prompt,
)
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

DURABLE = args.variant.startswith("dbos")
if DURABLE:
    from dbos import DBOS
    from pydantic_ai.durable_exec.dbos import DBOSDurability


class Args(BaseModel):
    key: str


class Subtask(BaseModel):
    name: str
    tool: str
    args: Args


class Plan(BaseModel):
    subtasks: list[Subtask]


model = OpenAIChatModel(MODEL)


def caps():
    if not DURABLE:
        return {}
    step = {"retries_allowed": True, "max_attempts": 3, "interval_seconds": 0.05} if args.retry else None
    return {"capabilities": [DBOSDurability(model_step_config=step)]}


planner = Agent(model, name="planner", instructions=LEAD, output_type=Plan, **caps())
worker = Agent(model, name="worker", instructions=WORKER, **caps())
composer = Agent(model, name="composer", instructions=COMPOSER, **caps())


async def lookup(key: str) -> str:
    return lookup_value(key)


if args.variant == "dbos-step":  # DBOS does not journal a plain tool: it is run again after a crash
    lookup = DBOS.step()(lookup)
worker.tool_plain(description=TOOL_DOC)(lookup)


async def work(i: int, key: str) -> str:
    return (await worker.run(work_prompt(i, key))).output


async def lead_plain():
    plan = (await planner.run(plan_prompt())).output
    results = await asyncio.gather(*(work(i, s.args.key) for i, s in enumerate(plan.subtasks)), return_exceptions=True)
    return results, (await composer.run(compose_prompt(results))).output


if DURABLE:
    work_workflow = DBOS.workflow(name="work")(work)

    @DBOS.workflow(name="lead")
    async def lead_durable():
        plan = (await planner.run(plan_prompt())).output
        handles = [await DBOS.start_workflow_async(work_workflow, i, s.args.key) for i, s in enumerate(plan.subtasks)]

        async def result(h):
            try:
                return await h.get_result()
            except Exception as exc:
                return f"error: {type(exc).__name__}: {exc}"

        results = [await result(h) for h in handles]
        return results, (await composer.run(compose_prompt(results))).output


async def job():
    if not DURABLE:
        return await lead_plain()
    from dbos import SetWorkflowID

    DBOS(
        config={
            "name": "bench",
            "system_database_url": f"sqlite:///{os.path.join(args.state, 'dbos.sqlite')}",
            "application_version": "1",
            "log_level": "ERROR",
            "run_admin_server": False,
        }
    )
    DBOS.launch()  # also recovers whatever was pending
    with SetWorkflowID("job"):
        handle = await DBOS.start_workflow_async(lead_durable)
    return await handle.get_result()


run(job)

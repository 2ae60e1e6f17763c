# bench-peer: name=agent-framework venv=maf label="MS Agent Framework ConcurrentBuilder"
# bench-peer: name=agent-framework-ckpt venv=maf variant=ckpt durable=1 label="MS Agent Framework + checkpoints"
# bench-peer: name=agent-framework-gather venv=maf variant=gather label="MS Agent Framework Agent.run + gather"
"""Plan agent -> ConcurrentBuilder fan-out over one agent per subtask -> aggregator composes."""

import asyncio
from pathlib import Path

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
from agent_framework import Agent, FileCheckpointStorage, tool
from agent_framework.openai import OpenAIChatCompletionClient
from pydantic import BaseModel

if args.variant != "gather":
    from agent_framework.orchestrations import ConcurrentBuilder

KEPT = Path(args.state or ".") / "plan.json"
PLANNED = KEPT.read_text() if args.state and KEPT.exists() else ""


class Args(BaseModel):
    key: str


class Subtask(BaseModel):
    name: str
    tool: str
    args: Args


class Plan(BaseModel):
    subtasks: list[Subtask]


@tool(name="lookup", description=TOOL_DOC, approval_mode="never_require")
async def lookup(key: str) -> str:
    return lookup_value(key)


async def job():
    client = OpenAIChatCompletionClient(model=MODEL, base_url=args.base_url, api_key="dummy")
    composer = Agent(client, COMPOSER, name="composer")
    if args.resume and PLANNED:  # the plan is outside the workflow: keep it ourselves
        plan = Plan.model_validate_json(PLANNED)
    else:
        lead = Agent(client, LEAD, name="lead")
        plan = (await lead.run(plan_prompt(), options={"response_format": Plan})).value
        if args.state:
            KEPT.write_text(plan.model_dump_json())

    if args.variant == "gather" or len(plan.subtasks) < 2:  # ConcurrentBuilder refuses a single participant
        worker = Agent(client, WORKER, name="worker", tools=[lookup])

        async def one(i, s):
            return (await worker.run(work_prompt(i, s.args.key))).text

        results = await asyncio.gather(*(one(i, s) for i, s in enumerate(plan.subtasks)), return_exceptions=True)
        return results, (await composer.run(compose_prompt(results))).text

    # every participant is sent the same message, so each agent carries its own subtask
    agents = [
        Agent(client, f"{WORKER} {work_prompt(i, s.args.key)}", name=f"worker_{i}", tools=[lookup])
        for i, s in enumerate(plan.subtasks)
    ]
    results: list[str] = []
    final = ""

    async def aggregate(responses):
        nonlocal final
        results.extend(r.agent_response.text for r in responses)
        final = (await composer.run(compose_prompt(results))).text
        return final

    storage = FileCheckpointStorage(args.state) if args.variant == "ckpt" else None
    flow = (
        ConcurrentBuilder(name="bench", participants=agents, checkpoint_storage=storage)
        .with_aggregator(aggregate)
        .build()
    )
    latest = await storage.get_latest(workflow_name="bench") if storage and args.resume else None
    if latest:
        await flow.run(checkpoint_id=latest.checkpoint_id)
    else:
        await flow.run("Do your subtask.")
    return results, final


run(job)

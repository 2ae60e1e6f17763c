# bench-peer: name=openai-agents venv=oa label="OpenAI Agents SDK + gather"
"""A lead with a structured plan, N Runner.run in a gather, a composing lead."""

import asyncio

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
from agents import Agent, ModelSettings, Runner, function_tool, set_default_openai_api, set_tracing_disabled
from pydantic import BaseModel

set_default_openai_api("chat_completions")
set_tracing_disabled(True)


class Args(BaseModel):
    key: str


class Subtask(BaseModel):
    name: str
    tool: str
    args: Args


class Plan(BaseModel):
    subtasks: list[Subtask]


@function_tool(description_override=TOOL_DOC)
async def lookup(key: str) -> str:
    return lookup_value(key)


async def job():
    settings = ModelSettings()
    if args.retry:
        from agents import ModelRetryBackoffSettings, ModelRetrySettings, retry_policies

        settings = ModelSettings(
            retry=ModelRetrySettings(
                max_retries=3,
                backoff=ModelRetryBackoffSettings(initial_delay=0.05),
                policy=retry_policies.any(
                    retry_policies.provider_suggested(),
                    retry_policies.network_error(),
                    retry_policies.http_status([429, 500]),
                ),
            )
        )
    lead = Agent(name="lead", instructions=LEAD, model=MODEL, output_type=Plan)
    worker = Agent(name="worker", instructions=WORKER, model=MODEL, tools=[lookup], model_settings=settings)
    composer = Agent(name="composer", instructions=COMPOSER, model=MODEL)
    plan = (await Runner.run(lead, plan_prompt())).final_output

    async def one(i, s):
        return (await Runner.run(worker, work_prompt(i, s.args.key))).final_output

    results = await asyncio.gather(*(one(i, s) for i, s in enumerate(plan.subtasks)), return_exceptions=True)
    final = (await Runner.run(composer, compose_prompt(results))).final_output
    return results, final


run(job)

# bench-peer: name=autogen venv=ag label="AutoGen AgentChat + gather"
"""One AssistantAgent per subtask (agents hold state, so they cannot be shared), gathered."""

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
from autogen_agentchat.agents import AssistantAgent
from autogen_core.tools import FunctionTool
from autogen_ext.models.openai import OpenAIChatCompletionClient
from pydantic import BaseModel


class Args(BaseModel):
    key: str


class Subtask(BaseModel):
    name: str
    tool: str
    args: Args


class Plan(BaseModel):
    subtasks: list[Subtask]


async def lookup(key: str) -> str:
    return lookup_value(key)


async def job():
    client = OpenAIChatCompletionClient(
        model=MODEL,
        model_info={
            "vision": False,
            "function_calling": True,
            "json_output": True,
            "family": "unknown",
            "structured_output": True,
        },
    )
    tool = FunctionTool(lookup, description=TOOL_DOC)
    lead = AssistantAgent("lead", client, system_message=LEAD, output_content_type=Plan)
    plan = (await lead.run(task=plan_prompt())).messages[-1].content

    async def one(i, s):
        w = AssistantAgent(
            f"worker_{i}",
            client,
            tools=[tool],
            system_message=WORKER,
            reflect_on_tool_use=True,
            max_tool_iterations=5 if args.retry else 1,
        )
        return (await w.run(task=work_prompt(i, s.args.key))).messages[-1].content

    results = await asyncio.gather(*(one(i, s) for i, s in enumerate(plan.subtasks)), return_exceptions=True)
    composer = AssistantAgent("composer", client, system_message=COMPOSER)
    final = (await composer.run(task=compose_prompt(results))).messages[-1].content
    return results, final


run(job)

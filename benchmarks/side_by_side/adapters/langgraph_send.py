# bench-peer: name=langgraph venv=lg label="LangGraph Send"
# bench-peer: name=langgraph-sqlite venv=lg variant=sqlite durable=1 label="LangGraph Send + AsyncSqliteSaver (sync)"
"""Plan node -> Send fan-out to worker nodes (each a create_agent ReAct agent) -> compose node."""

import operator
import os
from typing import Annotated, TypedDict

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
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy, Send
from pydantic import BaseModel

if args.variant == "sqlite":
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver


class Args(BaseModel):
    key: str


class Subtask(BaseModel):
    name: str
    tool: str
    args: Args


class Plan(BaseModel):
    subtasks: list[Subtask]


class State(TypedDict, total=False):
    subtasks: list
    results: Annotated[list, operator.add]
    final: str


@tool(description=TOOL_DOC)
async def lookup(key: str) -> str:
    return lookup_value(key)


def build(checkpointer=None):
    llm = ChatOpenAI(model=MODEL)
    planner = llm.with_structured_output(Plan)
    agent = create_agent(llm, [lookup], system_prompt=WORKER)

    async def plan(state):
        p = await planner.ainvoke([("system", LEAD), ("user", plan_prompt())])
        return {"subtasks": [s.model_dump() for s in p.subtasks]}

    def fan_out(state):
        return [Send("worker", {"i": i, "key": s["args"]["key"]}) for i, s in enumerate(state["subtasks"])]

    async def worker(task):
        out = await agent.ainvoke({"messages": [("user", work_prompt(task["i"], task["key"]))]})
        return {"results": [out["messages"][-1].text]}

    async def compose(state):
        m = await llm.ainvoke([("system", COMPOSER), ("user", compose_prompt(state["results"]))])
        return {"final": m.text}

    g = StateGraph(State)
    g.add_node("plan", plan)
    # the default policy would not retry a ValueError, which an undecodable answer raises
    g.add_node(
        "worker",
        worker,
        retry_policy=RetryPolicy(max_attempts=4, initial_interval=0.05, retry_on=Exception) if args.retry else None,
    )
    g.add_node("compose", compose)
    g.add_edge(START, "plan")
    g.add_conditional_edges("plan", fan_out, ["worker"])
    g.add_edge("worker", "compose")
    g.add_edge("compose", END)
    return g.compile(checkpointer=checkpointer)


async def job():
    if args.variant == "sqlite":
        async with AsyncSqliteSaver.from_conn_string(os.path.join(args.state, "langgraph.sqlite")) as saver:
            cfg = {"configurable": {"thread_id": "job"}}
            out = await build(saver).ainvoke(None if args.resume else {"results": []}, cfg, durability="sync")
    else:
        out = await build().ainvoke({"results": []})
    return out["results"], out["final"]


run(job)

# bench-peer: name=deepagents venv=lg label="deepagents (task tool, parallel subagents)"
"""The lead is a deep agent that delegates every subtask to a 'worker' subagent in one turn."""

from _common import LEAD, MODEL, TOOL_DOC, WORKER, args, lookup_value, plan_prompt, run
from deepagents import create_deep_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool(description=TOOL_DOC)
async def lookup(key: str) -> str:
    return lookup_value(key)


async def job():
    llm = ChatOpenAI(model=MODEL)
    worker = {"name": "worker", "description": "Looks one key up.", "system_prompt": WORKER, "tools": [lookup]}
    if args.retry:
        from langchain.agents.middleware import ModelRetryMiddleware

        worker["middleware"] = [ModelRetryMiddleware(max_retries=3, initial_delay=0.05, retry_on=(Exception,))]
    agent = create_deep_agent(llm, tools=[], system_prompt=LEAD, subagents=[worker])
    out = await agent.ainvoke({"messages": [("user", plan_prompt())]})
    results = [m.text for m in out["messages"] if m.type == "tool"]
    return results, out["messages"][-1].text


run(job)

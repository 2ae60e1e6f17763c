# bench-peer: name=crewai venv=crew label="CrewAI akickoff_for_each"
"""Planning crew -> akickoff_for_each over the subtasks (native async) -> composing crew."""

from _common import COMPOSER, LEAD, MODEL, WORKER, args, compose_prompt, lookup_value, plan_prompt, run, work_prompt
from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from pydantic import BaseModel


class Args(BaseModel):
    key: str


class Subtask(BaseModel):
    name: str
    tool: str
    args: Args


class Plan(BaseModel):
    subtasks: list[Subtask]


@tool("lookup")
def lookup(key: str) -> str:
    """Look up the value of a key."""
    return lookup_value(key)


def crew(role, system, description, expected, tools=(), **task):
    llm = LLM(model=f"openai/{MODEL}", base_url=args.base_url, api_key="dummy")
    agent = Agent(
        role=role,
        goal=system,
        backstory=system,
        llm=llm,
        tools=list(tools),
        cache=False,
        **({"max_retry_limit": 3} if args.retry else {}),
    )
    t = Task(description=description, expected_output=expected, agent=agent, **task)
    return Crew(agents=[agent], tasks=[t], verbose=False, cache=False, tracing=False)


async def job():
    planner = crew("lead", LEAD, plan_prompt(), "A plan", output_json=None, output_pydantic=Plan)
    out = await planner.akickoff()
    plan = out.pydantic
    workers = crew("worker", WORKER, "{prompt}", "The value", [lookup])
    try:
        outs = await workers.akickoff_for_each(
            [{"prompt": work_prompt(i, s.args.key)} for i, s in enumerate(plan.subtasks)]
        )
        results = [o.raw for o in outs]
    except Exception as exc:
        results = [exc]
    composer = crew("composer", COMPOSER, "{prompt}", "The answer")
    final = (await composer.akickoff(inputs={"prompt": compose_prompt(results)})).raw
    return results, final


run(job)

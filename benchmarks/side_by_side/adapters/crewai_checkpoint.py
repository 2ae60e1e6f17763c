# bench-peer: name=crewai-ckpt venv=crew durable=1 label="CrewAI one crew, async tasks + checkpoint (JSON files)"
"""One crew: N async tasks, then a composing task with all of them as context; a checkpoint is written
on every completed task (CrewAI's default event) and a restart restores the latest one."""

import glob
import os

from _common import COMPOSER, LEAD, MODEL, TOOL_DOC, WORKER, args, lookup_value, plan_prompt, run, work_prompt
from crewai import LLM, Agent, Crew, Task
from crewai.state.checkpoint_config import CheckpointConfig
from crewai.tools import BaseTool
from pydantic import BaseModel


class Args(BaseModel):
    key: str


class Subtask(BaseModel):
    name: str
    tool: str
    args: Args


class Plan(BaseModel):
    subtasks: list[Subtask]


class Lookup(BaseTool):  # a class: a checkpoint of a crew that holds an @tool function cannot be written
    name: str = "lookup"
    description: str = TOOL_DOC

    def _run(self, key: str) -> str:
        return lookup_value(key)


# JSON files, CrewAI's default: its SqliteProvider needs SQLite >= 3.45 (jsonb), newer than many Pythons carry
DIR = os.path.join(args.state, "checkpoints")


def agent(role, system, tools=()):
    return Agent(
        role=role,
        goal=system,
        backstory=system,
        tools=list(tools),
        cache=False,
        llm=LLM(model=f"openai/{MODEL}", base_url=args.base_url, api_key="dummy"),
        **({"max_retry_limit": 3} if args.retry else {}),
    )


def latest_checkpoint():
    files = glob.glob(os.path.join(DIR, "**", "*.json"), recursive=True)
    return max(files, key=os.path.getmtime) if files else None


async def job():
    where = latest_checkpoint() if args.resume else None
    if where:
        crew = Crew.from_checkpoint(CheckpointConfig(location=DIR, restore_from=where))
    else:
        lead = agent("lead", LEAD)
        t = Task(description=plan_prompt(), expected_output="A plan", agent=lead, output_pydantic=Plan)
        plan = (await Crew(agents=[lead], tasks=[t], cache=False, tracing=False).akickoff()).pydantic
        # async tasks of one agent would share its executor, so each subtask has its own agent
        workers = [agent(f"worker {i}", WORKER, [Lookup()]) for i, _ in enumerate(plan.subtasks)]
        tasks = [
            Task(description=work_prompt(i, s.args.key), expected_output="The value", agent=w, async_execution=True)
            for i, (s, w) in enumerate(zip(plan.subtasks, workers, strict=False))
        ]
        composer = agent("composer", COMPOSER)
        last = Task(
            description=f"@@COMPOSE:{args.n}@@ Compose the answer.",
            expected_output="The answer",
            agent=composer,
            context=tasks,
        )
        crew = Crew(
            agents=[*workers, composer],
            tasks=[*tasks, last],
            cache=False,
            tracing=False,
            checkpoint=CheckpointConfig(location=DIR),
        )
    out = await crew.akickoff()
    return [o.raw for o in out.tasks_output[:-1]], out.raw


run(job)

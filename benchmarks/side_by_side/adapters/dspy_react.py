# bench-peer: name=dspy venv=dspyv variant=predict label="DSPy two Predicts + gather"
# bench-peer: name=dspy-react venv=dspyv variant=react calls=3 label="DSPy ReAct + gather (3 LLM calls per worker)"
"""DSPy's own agent (ReAct) asks the LLM three times per worker: act, finish, extract.  The 'predict'
variant is the two-call job by hand: choose the key, run the tool, answer."""

import asyncio

import dspy
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


class Args(BaseModel):
    key: str


class Subtask(BaseModel):
    name: str
    tool: str
    args: Args


class PlanSig(dspy.Signature):
    goal: str = dspy.InputField()
    subtasks: list[Subtask] = dspy.OutputField()


class KeySig(dspy.Signature):
    task: str = dspy.InputField()
    key: str = dspy.OutputField(desc=TOOL_DOC)


class AnswerSig(dspy.Signature):
    task: str = dspy.InputField()
    observation: str = dspy.InputField()
    answer: str = dspy.OutputField()


class WorkSig(dspy.Signature):
    task: str = dspy.InputField()
    answer: str = dspy.OutputField()


class ComposeSig(dspy.Signature):
    results: str = dspy.InputField()
    answer: str = dspy.OutputField()


def lookup(key: str) -> str:
    """Look up the value of a key."""
    return lookup_value(key)


async def job():
    dspy.configure(lm=dspy.LM(f"openai/{MODEL}", api_base=args.base_url, api_key="dummy", cache=False, num_retries=3))
    planner = dspy.Predict(PlanSig.with_instructions(LEAD))
    composer = dspy.Predict(ComposeSig.with_instructions(COMPOSER))
    plan = (await planner.acall(goal=plan_prompt())).subtasks
    if args.variant == "react":
        react = dspy.ReAct(WorkSig.with_instructions(WORKER), tools=[lookup], max_iters=5)

        async def one(i, key):
            return (await react.acall(task=work_prompt(i, key))).answer
    else:
        choose = dspy.Predict(KeySig.with_instructions(WORKER))
        answer = dspy.Predict(AnswerSig.with_instructions(WORKER))

        async def one(i, key):
            task = work_prompt(i, key)
            k = (await choose.acall(task=task)).key
            return (await answer.acall(task=task, observation=lookup(k))).answer

    results = await asyncio.gather(*(one(i, s.args.key) for i, s in enumerate(plan)), return_exceptions=True)
    final = (await composer.acall(results=compose_prompt(results))).answer
    return results, final


run(job)

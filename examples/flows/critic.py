"""A loop: a writer and a critic, until the critic approves.

Run it: leadhand run --offline --flows examples/flows/critic.py --flow poem "the sea"
"""

from pydantic import BaseModel

from leadhand import Leadhand, Worker
from leadhand.flows import FlowContext, flow


class Verdict(BaseModel):
    approved: bool
    problems: list[str] = []


writer = Worker("writer", "Write a short poem about `topic`. Solve the `problems` of your last `draft`.", loop="reply")
critic = Worker("critic", "Say what is wrong with the poem `draft`, if anything.", output=Verdict, loop="reply")


def write(facts, request):
    return f"A poem about {facts['topic']}, draft {2 if facts.get('draft') else 1}."


@flow(offline={writer: write, critic: lambda facts, _: {"approved": "draft 2" in facts["draft"], "problems": ["…"]}})
async def poem(run: FlowContext, rounds: int = 3):
    """Write a poem, and improve it until a critic approves it."""
    draft = await run.ask(writer, topic=run.request, final=True)
    for _ in range(rounds):
        verdict = await run.ask(critic, draft=draft)
        if verdict.value.approved:
            break
        draft = await run.ask(writer, topic=run.request, draft=draft, problems=verdict.value.problems, final=True)
    return draft


if __name__ == "__main__":
    print(Leadhand(model="offline", flows=[poem]).run_sync("the sea", flow="poem"))

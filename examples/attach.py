"""Follow a run that another process drives, and continue it when that process dies.

This file starts itself a second time. The child starts a run and drives it; the parent attaches to the run and follows
its events. As soon as the first subtask is on record the parent kills the child (SIGKILL), attaches again, and so
becomes the run's owner. Finished work is not repeated; work that was running is.

Run it with ``python examples/attach.py``.
"""

import asyncio
import subprocess
import sys
from collections import Counter

from leadhand import Entry, Leadhand, ToolReturn, tool

CHILD = "--child"


@tool
async def survey_tool(location: str) -> ToolReturn:
    """Survey a town.

    Args:
        location: The town, such as "Lyon".
    """
    if CHILD in sys.argv and location != "Paris":
        await asyncio.sleep(25)  # in the child, every town but Paris takes longer than the child lives
    return ToolReturn(summary=f"{location} was surveyed (made up for this example).", raw={"location": location})


async def start() -> None:
    """The child: start a run, say which, and drive it."""
    async with Leadhand(model="offline", tools=[survey_tool]) as lead:
        run = await lead.start("Survey Paris, Lyon and Nice")
        print(run.run_id, flush=True)
        await run.answer()


def main() -> int:
    """The parent: start the child, and learn which run it drives."""
    with subprocess.Popen([sys.executable, __file__, CHILD], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        return asyncio.run(follow_and_go_on(child, child.stdout.readline().strip()))


async def follow_and_go_on(child: subprocess.Popen[str], run_id: str) -> int:
    """Follow the child's run, kill the child, finish the run."""
    calls: Counter[str] = Counter()
    async with Leadhand(model="offline", tools=[survey_tool]) as lead:
        async for entry in await lead.attach(run_id):
            if is_finished_subtask(entry):
                break
        child.kill()
        await asyncio.to_thread(child.wait)
        print(f"killed process {child.pid}, which drove {run_id}")

        run = await lead.attach(run_id)  # nobody drives it now: this process takes it over
        async for entry in run:  # from the first event on, those of the dead process included
            if entry.event.type == "tool_call_began":
                calls[entry.event.args["location"]] += 1
        answer = await run.answer()
    print(f"\n{answer}\n\n{answer.status} after these calls: {dict(calls)}")
    return 0 if calls == {"Paris": 1, "Lyon": 2, "Nice": 2} else 1


def is_finished_subtask(entry: Entry) -> bool:
    """Whether this event puts the end of a subtask on record."""
    return entry.event.type == "step_settled" and entry.event.subject.startswith("wo-")


if __name__ == "__main__":
    sys.exit(asyncio.run(start()) if CHILD in sys.argv else main())

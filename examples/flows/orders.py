"""Branches of several steps: look up, draft and check each order side by side; one that fails does not stop the others.

Run it: leadhand run --offline --flows examples/flows/orders.py --flow orders "A-1, A-2, B-3"
"""

from leadhand import Leadhand, Worker
from leadhand.flows import FlowContext, StepFailed, flow

writer = Worker("writer", "Write one sentence about the state of the `order`.", loop="reply")
checker = Worker("checker", "Correct `draft`, if it differs from `order`. Reply with the sentence.", loop="reply")


async def look_up(number: str) -> dict[str, str]:
    """A function of the project: a step may await anything."""
    if number.startswith("B"):
        raise LookupError(f"there is no order {number}")
    return {"number": number, "state": "sent"}


@flow(offline={writer: lambda facts, _: f"{facts['order']['number']} is sent.", checker: lambda f, _: f["draft"]})
async def orders(run: FlowContext) -> str:
    """Report the state of every order that the request names, separated by commas."""

    async def line(number: str) -> str:
        try:
            order = await run.do(look_up, number=number)
        except StepFailed as failed:
            return f"{number}: {failed.failure.message}"
        draft = await run.ask(writer, order=order)
        return str(await run.ask(checker, order=order, draft=draft))

    return "\n".join(await run.gather(line(number.strip()) for number in run.request.split(",")))


if __name__ == "__main__":
    print(Leadhand(model="offline", flows=[orders]).run_sync("A-1, A-2, B-3", flow="orders"))

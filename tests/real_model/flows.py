"""A flow for a weak model: its steps are fixed, and each of them asks for something small."""

from __future__ import annotations

from leadhand import Worker
from leadhand.flows import FlowContext, flow

COLOURS = ("red", "green", "blue")
CHOICE = {
    "type": "object",
    "properties": {"colour": {"enum": list(COLOURS)}},
    "required": ["colour"],
    "additionalProperties": False,
}
ANSWER = Worker("answer", "Reply to `text`.", output=CHOICE, loop="reply")
FREE = ANSWER.version(output=None)


@flow
async def ask(run: FlowContext, times: int = 1, free: bool = False) -> str:
    """Send the request to the model ``times`` times. It chooses a colour, or writes what it likes if it is ``free``."""
    worker = FREE if free else ANSWER
    return "\n".join(
        map(str, await run.gather(run.ask(worker, text=run.request, final=times == 1) for _ in range(times)))
    )

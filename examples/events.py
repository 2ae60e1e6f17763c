"""A run as it happens: every event of the log, one line each, as it is committed.

Run it with ``python examples/events.py``.
"""

import asyncio
import sys

from leadhand import Leadhand

REQUEST = "What's the weather in Paris tomorrow, and how do I get from the Louvre to Orly airport?"


async def main() -> int:
    async with Leadhand(model="offline") as lead:
        run = await lead.start(REQUEST)
        async for entry in run:
            event = entry.event
            print(f"{entry.seq:>4}  {entry.at:%H:%M:%S.%f}  {event.type:<20}  {event.subject}")
        answer = await run.answer()
    print(f"\n{answer}")
    return 0 if answer.status == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

"""The smallest program: one tool of your own, one request, one answer. No key, no network.

Run it with ``python examples/hello.py``.
"""

import sys

from leadhand import Leadhand, ToolReturn, tool


@tool
def tide_tool(location: str) -> ToolReturn:
    """High tide at a harbour, today.

    Args:
        location: A harbour town, such as "Dover".
    """
    return ToolReturn(summary=f"High tide in {location} is at 11:42 (made up for this example).", raw="11:42")


def main() -> int:
    lead = Leadhand(model="offline", tools=[tide_tool])
    answer = lead.run_sync("When is the tide in Dover, in Calais and in Ostend?")
    print(answer)
    print(f"\n{answer.status} · {answer.run_id} · cost {answer.cost_usd} USD")
    return 0 if answer.status == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main())

"""Travel advice for Paris: two workers in parallel, one of which times out once and is tried again.

``weather_tool`` ships with Leadhand (here with sample data); ``hotel_tool`` is this file's own, and its first call
times out. The failure costs that subtask a second attempt, and the other one nothing.

::

    python examples/paris.py            the hotels are found at the second attempt: exit code 0
    python examples/paris.py --closed   the hotels never answer: the answer names the gap, exit code 3 (partial)
    python examples/paris.py --json     the run document instead of the story
"""

import argparse
import json
import sys

from leadhand import Answer, FailureClass, Leadhand, RunStatus, ToolError, ToolReturn, tool
from leadhand.tools.travel.weather import weather_tool

REQUEST = "Travel advice for Paris, France: check the weather tomorrow and find hotels"
EXIT_CODES = {RunStatus.SUCCEEDED: 0, RunStatus.PARTIAL: 3}


class Hotels:
    """A booking service that is not what it used to be."""

    def __init__(self, *, closed: bool) -> None:
        self.closed = closed
        self.calls = 0

    def search(self, location: str) -> list[str]:
        self.calls += 1
        if self.closed or self.calls == 1:
            raise ToolError("Hotel API timeout", type="timeout", class_=FailureClass.TRANSIENT)
        return [f"Hôtel du Nord, {location}", f"Hôtel de la Gare, {location}"]


def advise(*, closed: bool) -> Answer:
    """Carry the request out, with hotels that answer the second time or never."""
    hotels = Hotels(closed=closed)

    @tool(timeout=5, retries=2)
    def hotel_tool(location: str) -> ToolReturn:
        """Find hotels in a town.

        Args:
            location: The town, such as "Paris, France".
        """
        found = hotels.search(location)
        return ToolReturn(summary=f"Hotels in {location}: {'; '.join(found)} (made up for this example)", raw=found)

    return Leadhand(model="offline", tools=[weather_tool, hotel_tool]).run_sync(REQUEST)


def tell(answer: Answer) -> None:
    """The answer, and what the log says happened on the way."""
    print(answer)
    print("\nWhat happened:")
    for event in answer.document["context_store"]["events"]:
        said = event["content"].get("summary") or event["content"]["error"]["message"]
        print(f"  {event['event_id']:>5}  {event['attempt']:<12} {event['agent']:<15} {event['result']:<8} {said[:60]}")
    for gap in answer.gaps:
        print(f"  gap: {gap.name} ({gap.class_}): {gap.reason}")
    print(f"\n{answer.status}, {len(answer.document['work_orders'])} work order(s)")


def main() -> int:
    options = argparse.ArgumentParser(description="Travel advice for Paris.")
    options.add_argument("--closed", action="store_true", help="the hotels never answer")
    options.add_argument("--json", action="store_true", help="print the run document")
    given = options.parse_args()
    answer = advise(closed=given.closed)
    if given.json:
        print(json.dumps(answer.document, ensure_ascii=False, indent=1))
    else:
        tell(answer)
    return EXIT_CODES.get(answer.status, 1)


if __name__ == "__main__":
    sys.exit(main())

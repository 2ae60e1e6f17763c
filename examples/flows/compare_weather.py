"""A flow with tools: look up the weather of several towns at once, and name the warmest.

Run it: leadhand run --offline --flows examples/flows/compare_weather.py --flow compare-weather "Paris, Nice, Lille"
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from leadhand import Leadhand
from leadhand.flows import Call, Finish, Flow, IssueStep, OfflineRequest, Outcome, RunView, StepView, Worker


def look_up(facts: Mapping[str, Any], request: OfflineRequest) -> Call | str:
    """What the offline model does as a reporter: call the tool, then repeat what it returned."""
    done = [json.loads(result.content) for result in request.results if result.ok]
    return done[0]["summary"] if done else Call("weather_tool", {"location": facts["town"]})


class CompareWeather(Flow):
    """Look up the weather of every town that the request names, separated by commas."""

    name = "compare-weather"
    offline = {"reporter": look_up}

    def roles(self, options: Flow.Options) -> list[Worker]:
        instructions = "Call weather_tool for `town`. Then say in one sentence what it returned, with the temperatures."
        return [Worker(name="reporter", instructions=instructions, tools=("weather_tool",), counts=True, max_turns=4)]

    def next(self, run: RunView[Flow.Options]) -> list[IssueStep | Finish]:
        if not run.steps:
            towns = [town.strip() for town in run.request.split(",") if town.strip()]
            return [
                IssueStep(id=f"town-{number}", worker="reporter", title=town, input={"town": town})
                for number, town in enumerate(towns)
            ]
        return [] if run.open else [Finish()]

    def outcome(self, run: RunView[Flow.Options]) -> Outcome:
        done = [each for each in run.of("reporter") if each.ok]
        warmest = max(done, key=highest, default=None)
        lines = [f"{each.title}: up to {highest(each)} °C" for each in done]
        if warmest is not None:
            lines.append(f"{warmest.title} is the warmest.")
        return Outcome(answer="\n".join(lines), uses=[each.id for each in done])


def highest(report: StepView) -> float:
    """The highest temperature of the first day, as the tool returned it."""
    return report.value["days"][0]["temperature_max"]


def main() -> None:
    lead = Leadhand(offline=True, flows=[CompareWeather()])
    answer = lead.run_sync("Paris, Nice, Lille", flow="compare-weather")
    print(answer)
    print(answer.status)


if __name__ == "__main__":
    main()

"""A plan that a person approves before anything happens.

Run it: leadhand run --approve-plan --offline --flows examples/flows/approve_plan.py --flow trip "Paris, Lille"
"""

from leadhand import Leadhand, Worker
from leadhand.flows import Denied, FlowContext, flow

planner = Worker(
    "planner",
    "Plan a trip to what `request` names. A person has denied the plans in `denied`, for these reasons.",
    output={"type": "object", "properties": {"towns": {"type": "array", "items": {"type": "string"}}}},
    loop="reply",
)


def plan_towns(facts, request):
    return {"towns": facts["request"].split(", ")[len(facts["denied"]) :]}


@flow(offline={planner: plan_towns})
async def trip(run: FlowContext):
    """Plan a trip, have the plan approved, and look up the weather on the way."""
    denied: list[str] = []
    plan = await run.ask(planner, request=run.request, denied=denied)
    while isinstance(answer := await run.approve(plan), Denied):
        denied.append(answer.reason)
        plan = await run.ask(planner, request=run.request, denied=denied)
    weather = await run.gather(run.call("weather_tool", location=town) for town in plan.value["towns"])
    return "\n".join(map(str, weather))


if __name__ == "__main__":
    print(Leadhand(model="offline", flows=[trip]).run_sync("Paris, Lille", flow="trip"))

"""Tools without a model: look up the weather of several towns at once, and name the warmest.

Run it: leadhand run --offline --flows examples/flows/compare_weather.py --flow compare-weather "Paris, Nice, Lille"
"""

from leadhand import Leadhand
from leadhand.flows import FlowContext, flow


@flow
async def compare_weather(run: FlowContext) -> str:
    """Look up the weather of every town that the request names, separated by commas."""
    towns = [town.strip() for town in run.request.split(",")]
    found = await run.gather(run.call("weather_tool", location=town) for town in towns)
    highest = {town: each.value["days"][0]["temperature_max"] for town, each in zip(towns, found, strict=True)}
    lines = [f"{town}: up to {degrees} °C" for town, degrees in highest.items()]
    return "\n".join([*lines, f"{max(towns, key=highest.__getitem__)} is the warmest."])


if __name__ == "__main__":
    print(Leadhand(model="offline", flows=[compare_weather]).run_sync("Paris, Nice, Lille", flow="compare-weather"))

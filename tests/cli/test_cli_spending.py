"""A tool that spends is killed in the middle: what it had reserved counts in full, and the budget holds."""

from __future__ import annotations

from typing import Any

TOOL = '''
"""An agent that costs at most $0.3 a call, and $0.1 in the end."""
import asyncio
import os

from leadhand import ToolContext


async def measure_tool(place: str, context: ToolContext) -> str:
    """Measure the noise at a place."""
    async with context.spend("own:agent", place, requests=3, tokens=900, usd=0.3) as spent:
        with open(os.environ["CALLS"], "a") as file:
            file.write(place + "\\n")
        while not os.path.exists(os.environ["GATE"]):
            await asyncio.sleep(0.02)
        spent.book(requests=2, input_tokens=500, output_tokens=100, usd=0.1)
    return f"{place}: 40 dB"
'''


def test_after_kill_9_the_reservation_counts_and_a_call_that_no_longer_fits_is_refused(leadhand: Any) -> None:
    file = leadhand.folder / "own_tools.py"
    file.write_text(TOOL)
    request = ("run", "--offline", "--budget", "1", "--tools", str(file), "Measure the noise in Paris")
    for times, again in enumerate((request, ("runs", "resume", "--tools", str(file))), start=1):
        process = leadhand.start(*again)
        leadhand.wait(lambda times=times: leadhand.calls["Paris"] == times, "the call")
        process.kill()
        process.communicate()
    leadhand.open_gate()
    result = leadhand("runs", "resume", "--json", "--tools", str(file))

    assert (result.code, leadhand.calls) == (5, {"Paris": 2})
    assert [gap["class"] for gap in result.json["gaps"]] == ["exhausted"]
    assert result.json["usage"]["cost_usd"] == 0.6

    more = leadhand("runs", "resume", "--json", "--budget", "2", "--tools", str(file))
    assert (more.code, more.json["usage"]["cost_usd"], leadhand.calls) == (0, 0.7, {"Paris": 3})

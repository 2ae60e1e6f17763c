"""A survey of 39 towns with a partial answer, whose failed subtasks are being retried.

First, the south cannot be reached, and a person denies the report that costs money: the answer is partial. Then the
person retries what failed: some towns of the south are completed, some are running, one waits for its next attempt, one
fails again, and the report needs approval again.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from leadhand import FailureClass, Source, ToolError, ToolReturn, tool
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, Step, plans, says, subtask

REQUEST = "Compare the noise at night in 39 French towns, and report on the loudest"
NORTH = (
    *("Paris", "Lille", "Rouen", "Reims", "Caen", "Nancy", "Amiens", "Metz", "Rennes", "Brest", "Nantes", "Tours"),
    *("Angers", "Dijon", "Troyes", "Vannes", "Quimper", "Colmar", "Bourges", "Calais", "Niort", "Chartres"),
    *("Lorient", "Mulhouse", "Orléans", "Besançon"),
)
SOUTH = (
    *("Lyon", "Nice", "Bordeaux", "Toulouse", "Limoges", "Poitiers", "Avignon"),
    *("Pau", "Annecy", "Béziers", "Cannes", "Valence", "Arles"),
)
TOWNS = [*NORTH, *SOUTH]
SILENT = ("Amiens", "Avignon")
"""Towns whose meters never answer."""
FLAKY = ("Reims", "Rennes", "Bordeaux")
"""Towns that fail once, then succeed."""
SHAKY = "Limoges"
"""A town that fails until the survey is released, so that it waits for its next attempt."""
HELD = SOUTH[-6:]
"""Towns that run until the survey is released."""
ANSWER = """**Paris is the loudest at night (61 dB), Quimper the quietest (34 dB).**

| Town | Night | Day |
|---|---:|---:|
| Paris | 61 dB | 72 dB |
| Lille | 55 dB | 66 dB |
| Rouen | 52 dB | 63 dB |

Nothing is known of the south: *its meters could not be reached*.
"""


class Survey:
    """The tools and models of the survey. ``halfway`` is set when only :meth:`release` is awaited."""

    def __init__(self) -> None:
        self.halfway = asyncio.Event()
        self._south = False
        self._gate = asyncio.Event()
        self._calls: Counter[str] = Counter()
        self._waiting: set[str] = set()
        survey = self

        @tool(timeout=120, retries=6)
        async def measure_noise(town: str) -> ToolReturn:
            """Read a town's noise meter.

            Args:
                town: The town, such as "Lyon".
            """
            return await survey._measure(town)

        @tool(effect="once")
        async def order_report(town: str, pages: int = 4) -> ToolReturn:
            """Order a report from the archive of a town. It is printed, sent and charged.

            Args:
                town: Whose archive.
                pages: How long it may be at most.
            """
            return ToolReturn(summary=f"a report of {pages} pages on {town} is on its way", raw={"pages": pages})

        self.tools = [measure_noise, order_report]
        subtasks = [subtask("noise", "measure_noise", town=town) for town in TOWNS]
        subtasks.append(subtask("report", "order_report", town="Paris"))
        plan = plans(*subtasks, goal="the loudest town").costing(
            input_tokens=900, output_tokens=1_400, nanousd=9_200_000
        )
        answer = says(ANSWER).costing(input_tokens=4_100, output_tokens=380, nanousd=18_000_000)
        self.models = ScriptedModel(plan=lambda _: plan, work=_report, compose=lambda _: answer, lenient=True)

    def reach_the_south(self) -> None:
        """Make the south reachable."""
        self._south = True

    def release(self) -> None:
        """Let all towns finish."""
        self._south = True
        self._gate.set()

    async def _measure(self, town: str) -> ToolReturn:
        at = TOWNS.index(town)
        self._calls[town] += 1
        await asyncio.sleep(0.02 * (1 + at % 7))  # no two bars alike
        if town in SILENT or (town in SOUTH and not self._south):
            raise ToolError("the meter does not answer", type="broken", class_=FailureClass.UNAVAILABLE)
        if (town in FLAKY and self._calls[town] <= 1 + (town in SOUTH)) or (town == SHAKY and not self._gate.is_set()):
            raise ToolError("the line broke off", type="timeout", class_=FailureClass.TRANSIENT)
        if town in HELD:
            self._waiting.add(town)
            if len(self._waiting) == len(HELD):
                self.halfway.set()
            await self._gate.wait()
        source = Source(title=f"Noise meter of {town}", url=f"https://noise.example.org/{at}")
        return ToolReturn(raw={"town": town, "night": _loudness(town)}, sources=(source,))


def _loudness(town: str) -> int:
    """Return made-up decibels."""
    at = TOWNS.index(town)
    return 61 - 3 * at if at < 4 else 34 + (at * 7 - 112) % 17


def _report(request: ModelRequest) -> Step:
    """Return what a worker reports on the town of its subtask."""
    messages = str(request.messages)
    (town,) = [each for each in TOWNS if each in messages]
    step = says(f"{town}: {_loudness(town)} dB at night")
    return step.costing(input_tokens=310 + 3 * len(town), output_tokens=14, nanousd=420_000)

"""A survey of forty towns, stopped halfway: some done, some under way, tried again, failed, and one call that asks."""

from __future__ import annotations

import asyncio
from collections import Counter

from leadhand import FailureClass, Source, ToolError, ToolReturn, tool
from leadhand.testing.scripted_model import ScriptedModel, plans, says, subtask

REQUEST = "Compare the noise at night in forty French towns, and order a report on the loudest from the city archive"
TOWNS = [
    "Paris",
    "Lyon",
    "Nice",
    "Lille",
    "Nantes",
    "Bordeaux",
    "Toulouse",
    "Rennes",
    "Dijon",
    "Metz",
    "Tours",
    "Brest",
    "Rouen",
    "Reims",
    "Caen",
    "Nancy",
    "Amiens",
    "Angers",
    "Limoges",
    "Poitiers",
    "Orléans",
    "Mulhouse",
    "Besançon",
    "Avignon",
    "Pau",
    "Annecy",
    "Troyes",
    "Vannes",
    "Quimper",
    "Colmar",
    "Béziers",
    "Bourges",
    "Calais",
    "Cannes",
    "Valence",
    "Niort",
    "Chartres",
    "Arles",
    "Lorient",
]
BROKEN = ("Rouen", "Avignon")
FLAKY = ("Lyon", "Rennes", "Troyes")
"""Fail once, then work."""
SHAKY = ("Nancy",)
"""Fail until they are released: between two attempts when the picture is taken."""
HELD = 8
"""How many of the last towns are under way, until they are released."""
ANSWER = """**Paris is the loudest at night (61 dB), Vannes the quietest (34 dB).**

| Town | Night | Day |
|---|---:|---:|
| Paris | 61 dB | 72 dB |
| Lyon | 55 dB | 66 dB |
| Nice | 52 dB | 63 dB |

In two towns nothing could be measured: the meters of *Rouen* and *Avignon* do not answer [1].
"""


class Survey:
    """The survey's tools and models. ``halfway`` is set when all has happened that can before :meth:`release`."""

    def __init__(self) -> None:
        self.towns = [*TOWNS, "report"]
        self.halfway = asyncio.Event()
        self.retried = f"wo-001.{TOWNS.index('Lyon')}"
        self._gate = asyncio.Event()
        self._calls: Counter[str] = Counter()
        self._settled: set[str] = set()
        survey = self

        @tool(timeout=120, retries=6)
        async def measure_noise(town: str) -> ToolReturn:
            """Read a town's noise meter.

            Args:
                town: The town, such as "Lyon".
            """
            return await survey._measure(town)

        @tool(effect="once", cost_usd=0.12)
        async def order_report(town: str, pages: int = 4) -> ToolReturn:
            """Order a report from the archive of a town. It is printed, sent and charged.

            Args:
                town: Whose archive.
                pages: How long it may be at most.
            """
            return ToolReturn(summary=f"a report of {pages} pages on {town} is on its way", raw={"pages": pages})

        self.tools = [measure_noise, order_report]
        wanted = [subtask(f"noise_{n}", "measure_noise", town=town) for n, town in enumerate(TOWNS)]
        wanted.append(subtask("report", "order_report", town="Paris", pages=6))
        self.models = ScriptedModel(
            plan=lambda _: plans(*wanted, goal="the loudest town"), compose=says(ANSWER), lenient=True
        )

    def release(self) -> None:
        """Let everything go on."""
        self._gate.set()

    async def _measure(self, town: str) -> ToolReturn:
        at = TOWNS.index(town)
        self._calls[town] += 1
        await asyncio.sleep(0.02 * (at % 7))  # no two bars alike
        if town in BROKEN:
            self._note(town)
            raise ToolError("the meter does not answer", type="broken", class_=FailureClass.UNAVAILABLE)
        if town in FLAKY and self._calls[town] == 1:
            raise ToolError("the line broke off", type="timeout", class_=FailureClass.TRANSIENT)
        if town in SHAKY and not self._gate.is_set():
            raise ToolError("the line broke off", type="timeout", class_=FailureClass.TRANSIENT)
        if at >= len(TOWNS) - HELD:
            self._note(town)
            await self._gate.wait()
        self._note(town)
        loud = 34 + (27 - at if at < 10 else (at * 7) % 17)
        source = Source(title=f"Noise meter of {town}", url=f"https://noise.example.org/{at}")
        return ToolReturn(summary=f"{town}: {loud} dB at night", raw={"town": town, "night": loud}, sources=(source,))

    def _note(self, town: str) -> None:
        self._settled.add(town)
        if len(self._settled) == len(TOWNS) - len(SHAKY):
            self.halfway.set()

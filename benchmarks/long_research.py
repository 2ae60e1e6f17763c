"""A research run whose lead takes 500 turns: CPU and memory of a turn at turns 10, 100 and 500, and the bytes sent.

Every second turn of the lead writes its todos; the others run a subagent, which searches once and answers. So every
turn ends an attempt and is continued by another one. The model is scripted and part of the process: CPU is that of
Leadhand, its store and the script, and *bytes* are those of the messages of the lead's request.
``long_research.py --profile`` prints what takes the CPU instead.
"""

from __future__ import annotations

import asyncio
import cProfile
import json
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leadhand import Leadhand, Limits, ToolReturn, tool
from leadhand.core.conversation import AssistantMessage, ToolCall
from leadhand.core.limits import Usage
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest

TURNS = 500
SHOWN = (10, 100, 500)
AROUND = 10
"""Turns over which a figure is averaged: those that end with the turn shown."""
ROUNDS = 3
WORDS = " ".join(f"word{n}" for n in range(60))


@tool
async def look(query: str) -> ToolReturn:
    """Find out about something."""
    passage = {"id": "aaaaaaaa.1", "text": f"{query}: {WORDS}"}
    return ToolReturn(raw={"results": [{"title": query, "url": "https://example.org", "passages": [passage]}]})


class LongLead:
    """A lead of ``turns`` turns, and its subagents."""

    def __init__(self, turns: int) -> None:
        self._turns = turns
        self._measuring = 0.0
        self.marks: list[tuple[float, float, int]] = []
        """For each request of the lead: CPU seconds and resident MB of the process, and the bytes of its messages."""

    def profile(self, model: str) -> ModelProfile:
        return ModelProfile(name=model, free=True, window=10_000_000)

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        said = sum(message.role == "assistant" for message in request.messages)
        if request.worker == "lead":
            began = time.process_time()
            size = 0 if PROFILE else sum(len(message.model_dump_json()) for message in request.messages)
            self.marks.append((began - self._measuring, resident(), size))
            self._measuring += time.process_time() - began
            turn = len(self.marks)
            return replied("It is done.") if turn > self._turns else replied(call=asked_of_lead(turn))
        if not said:
            return replied(call=("look", {"query": "it"}))
        answer = {"summary": f"The finding is known: {WORDS}", "detail": None, "artifact_path": None}
        return ModelReply(message=AssistantMessage(), value=answer, usage=Usage(nanousd=0))

    async def aclose(self) -> None:
        """There is nothing to close."""


def asked_of_lead(turn: int) -> tuple[str, dict[str, Any]]:
    if turn % 2:
        todos = [{"id": str(n), "content": f"part {turn} of {n}", "status": "pending"} for n in range(10)]
        return "todo_list_write", {"todos": todos}
    task = {"task_name": f"task {turn}", "prompt": f"Find out {turn}: {WORDS}", "description": "for the answer"}
    return "subagent_run", {"task": {**task, "tool_budget": 5}}


def replied(text: str = "", call: tuple[str, dict[str, Any]] | None = None) -> ModelReply:
    calls = () if call is None else (ToolCall(id="call00001", name=call[0], arguments=call[1]),)
    return ModelReply(message=AssistantMessage(text=text, tool_calls=calls), usage=Usage(nanousd=0))


def resident() -> float:
    """Return the resident memory of the process in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


PROFILE = "--profile" in sys.argv


async def run() -> LongLead:
    """Carry out one run in a process of its own."""
    lead: Any = LongLead(TURNS)
    with tempfile.TemporaryDirectory() as home:
        async with Leadhand(models=lead, tools=[look], home=home, limits=Limits(timeout=None)) as opened:
            answer = await opened.research("What is known?", max_turns=1_000, max_subagents=1_000, review=False)
    if len(lead.marks) <= TURNS:
        raise RuntimeError(f"the run ended as {answer.status} at turn {len(lead.marks)}: {answer.document['gaps'][:1]}")
    return lead


def figures(marks: list[tuple[float, float, int]]) -> dict[str, list[float]]:
    """Return, for each turn shown, CPU milliseconds of a turn, MB, kilobytes of the request; then the whole run's."""
    found: dict[str, list[float]] = {}
    for turn in SHOWN:
        last = marks[turn]  # the request of the next turn
        cpu = (last[0] - marks[turn - AROUND][0]) / AROUND
        found[str(turn)] = [cpu * 1_000, last[1], last[2] / 1_000]
    found["all"] = [marks[-1][0] - marks[0][0], marks[-1][1], sum(mark[2] for mark in marks) / 1_000]
    return found


def main() -> None:
    rounds = [
        json.loads(subprocess.run([sys.executable, __file__, "run"], check=True, stdout=subprocess.PIPE).stdout)
        for _ in range(ROUNDS)
    ]
    print(f"{TURNS} turns of a lead; medians of {ROUNDS} runs\n")
    print("| turn | CPU ms a turn | resident MB | kB of the request |\n|---|---|---|---|")
    for turn in rounds[0]:
        cpu, memory, size = (statistics.median(each[turn][at] for each in rounds) for at in range(3))
        shown = f"{cpu:.1f} s" if turn == "all" else f"{cpu:.1f}"
        print(f"| {turn} | {shown} | {memory:.0f} | {size:,.0f} |")


if __name__ == "__main__":
    if PROFILE:
        with cProfile.Profile() as profile:
            asyncio.run(run())
        pstats.Stats(profile).sort_stats("tottime").print_stats(45)
    elif "run" in sys.argv:
        print(json.dumps(figures(asyncio.run(run()).marks)))
    else:
        main()

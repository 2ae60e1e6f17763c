"""What the built-in model does as the workers of this project, so that the example runs without a key."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from leadhand.flows import Call, OfflineRequest

EVALUATOR = "deck_evaluator"
FIRST = "Each input is a pitch deck. Judge its growth and its runway. Answer with: score N of 5."
BETTER = f"{FIRST} Then give the reason: repeat the growth and the runway of the deck."


def orchestrate(facts: Mapping[str, Any], request: OfflineRequest) -> Call | str:
    """List the decks, make an evaluator, call it on every deck, improve it once, and report."""
    made = [json.loads(message.content) for message in results(request, "worker_create")]
    listed = results(request, "list_decks")
    if not listed:
        return Call("list_decks", {})
    decks: list[str] = json.loads(listed[0].content)["raw"]
    if not decks:
        return "There are no pitch decks."
    called = [json.loads(message.content) for message in results(request, "worker_call")]
    rounds = [called[at : at + len(decks)] for at in range(0, len(called), len(decks))]
    if made and made[-1].get("isError"):
        if "a worker of the project" not in made[-1]["message"]:
            return request.give_up(made[-1]["message"])
        if rounds:  # an earlier run made the evaluator, and somebody promoted it
            return report(decks, [each["summary"] for each in rounds[-1]])
    elif len(made) == len(rounds):
        answers = rounds[-1] if rounds else []
        if answers and all("growth" in each.get("summary", "") for each in answers):
            return report(decks, [each["summary"] for each in answers])
        return create(FIRST if not rounds else BETTER)
    calls = [{"tool": "worker_call", "args": evaluation(deck)} for deck in decks]
    return Call("parallel_tool_call", {"calls": calls})


def create(instructions: str) -> Call:
    description = "Evaluates one pitch deck."
    return Call(
        "worker_create", {"name": EVALUATOR, "instructions": instructions, "description": description, "tools": []}
    )


def evaluation(deck: str) -> dict[str, Any]:
    return {"worker": EVALUATOR, "input": f"Evaluate {deck}.", "attachments": [deck]}


def report(decks: list[str], answers: list[str]) -> str:
    ranked = sorted(zip(answers, decks, strict=True), reverse=True)
    return "\n".join(f"{deck}: {answer}" for answer, deck in ranked)


def evaluate(facts: Mapping[str, Any], request: OfflineRequest) -> str:
    """Judge one deck by the figures in it."""
    if not facts.get("attachments"):
        return request.give_up("no pitch deck is attached")
    text = facts["attachments"][0]["text"]
    growth, runway = figure(r"Growth: (\d+)", text), figure(r"Runway: (\d+)", text)
    score = min(5, 1 + growth // 25 + runway // 12)
    if "reason" not in request.messages[0].text:
        return f"score {score} of 5"
    return f"score {score} of 5: growth {growth} %, runway {runway} months"


def figure(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(found[1]) if found else 0


def results(request: OfflineRequest, tool: str) -> list[Any]:
    """The results of a tool in the whole conversation."""
    return [message for message in request.messages if getattr(message, "name", "") == tool]


OFFLINE = {"orchestrator": orchestrate, EVALUATOR: evaluate}

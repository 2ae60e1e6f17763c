"""How the harness's scripted model reads Leadhand's requests: one JSON object of facts in the first user message.

``script`` gets a chat-completions request and returns ``(key, role, message, finish_reason)``, or None for a request
that is none of ours. A worker is given its answer only if the tool's true value stands in the request; a review accepts
what is shown as completed, and nothing else. Reviews take the latency of composing.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

Scripted = tuple[str, str, dict[str, Any], str]

KEYS = re.compile(r"of (\d+) keys, ")
CHOOSES = "stub-2"
"""The model of the variant in which each worker chooses its tool."""
RESULT = re.compile(r"RESULT-(\d+): value-k\1\b")


def script(request: dict[str, Any]) -> Scripted | None:
    """The key of the call, its role, the message that answers it, and why the answer ends."""
    messages: list[dict[str, Any]] = request.get("messages") or []
    facts = _facts(messages)
    if facts is None:
        return None
    if facts.keys() == {"goal"} or "subtask" in facts:
        return _work(facts, messages, bool(request.get("tools")))
    asked = KEYS.search(facts.get("request", ""))
    if asked is None:
        return None
    wanted = int(asked[1])
    if "claims" in facts:
        return _judge(facts, wanted)
    if "page" in facts:
        return _plan(facts, wanted, "lookup" if request.get("model") != CHOOSES else None)
    if "subtasks" in facts:
        return _review(facts, wanted)
    return _compose(facts, wanted)


def _facts(messages: list[dict[str, Any]]) -> dict[str, Any] | None:
    told = next((message["content"] for message in messages if message.get("role") == "user"), "")
    try:
        facts = json.loads(told)
    except (TypeError, ValueError):
        return None
    return cast("dict[str, Any]", facts) if isinstance(facts, dict) else None


def _plan(facts: dict[str, Any], wanted: int, tool: str | None) -> Scripted:
    first = facts["page"].get("first_index", 0)
    last = min(wanted, first + facts["page"]["most"])
    subtasks = [{"name": f"task-{i}", "tool": tool, "args": {"key": f"k{i}"}} for i in range(first, last)]
    plan = {"goal": f"the values of {wanted} keys", "subtasks": subtasks, "cannot": [], "more": last < wanted}
    return f"p{wanted}.{first}", "plan", _said(json.dumps(plan)), "stop"


def _work(facts: dict[str, Any], messages: list[dict[str, Any]], tools: bool) -> Scripted:
    made = [call for message in messages for call in message.get("tool_calls") or []]
    args = facts["subtask"]["args"] if "subtask" in facts else json.loads(made[0]["function"]["arguments"])
    key = args["key"]
    number = key.removeprefix("k")
    value = re.compile(rf"value-{key}\b")
    if any(value.search(message.get("content") or "") for message in messages if message.get("role") == "tool"):
        return f"w{number}.1", "work", _said(f"RESULT-{number}: value-{key}"), "stop"
    if tools:
        function = {"name": "lookup", "arguments": json.dumps({"key": key})}
        call = {"id": f"call_{number}_{len(messages)}", "type": "function", "function": function}
        return f"w{number}.0", "work", {"content": None, "tool_calls": [call]}, "tool_calls"
    return f"w{number}.1", "work", _said(f"No value is known for {key}."), "stop"


def _review(facts: dict[str, Any], wanted: int) -> Scripted:
    subtasks, ordered, chosen = facts["subtasks"], facts.get("as_ordered", {}), facts.get("chosen", {})
    verdicts = [
        *({"subtask": key, "verdict": "accept"} for key in chosen),
        *(
            {"subtask": shown["subtask"], "verdict": "accept"}
            if shown["status"] == "completed"
            else {"subtask": shown["subtask"], "verdict": "retry", "reason": "it was not completed"}
            for shown in subtasks
        ),
    ]
    review: dict[str, Any] = {"verdicts": verdicts}
    if not facts.get("judge_only"):
        review["complete"] = all(verdict["verdict"] == "accept" for verdict in verdicts)
    if facts.get("compose") and review["complete"]:
        review["answer"] = _final([*ordered.values(), *chosen.values(), *subtasks], wanted)
    first = next(iter([*ordered, *(verdict["subtask"] for verdict in verdicts)]), "whole")
    return f"r{wanted}.{first}.{len(ordered) + len(verdicts)}", "compose", _said(json.dumps(review)), "stop"


def _judge(facts: dict[str, Any], wanted: int) -> Scripted:
    """Confirm each claim, as far as the values that it names stand in the evidence."""
    shown = json.dumps(facts["evidence"])
    verdicts = {
        str(claim["n"]): "confirmed"
        if all(found[0] in shown for found in RESULT.finditer(claim["text"]))
        else "unconfirmed"
        for claim in facts["claims"]
    }
    first = next(iter(facts["evidence"]), "none")
    judged = {"verdicts": verdicts, "doubts": [], "missing": []}
    return f"j{wanted}.{first}.{len(facts['evidence'])}", "compose", _said(json.dumps(judged)), "stop"


def _compose(facts: dict[str, Any], wanted: int) -> Scripted:
    results = facts.get("sections") or facts["results"]
    first = facts["results"][0]["name"] if facts.get("results") else ""
    part = f".{facts['part']}.{first}" if facts.get("part") else ""
    if facts.get("part") == "section":
        told = "\n".join(f"- {result['summary']}" for result in results)
    else:
        told = _final(results, wanted)
    return f"c{wanted}{part}", "compose", _said(told), "stop"


def _final(results: list[Any], wanted: int) -> str:
    got = {found[1] for found in RESULT.finditer(json.dumps(results))}
    return f"FINAL: {len(got)} of {wanted} results"


def _said(text: str) -> dict[str, Any]:
    return {"content": text}

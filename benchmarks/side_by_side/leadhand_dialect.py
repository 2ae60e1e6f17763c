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
CHOOSES = "the tool its worker chooses"
RESULT = re.compile(r"RESULT-(\d+): value-k\1\b")


def script(request: dict[str, Any]) -> Scripted | None:
    """The key of the call, its role, the message that answers it, and why the answer ends."""
    messages: list[dict[str, Any]] = request.get("messages") or []
    facts = _facts(messages)
    asked = KEYS.search(facts["request"]) if facts else None
    if facts is None or asked is None:
        return None
    wanted = int(asked[1])
    if "page" in facts:
        return _plan(facts, wanted)
    if "subtasks" in facts:
        return _review(facts, wanted)
    if facts.get("task") == "compose":
        return _compose(facts, wanted)
    return _work(facts, messages, bool(request.get("tools")))


def _facts(messages: list[dict[str, Any]]) -> dict[str, Any] | None:
    told = next((message["content"] for message in messages if message.get("role") == "user"), "")
    try:
        facts = json.loads(told)
    except (TypeError, ValueError):
        return None
    return cast("dict[str, Any]", facts) if isinstance(facts, dict) and "request" in facts else None


def _plan(facts: dict[str, Any], wanted: int) -> Scripted:
    first = facts["page"].get("first_index", 0)
    last = min(wanted, first + facts["page"]["most"])
    tool = None if CHOOSES in facts["request"] else "lookup"
    subtasks = [{"name": f"task-{i}", "tool": tool, "args": {"key": f"k{i}"}} for i in range(first, last)]
    plan = {"goal": f"the values of {wanted} keys", "subtasks": subtasks, "cannot": [], "more": last < wanted}
    return f"p{wanted}.{first}", "plan", _said(json.dumps(plan)), "stop"


def _work(facts: dict[str, Any], messages: list[dict[str, Any]], tools: bool) -> Scripted:
    key = facts["subtask"]["args"]["key"]
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
    order, subtasks = facts["order"]["work_order_id"], facts["subtasks"]
    verdicts = [
        {"subtask": shown["subtask"], "verdict": "accept"}
        if shown["status"] == "completed"
        else {"subtask": shown["subtask"], "verdict": "retry", "reason": "it was not completed"}
        for shown in subtasks
    ]
    complete = all(verdict["verdict"] == "accept" for verdict in verdicts)
    review: dict[str, Any] = {"verdicts": verdicts, "complete": complete, "missing": [], "cannot": []}
    if facts["compose"] and complete:
        review["answer"] = _final([shown["result"] for shown in subtasks], wanted)
    first = subtasks[0]["subtask"] if subtasks else "whole"
    return f"r{wanted}.{order}.{first}.{len(subtasks)}", "compose", _said(json.dumps(review)), "stop"


def _compose(facts: dict[str, Any], wanted: int) -> Scripted:
    results = facts.get("sections") or facts["results"]
    first = facts["results"][0]["subtask"] if facts["results"] else ""
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

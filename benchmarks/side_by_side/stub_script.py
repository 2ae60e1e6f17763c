"""What the scripted model of the benchmark answers: the tags in a prompt, or the dialect of a system, decide."""

from __future__ import annotations

import re
from typing import Any

import orjson

TAG = re.compile(rb"@@(COMPOSE|PLAN|WORK):(\d+)@@")
RESULT = re.compile(rb"RESULT-(\d+)")
PRIORITY = {b"COMPOSE": 0, b"PLAN": 1, b"WORK": 2}


def plan_json(n: int) -> str:
    return orjson.dumps(
        {"subtasks": [{"name": f"task-{i}", "tool": "lookup", "args": {"key": f"k{i}"}} for i in range(n)]}
    ).decode()


def args_for(schema: dict, i: int, task: str) -> str:
    """Arguments for a worker's or lead's tool call: fill every required string by its name."""
    props = (schema or {}).get("properties") or {"key": {}}
    out = {}
    for name, spec in props.items():
        if name == "key":
            out[name] = f"k{i}"
        elif name in ("description", "task", "prompt", "input", "request"):
            out[name] = task
        elif name == "subagent_type":
            out[name] = "worker"
        elif name in (schema.get("required") or ()):
            out[name] = f"k{i}" if spec.get("type", "string") == "string" else 0
    return orjson.dumps(out).decode()


def tool_call(call_id: str, name: str, args: str) -> dict:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": args}}


def text_of(message: dict) -> str:
    c = message.get("content")
    if isinstance(c, list):
        return "".join(p.get("text", "") for p in c if isinstance(p, dict))
    return c or ""


DSPY_FIELD = re.compile(r"\[\[ ## (\w+) ## \]\]")


def dspy_reply(messages: list, values: dict, default: str) -> str | None:
    """DSPy's chat format names the wanted output fields in the last user message."""
    last = text_of(messages[-1])
    at = last.rfind("Respond with the corresponding output fields")
    if at < 0:
        return None
    wanted = [f for f in DSPY_FIELD.findall(last[at:]) if f != "completed"]
    return "\n\n".join(f"[[ ## {f} ## ]]\n{values.get(f, default)}" for f in wanted) + "\n\n[[ ## completed ## ]]"


def script(state: Any, body: bytes):
    """-> (key, role, message, finish_reason, streamed)"""
    req = orjson.loads(body)
    messages = req.get("messages") or []
    tools = [t["function"] for t in req.get("tools") or [] if t.get("type") == "function"]
    stream = bool(req.get("stream"))
    if state.dialect is not None:
        said = state.dialect(req)
        if said is not None:
            key, role, message, finish = said
            return (key, role, message, finish, stream)
    best = None
    for m in TAG.finditer(body):
        rank = PRIORITY[m[1]]
        if best is None or rank < best[0]:
            best = (rank, m[1], int(m[2]))
            if rank == 0:
                break
    if best is None:
        state.unknown += 1
        return ("?", "unknown", {"content": "OK"}, "stop", stream)
    _, tag, k = best
    last_is_tool = bool(messages) and messages[-1].get("role") == "tool"

    if tag == b"COMPOSE" or (tag == b"PLAN" and last_is_tool):
        got = len(set(RESULT.findall(body)))
        state.composed = got
        text = f"FINAL: {got} of {k} results"
        structured = next((t for t in tools if "final" in t["name"].lower() and "props" not in t), None)
        if tag == b"COMPOSE" and structured is not None:
            return (
                f"c{k}",
                "compose",
                {
                    "content": None,
                    "tool_calls": [tool_call("call_c", structured["name"], orjson.dumps({"answer": text}).decode())],
                },
                "tool_calls",
                stream,
            )
        return (f"c{k}", "compose", {"content": dspy_reply(messages, {}, text) or text}, "stop", stream)

    if tag == b"PLAN":
        plan = plan_json(k)
        if tools:
            first = next((t for t in tools if "subtasks" in (t.get("parameters") or {}).get("properties", {})), None)
            if first is not None:  # a structured-output tool
                return (
                    f"p{k}",
                    "plan",
                    {"content": None, "tool_calls": [tool_call("call_p", first["name"], plan)]},
                    "tool_calls",
                    stream,
                )
            pick = next((t for t in tools if t["name"] in ("task", "delegate", "lookup", "worker")), tools[0])
            calls = [
                tool_call(
                    f"call_p{i}",
                    pick["name"],
                    args_for(pick.get("parameters") or {}, i, f"@@WORK:{i}@@ Look up key k{i} and report it."),
                )
                for i in range(k)
            ]
            return (f"p{k}", "plan", {"content": None, "tool_calls": calls}, "tool_calls", stream)
        subtasks = orjson.dumps(orjson.loads(plan)["subtasks"]).decode()
        text = dspy_reply(messages, {"subtasks": subtasks, "reasoning": "Independent subtasks."}, plan) or plan
        return (f"p{k}", "plan", {"content": text}, "stop", stream)

    # a worker: has the tool's true value come back yet?
    value = f"value-k{k}"
    seen = any(value in text_of(m) for m in messages if m.get("role") in ("tool", "user"))
    answer = f"RESULT-{k}: {value}"
    if not tools:
        values = {
            "key": f"k{k}",
            "next_tool_args": f'{{"key": "k{k}"}}',
            "next_thought": "Look it up.",
            "reasoning": "Look it up.",
            "next_tool_name": "finish" if seen else "lookup",
        }
        if seen:
            values["next_tool_args"] = "{}"
        text = dspy_reply(messages, values, answer)
        if text is not None:
            phase = 1 if seen else 0
            if (
                seen
                and "answer ## ]]" in text
                and "next_tool_name" not in text
                and any("trajectory ## ]]" in text_of(m) for m in messages)
            ):
                phase = 2  # ReAct's extra extraction call
            return (f"w{k}.{phase}", "work", {"content": text}, "stop", stream)
    if seen:
        return (f"w{k}.1", "work", {"content": answer}, "stop", stream)
    if messages and messages[-1].get("role") == "tool":
        state.corrections += 1  # the tool reported an error: try the call again
    if tools:
        pick = next((t for t in tools if "key" in (t.get("parameters") or {}).get("properties", {})), tools[0])
        return (
            f"w{k}.0",
            "work",
            {
                "content": None,
                "tool_calls": [
                    tool_call(f"call_{k}_{state.requests}", pick["name"], args_for(pick.get("parameters") or {}, k, ""))
                ],
            },
            "tool_calls",
            stream,
        )
    return (f"w{k}.1", "work", {"content": f"No value is known for k{k}."}, "stop", stream)  # never invent a result

"""What holds of every run, however weak its model is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from leadhand.core.events import Entry, ModelCallBegan, ModelCallReturned, RunStarted, ToolCallReturned
from leadhand.runs import Run
from real_model.recorder import Recorder

FOR_MODELS = re.compile(
    r"give_up|not accepted: |That cannot be used|Write (it|the whole answer) again|Do not mention"
    r"|answer with one JSON object",
    re.IGNORECASE,
)
"""What only models are told."""
OVER = ("succeeded", "partial", "failed")


def check_document(run: dict[str, Any]) -> None:
    """Check that the status of a run document follows from the rest of it, and that its reasons are for people."""
    assert run["status"] in OVER, run["status"]
    reasons = [gap["reason"] for gap in run["gaps"]]
    if run["status"] == "succeeded":
        assert run["answer"].strip()
        assert not run["gaps"]
        assert run["failure"] is None
    elif run["status"] == "partial":
        assert run["answer"].strip()
        assert run["gaps"]
    else:
        assert run["failure"] is not None or run["gaps"], "a failed run says why"
    failures = [each["failure"] for each in run["steps"] if each["failure"]] + [run["failure"] or {}]
    for reason in [*reasons, *(each.get("message", "-") for each in failures)]:
        assert reason.strip()
        assert not FOR_MODELS.search(reason), reason
    for gap in run["gaps"]:
        assert gap["next_action"].strip()
    for order, state in zip(run["work_orders"], run["work_states"], strict=True):
        assert len(order["subtasks"]) == len(state["subtask_state"])
    limits, usage = run["limits"], run["usage"]
    assert usage["cost_usd"] == 0, "the price of this model is known"
    assert limits["max_requests"] is None or usage["requests"] <= limits["max_requests"]
    assert limits["max_tokens"] is None or usage["input_tokens"] + usage["output_tokens"] <= limits["max_tokens"]


def check_log(run: dict[str, Any], entries: Sequence[Entry], recorder: Recorder | None = None) -> None:
    """Check that nothing is called done, and nothing counted, that the log and the server do not show."""
    began = [entry.event for entry in entries if isinstance(entry.event, ModelCallBegan)]
    returned = [entry.event for entry in entries if isinstance(entry.event, ModelCallReturned)]
    assert len(began) == len(returned)
    used = [each.usage for each in returned if each.usage is not None]
    usage = run["usage"]
    if len(used) == len(returned):
        assert usage["input_tokens"] == sum(each.input_tokens for each in used)
        assert usage["output_tokens"] == sum(each.output_tokens for each in used)
    if recorder is not None:
        assert usage["requests"] >= len(recorder.sent)
        assert usage["input_tokens"] + usage["output_tokens"] == recorder.tokens
    made = [
        (entry.event.attempt.partition("/")[0], entry.event.tool)
        for entry in entries
        if isinstance(entry.event, ToolCallReturned) and entry.event.ok
    ]
    for order, state in zip(run["work_orders"], run["work_states"], strict=True):
        for index, subtask in enumerate(order["subtasks"]):
            done = state["subtask_state"][str(index)]["status"] == "completed"
            if done and subtask["tool"]:
                assert (f"{order['work_order_id']}.{index}", subtask["tool"]) in made


def check_plans(entries: Sequence[Entry]) -> None:
    """Check that each plan that a server's grammar forced fits its schema, unless it was cut off."""
    started = next(entry.event for entry in entries if isinstance(entry.event, RunStarted))
    tools = {tool.name for tool in started.definition.tools}
    returned = [entry.event for entry in entries if isinstance(entry.event, ModelCallReturned)]
    written = [each for each in returned if each.attempt.startswith("plan")]
    assert written
    for each in written:
        if each.failure is not None:
            assert each.failure.type == "cut_answer"
            continue
        assert isinstance(each.value, dict)
        for subtask in each.value.get("subtasks", ()):
            assert subtask["name"]
            assert subtask["tool"] is None or subtask["tool"] in tools
            assert subtask["tool"] is None or isinstance(subtask["args"], dict)


async def finished(run: Run, recorder: Recorder | None = None) -> tuple[dict[str, Any], list[Entry]]:
    """The document and the log of a run that has ended and is honest."""
    answer = await run.answer()
    entries = [entry async for entry in run]
    check_document(answer.document)
    check_log(answer.document, entries, recorder)
    return answer.document, entries

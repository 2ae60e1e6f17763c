"""The steps of a scripted model: say something, call tools, plan, review, judge or fail."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from leadhand.core.conversation import AssistantMessage, ToolCall
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.limits import Usage
from leadhand.core.value import object_of, objects_of, text_of
from leadhand.models.answers import decode_object
from leadhand.models.failures import finished
from leadhand.ports import ModelError
from leadhand.ports.models import ModelReply, ModelRequest

_FREE = Usage(requests=1, nanousd=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One answer of a model, or its failure.

    ``calls`` are tool names and arguments (text for arguments that are not JSON). ``delay_s`` passes before
    the answer, ``pause_s`` after each word of it, in seconds of the model's clock. ``usage`` is the reported usage;
    None on a failure leaves it unknown. With ``finish_reason="length"``, the answer was cut off at the token limit.
    """

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any] | str], ...] = ()
    failure: Failure | None = None
    usage: Usage | None = _FREE
    finish_reason: str = ""
    delay_s: float = 0.0
    pause_s: float = 0.0

    def slowly(self, seconds: float) -> Step:
        """Return the same step, written word by word with ``seconds`` after each, also a structured answer."""
        return replace(self, pause_s=seconds)

    def after(self, seconds: float) -> Step:
        """Return the same step, ``seconds`` later."""
        return replace(self, delay_s=seconds)

    def costing(self, *, input_tokens: int = 0, output_tokens: int = 0, nanousd: int | None = None) -> Step:
        """Return the same step with this usage."""
        return replace(
            self, usage=Usage(requests=1, input_tokens=input_tokens, output_tokens=output_tokens, nanousd=nanousd)
        )

    def reply(self, request: ModelRequest) -> ModelReply:
        """Return the reply of this step to ``request``. Raises :class:`ModelError` if it is a failure."""
        if self.failure is not None:
            raise ModelError(self.failure, self.usage)
        made = sum(len(message.tool_calls) for message in request.messages if isinstance(message, AssistantMessage))
        calls = self.tool_calls(made)
        value = decode_object(self.text) if request.output is not None else None
        finish, usage = self.finish_reason or "stop", self.usage or Usage(requests=1)
        return finished(request, finish, usage, text=self.text, calls=calls, value=value)

    def tool_calls(self, made: int) -> tuple[ToolCall, ...]:
        """The calls, numbered after the ``made`` earlier ones of the conversation."""
        calls: list[ToolCall] = []
        for number, (name, args) in enumerate(self.calls, start=made):
            arguments, raw = (None, args) if isinstance(args, str) else (args, json.dumps(args, ensure_ascii=False))
            calls.append(ToolCall(id=f"call_{number}", name=name, arguments=arguments, raw=raw))
        return tuple(calls)


Answer = Step | str | Mapping[str, Any]
"""A step, or its short form: text to say, or a JSON object as a structured answer."""

Scripted = Answer | Callable[[ModelRequest], Answer | Awaitable[Answer]]
"""An answer, or a function that makes one from the request; it may be asynchronous, to wait for something."""


def step_of(answer: Answer) -> Step:
    """Return the step of an answer in its short form."""
    match answer:
        case Step():
            return answer
        case str():
            return says(answer)
        case _:
            return gives(answer)


def words_of(text: str) -> list[str]:
    """Return the words of a text, each with the space after it, as a stream sends them."""
    return re.findall(r"[^ ]* |[^ ]+", text)


def says(text: str) -> Step:
    """Plain text."""
    return Step(text=text)


def gives(value: Mapping[str, Any]) -> Step:
    """A structured answer."""
    return Step(text=json.dumps(value, ensure_ascii=False))


def calls(tool: str, /, **args: Any) -> Step:
    """One tool call: ``calls("weather_tool", location="Paris")``."""
    return Step(calls=((tool, args),))


def calls_all(*made: tuple[str, dict[str, Any] | str]) -> Step:
    """Several tool calls in one answer: ``calls_all(("a", {}), ("b", {"x": 1}))``; text for malformed arguments."""
    return Step(calls=made)


def subtask(name: str, tool: str | None = None, /, *, needs: Iterable[int | str] = (), **args: Any) -> dict[str, Any]:
    """A subtask for :func:`plans`."""
    proposed: dict[str, Any] = {"name": name, "args": args}
    if tool is not None:
        proposed["tool"] = tool
    if needed := list(needs):
        proposed["needs"] = needed
    return proposed


def plans(*subtasks: Mapping[str, Any], goal: str = "the goal", cannot: Mapping[str, str] | None = None) -> Step:
    """A plan; ``cannot`` maps parts that cannot be done to the reason."""
    return gives({"goal": goal, "subtasks": [dict(s) for s in subtasks], "cannot": _out_of_reach(cannot)})


def reviews(
    *,
    accept: Iterable[str] = (),
    retry: Iterable[str] = (),
    drop: Mapping[str, str] | None = None,
    replan: Mapping[str, Mapping[str, Any]] | None = None,
    missing: Iterable[Mapping[str, Any]] = (),
    cannot: Mapping[str, str] | None = None,
    answer: str | None = None,
) -> Step:
    """A review, by the keys of subtasks. ``drop`` maps keys to reasons, ``replan`` to replacements."""
    verdicts: list[dict[str, Any]] = [{"subtask": key, "verdict": "accept", "reason": ""} for key in accept]
    again = [{"subtask": key, "verdict": "retry", "reason": "once more"} for key in retry]
    again += [
        {"subtask": key, "verdict": "replan", "reason": "another way", "replacement": dict(instead)}
        for key, instead in (replan or {}).items()
    ]
    dropped = [{"subtask": key, "verdict": "drop", "reason": reason} for key, reason in (drop or {}).items()]
    lacking = [dict(part) for part in missing]
    review: dict[str, Any] = {
        "verdicts": [*verdicts, *again, *dropped],
        "complete": not again and not lacking,
        "missing": lacking,
        "cannot": _out_of_reach(cannot),
    }
    if answer is not None:
        review["answer"] = answer
    return gives(review)


def judges(
    *doubts: Mapping[str, Any], verdict: str = "confirmed", missing: Iterable[Mapping[str, str]] = ()
) -> Callable[[ModelRequest], Step]:
    """Verdicts on the claims of a request: that of the first doubt whose ``part`` is in a claim, else ``verdict``.

    A doubt is an entry of a judge's ``doubts`` without the number of its claim; its verdict is contradicted unless it
    has another one: ``judges({"part": "12 °C", "why": "…", "evidence": "wo-001.0", "quote": "21 °C"})``.
    """

    def judge(request: ModelRequest) -> Step:
        verdicts: dict[str, str] = {}
        found: list[dict[str, Any]] = []
        for claim in objects_of(brief_of(request).get("claims")):
            doubt = next((each for each in doubts if each["part"] in claim["text"]), None)
            verdicts[str(claim["n"])] = verdict if doubt is None else doubt.get("verdict", "contradicted")
            found += [{"why": "", **doubt, "claim": claim["n"]}] if doubt is not None else []
        return gives({"verdicts": verdicts, "doubts": found, "missing": [dict(part) for part in missing]})

    return judge


all_confirmed = judges()
"""A judge that confirms every claim."""


def fails(
    class_: FailureClass | str,
    type: str = "",
    message: str = "",
    *,
    retry_after_s: float | None = None,
    next_action: str = "",
    after_saying: str = "",
) -> Step:
    """A failure: ``fails("transient", "timeout")``. Its usage is unknown; set it with ``.costing()``.

    ``after_saying`` is the text that was streamed before the failure.
    """
    message = message or f"scripted failure: {type or class_}"
    failure = Failure.of(message, type or str(class_), FailureClass(class_), next_action, retry_after_s)
    return Step(text=after_saying, failure=failure, usage=None)


def _out_of_reach(cannot: Mapping[str, str] | None) -> list[dict[str, str]]:
    return [{"what": what, "reason": reason} for what, reason in (cannot or {}).items()]


def brief_of(request: ModelRequest) -> dict[str, Any]:
    """The brief of a request: the JSON document of its first user message, {} if it has none."""
    for message in request.messages:
        if message.role == "user":
            return decode_object(message.text) or {}
    return {}


def results_of(brief: Mapping[str, Any]) -> dict[str, dict[str, Any] | None]:
    """The results of the subtasks that a review judges, by key, in order; None for a subtask that is not completed."""
    found: dict[str, dict[str, Any] | None] = {**object_of(brief.get("as_ordered"))}
    for shown in objects_of(brief.get("subtasks")):
        completed = shown.get("status") == "completed"
        found[text_of(shown.get("subtask"))] = object_of(shown.get("result")) if completed else None
    return {key: found[key] for key in sorted(found, key=lambda key: (len(key), key))}


def worker_of(request: ModelRequest) -> str:
    """Return the worker of a request: the name of its output (``plan``, ``review``, ``judge``, ``confirm``, or that of
    its worker), or ``correct``; without these, the name of its worker, which over HTTP only its brief can tell."""
    if request.output is not None:
        return request.output.name
    brief = brief_of(request)
    if brief.keys() >= {"answer", "problems"}:
        return "correct"
    named = "work" if "subtask" in brief or brief.keys() == {"goal"} else text_of(brief.get("task"))
    return request.worker or named or ("compose" if brief.keys() >= {"results", "most_words"} else "other")

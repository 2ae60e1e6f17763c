"""What a model is shown of a call: what the tool or the other worker said, once and as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.fakes import FakeModels, calls
from engine.worlds import ask, plan
from leadhand.core.conversation import AssistantMessage, ToolCall, ToolMessage
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.tool import CallState, Delegate, Source, ToolReturn
from leadhand.engine.session.turn import Turn, content_of
from leadhand.ports.models import ModelRequest
from leadhand.tools.decorator import tool

PAGE = Source(title="page", url="https://example.org/1")
TASK = Delegate(title="count")


def shown(**result: Any) -> Any:
    return json.loads(content_of(CallState(call_id="a/t1/c0", tool="look", **result)))


def failed(type_: str) -> Failure:
    return Failure.of("it is too dark", type_, FailureClass.INVALID)


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ({"raw": {"n": 1}, "summary": "saw 1"}, {"summary": "saw 1", "raw": {"n": 1}}),
        ({"raw": "saw 1", "summary": "saw 1"}, {"raw": "saw 1"}),
        ({"raw": {"n": 1}, "summary": '{"n":1}'}, {"raw": {"n": 1}}),
        ({"raw": {"isError": False, "message": "7"}, "sources": (PAGE,)}, {"isError": False, "message": "7"}),
        ({"raw": {"isError": False, "message": '{"n": [1]}'}}, {"isError": False, "message": {"n": [1]}}),
        ({"raw": {"isError": False, "message": "[NaN]"}}, {"isError": False, "message": "[NaN]"}),
        ({"raw": {"isError": "no"}}, {"raw": {"isError": "no"}}),
        ({"failure": failed("tool_error")}, {"isError": True, "message": "it is too dark"}),
        ({"failure": failed("child_failed")}, {"isError": True, "message": "it is too dark"}),
        ({"failure": failed("timeout")}, {"isError": True, "message": "it is too dark", "class": "invalid"}),
        ({"asks": (TASK,), "raw": {"summary": "s", "passages": {"1": "p"}}}, {"summary": "s"}),
        ({"asks": (TASK,), "raw": {"n": 1}, "summary": "in words"}, {"summary": "in words", "raw": {"n": 1}}),
        (
            {"asks": (TASK, TASK), "raw": {"a": {"n": 1, "passages": {}}, "b": {"n": 2}}},
            {"a": {"n": 1}, "b": {"n": 2}},
        ),
    ],
    ids=[
        *(
            "words and data",
            "data in words",
            "the same data",
            "primitive",
            "JSON",
            "no JSON",
            "no primitive",
            "error of a tool",
        ),
        *("error of a worker", "any error", "answer of a worker", "text of a worker", "answers of workers"),
    ],
)
def test_a_result_is_shown_as_it_is(result: dict[str, Any], content: Any):
    assert shown(**result) == content


@pytest.mark.parametrize("ok", [True, False])
async def test_a_worker_is_shown_the_answer_of_another_as_it_is(open_world: Any, ok: bool):
    schema = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}

    @tool
    def survey() -> ToolReturn:
        """Have the hills counted."""
        asks = (Delegate(title="Count", output=schema),)
        return ToolReturn(raw={"isError": False, "message": "asked"}, summary="asked", asks=asks)

    def work(request: ModelRequest, facts: dict[str, Any]) -> Any:
        if request.output is not None:
            return {"summary": "seven hills"} if ok else calls(("give_up", {"reason": "there is fog"}))
        said = [message.content for message in request.messages if isinstance(message, ToolMessage)]
        return f"shown: {said[-1]}" if said else calls(("survey", {}))

    state = await open_world(FakeModels(plan(ask("a")), work=work), [survey]).run()
    said = state.steps["wo-001.0"].data.summary.removeprefix("shown: ")

    assert json.loads(said) == ({"summary": "seven hills"} if ok else {"isError": True, "message": "there is fog"})


@pytest.mark.parametrize(("hook", "by"), [("", "a person"), ("cap", "the hook cap")])
def test_the_result_of_a_call_whose_arguments_were_changed_begins_with_a_note(hook: str, by: str):
    said = tuple(ToolCall(id=f"x{n}", name="look", arguments={"n": n}) for n in (1, 2))
    turn = Turn("a", 1, 1, AssistantMessage(tool_calls=said))
    turn.done[0] = CallState(call_id="a/t1/c0", tool="look", args={"n": 1}, raw="one")
    turn.done[1] = CallState(call_id="a/t1/c1", tool="look", args={"n": 3}, raw="three", changed_by=hook)
    shown, *results = turn.messages(None)

    assert shown == turn.message, "the calls are shown as the model wrote them"
    first, second = (json.loads(each.content) for each in results if isinstance(each, ToolMessage))
    assert "note" not in first
    assert [*second.items()] == [("note", f'{by} changed the arguments of this call to {{"n":3}}'), ("raw", "three")]

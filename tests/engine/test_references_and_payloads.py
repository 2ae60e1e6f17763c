"""What workers are shown of results: references, large payloads, and results as they are."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from engine.fakes import FakeModels, calls
from engine.tools import Bench
from engine.worlds import World, ask, plan
from leadhand.core.artifact import BLOB_ABOVE, Blob, blob_of
from leadhand.core.conversation import AssistantMessage, ToolCall, ToolMessage
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.events import ModelCallBegan, ToolCallReturned
from leadhand.core.tool import CallState, Delegate, Source, ToolReturn
from leadhand.core.work_order import Unresolved, pointed, references, renamed, resolved
from leadhand.core.work_result import ResultData
from leadhand.engine.gate import schema_flaw, schema_problems
from leadhand.engine.session.turn import Turn, content_of
from leadhand.tools.decorator import tool

LARGE = {"places": [{"name": f"place {number}", "lat": number} for number in range(400)]}


@tool
async def survey() -> ToolReturn:
    """Survey everything: a large answer."""
    return ToolReturn(raw=LARGE, summary="surveyed 400 places")


@tool
async def list_all() -> dict[str, Any]:
    """List everything: a large answer without words."""
    return LARGE


def result(subtask: int, path: str) -> dict[str, Any]:
    return {"$result": {"subtask": str(subtask), "path": path}}


async def test_an_argument_may_come_from_a_result_that_is_kept_beside_the_log(open_world: Any):
    bench = Bench()
    models = FakeModels(
        plan(ask("a", "survey"), {**ask("b", "look", n=result(0, "/raw/places/399/lat")), "needs": [0]})
    )
    world = open_world(models, [survey, bench.look])
    state = await world.run()

    assert blob_of(state.steps["wo-001.0"].data.raw) is not None
    assert bench.made == [("look", 399)]
    assert models.requests("work") == []


@pytest.mark.parametrize("path", ["/raw/nowhere", "raw/n", "/raw/n/0"])
async def test_what_a_reference_that_leads_nowhere_should_bring_is_worked_out_with_one_request(
    open_world: Any, path: str
):
    bench = Bench()
    models = FakeModels(
        plan(ask("a", "look", n=7), {**ask("b", "measure", n=result(0, path)), "needs": [0]}),
        work=calls(("measure", {"n": 7})),
    )
    state = await open_world(models, [bench.look, bench.measure]).run()

    assert bench.made == [("look", 7), ("measure", 7)]
    assert state.steps["wo-001.1"].data is not None
    assert len(models.requests("work")) == 1


@pytest.mark.parametrize("path", ["/raw/nowhere", "raw/n", "/raw/n/0"])
async def test_nothing_is_called_if_a_worker_cannot_work_out_what_a_reference_should_bring(open_world: Any, path: str):
    bench = Bench()
    models = FakeModels(
        plan(ask("a", "look", n=7), {**ask("b", "look", n=result(0, path)), "needs": [0]}),
        work=calls(("give_up", {"reason": "no number"})),
    )
    world = open_world(models, [bench.look])
    state = await world.run()

    assert bench.made == [("look", 7)]
    assert state.steps["wo-001.1"].failure is not None


async def blobs_of(world: World) -> dict[str, bytes]:
    """What is kept beside the log."""
    return dict(world.store.blobs)


async def test_a_large_answer_is_kept_once_and_the_log_only_points_at_it(open_world: Any):
    world = open_world(FakeModels(plan(ask("a", "survey"), ask("b", "survey"))), [survey])
    state = await world.run()

    kept = await blobs_of(world)
    ((digest, body),) = [item for item in kept.items() if json.loads(item[1]) == LARGE]
    assert digest == f"sha256:{hashlib.sha256(body).hexdigest()}"
    for event in await world.events(ToolCallReturned):
        assert event.raw == {"$blob": digest, "bytes": len(body)}
    for entry in (await world.entries())[1:]:  # the first pins workers and tools with their schemas
        assert len(entry.event.model_dump_json()) < 2 * BLOB_ABOVE, f"{entry.event.type} holds a copy"
    assert blob_of(state.steps["wo-001.0"].data.raw) == Blob(digest=digest, size=len(body))
    assert json.loads(await world.store.blob(digest)) == LARGE


async def test_after_a_crash_the_large_answer_is_fetched_and_not_asked_for_again(open_world: Any):
    made: list[str] = []

    @tool(name="list_all")
    async def counted() -> dict[str, Any]:
        """List everything."""
        made.append("list_all")
        return LARGE

    models = FakeModels(plan(ask("a", "list_all")), work="There are 400.")
    world = open_world(models, [counted], worker_calls="always")
    await world.run()
    log = await world.entries()
    upto = next(e.seq for e in log if isinstance(e.event, ModelCallBegan) and e.event.attempt.startswith("wo-"))

    second = open_world(FakeModels(plan(), work="There are 400."), [counted], worker_calls="always")
    await second.store.create("run_1", log[0].event)
    await second.store.append("run_1", [entry.event for entry in log[1:upto]], blobs=await blobs_of(world))
    state = await second.take_over("run_1")

    assert made == ["list_all"]
    assert state.status == "succeeded"
    (told,) = [m for m in second.models.requests("work")[0].messages if isinstance(m, ToolMessage)]
    assert "place 399" in told.content


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


DOCUMENT = {"a": [{"b/c": 1, "d~e": 2}, 3], "": 4, "01": 5, "n": None}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", DOCUMENT),
        ("/a/0/b~1c", 1),
        ("/a/0/d~0e", 2),
        ("/a/1", 3),
        ("/", 4),
        ("/01", 5),
        ("/n", None),
    ],
)
def test_a_pointer_leads_where_its_standard_says(pointer: str, value: Any):
    assert pointed(DOCUMENT, pointer) == value


@pytest.mark.parametrize(
    "pointer", ["/b", "/a/2", "/a/-1", "/a/x", "/a/01", "/a/²", "a", "a/1", "summary", "/n/x", "/a/1/x"]
)
def test_a_pointer_to_nothing_and_what_is_no_pointer_lead_nowhere(pointer: str):
    with pytest.raises(Unresolved):
        pointed(DOCUMENT, pointer)


def test_what_does_not_fit_a_schema_is_said_in_one_sentence_each_and_at_most_eight():
    schema = {"type": "array", "items": {"type": "integer"}}

    assert schema_problems(schema, [1, 2]) == []
    (problem,) = schema_problems(schema, [1, "two"])
    assert problem.startswith('1: "two"')
    assert len(schema_problems(schema, ["x"] * 99)) == 8


def test_a_reference_stands_anywhere_in_an_argument():
    to = {"$result": {"subtask": "0", "path": "/raw/n"}}
    args = {"record": {"n": [to, 1]}, "m": "text"}

    assert references(args) == ["0"]
    args = renamed(args, lambda name: f"wo-001.{name}")
    assert references(args) == ["wo-001.0"]
    needs = {"wo-001.0": ResultData(summary="7", raw={"n": 7})}
    assert resolved(args, needs) == {"record": {"n": [7, 1]}, "m": "text"}
    assert resolved(args, {}) == {"m": "text"}, "a part that leads nowhere leaves the whole argument to a worker"


def test_a_reference_that_leads_nowhere_is_left_to_a_worker():
    to = {"$result": {"subtask": "wo-001.0", "path": "/raw/n"}}
    assert resolved({"n": to, "m": 1}, {}) == {"m": 1}
    assert resolved({"n": to, "m": 1}, {"wo-001.0": ResultData(summary="2")}) == {"m": 1}


def doubling(levels: int, reference: str) -> dict[str, Any]:
    """A schema of a few lines that stands for as many parts as two to the power of its levels."""
    parts: dict[str, Any] = {"part-0": {"type": "string"}}
    for level in range(1, levels + 1):
        named = {"$ref": reference.format(level - 1)}
        parts[f"part-{level}"] = {"allOf": [named, named]}
    return {"type": "object", "$defs": parts, "properties": {"a": {"$ref": reference.format(levels)}}}


def test_a_schema_whose_check_would_never_end_is_refused():
    assert "5,000,000" in schema_flaw(doubling(40, "#/$defs/part-{}"))


@pytest.mark.parametrize("reference", ["#part-{}", "elsewhere#/$defs/part-{}", "#/$defs/none-{}", "#/%24defs/part-{}"])
def test_a_reference_that_is_no_pointer_into_the_schema_is_refused(reference: str):
    assert schema_flaw(doubling(1, reference))


@pytest.mark.parametrize("place", ["{}", "+{}", "00{}"])
def test_references_to_places_in_lists_are_refused(place: str):
    """The levels are items of one list, and each refers to the previous one twice."""
    twice = [{"allOf": [{"$ref": "#/items/anyOf/" + place.format(level)}] * 2} for level in range(40)]
    levels = [{"type": "string"}, *twice]
    named = {"$ref": "#/items/anyOf/" + place.format(40)}
    schema = {"type": "object", "items": {"anyOf": levels}, "properties": {"a": named}}
    assert "cannot be used: refer to parts" in schema_flaw(schema)


def test_what_references_stand_for_is_looked_for_in_a_bounded_number_of_places():
    """Each of many references may begin at each of many identifiers, or stand for each of many anchors."""
    identified = {f"p{n}": {"$id": f"a{n}", "$ref": f"#/x{n}"} for n in range(20_000)}
    anchored = {f"p{n}": {"$anchor": "a", "$ref": "#a"} for n in range(20_000)}
    for parts in (identified, anchored):
        assert schema_flaw({"type": "object", "properties": parts})


def test_a_place_in_a_list_with_thousands_of_digits_leads_nowhere():
    named = {"$ref": "#/items/anyOf/" + "9" * 5_000}
    schema = {"type": "object", "items": {"anyOf": [{}]}, "properties": {"a": named}}
    assert "cannot be used: refer to parts" in schema_flaw(schema)


def test_a_long_chain_of_references_is_refused():
    parts: dict[str, Any] = {f"part-{n}": {"$ref": f"#/$defs/part-{n + 1}"} for n in range(20_000)}
    schema = {"type": "object", "$defs": {**parts, "part-20000": {}}, "properties": {"a": {"$ref": "#/$defs/part-0"}}}
    assert schema_flaw(schema)


def test_a_schema_that_refers_to_itself_or_often_to_one_part_is_none_of_these():
    node = {
        "$id": "https://example.com/node",
        "type": "object",
        "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}},
    }
    often = {"type": "object", "properties": {f"p{n}": {"$ref": "#/$defs/part-8"} for n in range(50)}}
    for schema in (node, doubling(8, "#/$defs/part-{}") | often):
        assert schema_flaw(schema) == ""
    (problem,) = schema_problems(node, {"left": {"right": {"left": 1}}})
    assert problem.startswith("left.right.left: 1 ")


async def test_an_argument_may_be_the_result_of_another_subtask(open_world: Any):
    bench = Bench()
    models = FakeModels(plan(ask("a", "look", n=7), {**ask("b", "look", n=result(0, "/raw/n")), "needs": [0]}))
    world = open_world(models, [bench.look])
    state = await world.run()

    assert bench.made == [("look", 7), ("look", 7)]
    assert models.requests("work") == [], "a model was asked for what the log already said"
    assert state.steps["wo-001.1"].subtask.args == {"n": {"$result": {"subtask": "wo-001.0", "path": "/raw/n"}}}


async def test_a_worker_is_shown_the_large_result_it_needs_and_not_a_pointer_to_it(open_world: Any):
    bench = Bench()
    models = FakeModels(
        plan(ask("a", "survey"), {**ask("b", "measure"), "needs": [0]}), work=[calls(("measure", {"n": 1})), "ten"]
    )
    world = open_world(models, [survey, bench.measure])
    await world.run()

    assert "place 399" in json.dumps(models.facts("work")[0]["needs"])

"""What a tool asks of the controller is granted whole or refused with a reason, and the call gets its answer."""

from __future__ import annotations

import pytest

from core.histories import History
from core.own import asks, assigned, comes_back, current, decided, history_of, page
from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.decide import due
from leadhand.core.errors import FailureClass
from leadhand.core.run import AttemptStatus, RunStatus
from leadhand.core.tool import Ask, CallState, DefineWorker, Delegate, SetTodos, Todo, WriteArtifact
from leadhand.core.work_order import OpenCall
from leadhand.core.work_result import ResultData
from leadhand.core.worker import ALL_TOOLS, Worker

LEAD = Worker(name="lead", tools=(ALL_TOOLS,), counts=True)
LOOKER = Worker(name="looker", tools=("look", "write"))
FILE = WriteArtifact(path="notes/day-1.md", digest="sha256:00ff", size=12)
TODOS = SetTodos(todos=(Todo(id="1", content="look around", status="in_progress", priority="high"),))
POET = DefineWorker(name="poet", description="Writes verse.", instructions="Write verse.", tools=("look",))


def working(*workers: Worker) -> History:
    """A run in which a lead is at work."""
    history = history_of(*(workers or (LEAD, LOOKER)))
    assigned(history, "a", "lead")
    return history


def call_of(history: History, call_id: str) -> CallState:
    """A call as the lineage of its attempt remembers it."""
    (found,) = (call for call in history.state.steps["a"].evidence if call.call_id == call_id)
    return found


# --- delegating ------------------------------------------------------------------------------------------------------


def test_a_child_that_fails_is_a_failed_call_and_not_the_end_of_its_parent():
    history = working()
    decided(history, "a", Delegate(worker="looker"), tool="research")
    while "a/t1/c0" in history.state.live:
        history.fails(current(history, "a/t1/c0"), FailureClass.UNAVAILABLE)
        history.decide_all()

    returned = call_of(history, "a/t1/c0")
    assert returned.failure is not None
    assert (returned.failure.message, returned.failure.type) == ("it did not work", "child_failed")
    assert history.state.steps["a"].status == "running"
    history.works(current(history, "a"), "done without it")
    history.decide_all()
    finished = history.state.finished
    assert finished is not None
    assert not [gap for gap in finished.gaps if gap.step == "a/t1/c0"], "it is its parent's affair"


def test_a_call_may_have_several_others_do_something_and_is_answered_with_all_they_found():
    history = working()
    issued = decided(history, "a", Delegate(worker="looker", title="one"), Delegate(worker="looker", title="two"))
    assert [event.subject for event in issued] == ["a/t1/c0", "a/t1/c0.1"]

    comes_back(history, "a/t1/c0.1", ResultData(summary="two was found", raw={"n": 2}, sources=(page("two"),)))
    assert due(history.state) == [], "it was answered before all of them were there"
    assert not history.command(do.Answer("a/t1/c0"))
    comes_back(
        history, "a/t1/c0", ResultData(summary="one was found", raw={"n": 1}, sources=(page("one"),), sample=True)
    )
    history.decide_all()

    returned = call_of(history, "a/t1/c0")
    assert returned.summary == "one was found\n\ntwo was found"
    assert set(returned.sources) == {page("one"), page("two")}
    assert returned.sample
    assert returned.raw is not None
    assert "'n': 1" in str(returned.raw)
    assert "'n': 2" in str(returned.raw)


THERE = Delegate(worker="looker", title="Look there", key="there")


def test_a_task_under_the_same_key_is_carried_out_once_for_the_same_parent():
    history = working()
    decided(history, "a", THERE)
    comes_back(history, "a/t1/c0", ResultData(summary="a hill"))
    history.decide_all()
    (answer,) = decided(history, "a", THERE.evolve(title="Look again"), turn=2)

    assert isinstance(answer, ev.CallAnswered)
    assert (answer.call_id, answer.ok) == ("a/t2/c0", False)
    assert "Look there" in answer.content
    history.decide_all()
    (issued,) = decided(history, "a", THERE.evolve(key="elsewhere"), turn=3)
    assert isinstance(issued, ev.StepIssued)


def test_a_task_that_is_under_way_is_not_started_again():
    history = working()
    attempt = current(history, "a")
    for position in (0, 1):
        made = {"attempt": attempt.attempt, "call_id": f"a/t1/c{position}", "tool": "look"}
        history.write(ev.ToolCallBegan(**made, args={"n": 1}), ev.ToolCallReturned(**made, ok=True, asks=(THERE,)))
    history.write(
        ev.AttemptParked(
            attempt=attempt.attempt,
            open_calls=tuple(OpenCall(call_id=f"a/t1/c{n}", kind="asks", tool="look") for n in (0, 1)),
        )
    )
    assert due(history.state) == [do.Answer("a/t1/c0")]
    history.decide_all()

    assert [key for key in history.state.steps if key != "a"] == ["a/t1/c0"]
    refused = call_of(history, "a/t1/c1").failure
    assert refused is not None
    assert "Look there" in refused.message


def test_a_task_that_failed_may_be_started_again():
    history = working()
    decided(history, "a", THERE)
    while "a/t1/c0" in history.state.live:
        history.fails(current(history, "a/t1/c0"), FailureClass.UNAVAILABLE)
        history.decide_all()
    (issued,) = decided(history, "a", THERE, turn=2)

    assert isinstance(issued, ev.StepIssued)


def test_a_task_of_a_conversation_that_was_begun_anew_may_be_started_again():
    history = working()
    decided(history, "a", THERE, turn=2)
    comes_back(history, "a/t2/c0", ResultData(summary="a hill"))
    history.decide_all()
    history.fails(current(history, "a"), FailureClass.UNAVAILABLE)
    assert history.command(do.Settle("a"))
    history.write(ev.StepRequested(what="retry", by="me", steps=("a",)))
    assert history.command(do.DecideRequest())
    assert history.command(do.Start("a"))
    (issued,) = decided(history, "a", THERE)

    assert isinstance(issued, ev.StepIssued)


def test_one_call_does_not_delegate_a_task_twice():
    (answer,) = decided(working(), "a", THERE, THERE)

    assert isinstance(answer, ev.CallAnswered)
    assert not answer.ok


def test_an_answer_that_does_not_count_is_written_again_without_delegating_again():
    history = working()
    decided(history, "a", THERE)
    comes_back(history, "a/t1/c0", ResultData(summary="a hill"))
    history.decide_all()
    history.fails(current(history, "a"), FailureClass.INVALID, "bad_thought")
    history.decide_all()

    again = history.state.steps["a"]
    assert again.attempt is not None
    assert again.attempt.continues == "a/a2", "what others did for it would be done again"
    assert [call.call_id for call in again.evidence] == ["a/t1/c0"]


# --- workers, artifacts, todos ---------------------------------------------------------------------------------------


def test_the_list_of_todos_is_replaced():
    history = working()
    decided(history, "a", TODOS)
    assert history.state.todos == TODOS.todos
    history.decide_all()
    decided(history, "a", SetTodos(todos=()), turn=2)

    assert history.state.todos == ()


def test_a_call_that_asks_for_several_things_gets_all_of_them_and_keeps_what_it_returned():
    history = working()
    events = decided(history, "a", TODOS, FILE, POET)

    assert [event.type for event in events] == ["todos_set", "artifact_written", "worker_defined", "call_answered"]
    returned = call_of(history, "a/t1/c0")
    assert (returned.ok, returned.summary, returned.raw) == (True, "seen", {"n": 1})
    assert due(history.state) == [do.Start(step="a")]


def test_a_long_list_of_todos_and_many_artifacts_are_kept():
    history = working()
    todos = SetTodos(todos=tuple(Todo(id=str(n), content=f"look at {n}") for n in range(2_000)))
    files = [FILE.evolve(path=f"notes/{n}/day.md") for n in range(200)]
    decided(history, "a", todos, *files)
    history.decide_all()
    (answer,) = decided(history, "a", todos.evolve(todos=(*todos.todos, todos.todos[7])), turn=2)

    assert len(history.state.todos) == 2_000
    assert len(history.state.artifacts) == 200
    assert isinstance(answer, ev.CallAnswered)
    assert (answer.ok, "'7'" in answer.content) == (False, True)


@pytest.mark.parametrize(("first", "second"), [("notes", "notes/a/b"), ("notes/a/b", "notes"), ("a/b/c", "a/b")])
@pytest.mark.parametrize("apart", [True, False], ids=["by two calls", "by one call"])
def test_a_path_names_a_file_or_a_folder_and_not_both(first: str, second: str, apart: bool):
    history = working()
    if apart:
        decided(history, "a", FILE.evolve(path=f"./{first}"))
        history.decide_all()
    asked = () if apart else (FILE.evolve(path=f"./{first}"),)
    (answer,) = decided(history, "a", *asked, FILE.evolve(path=second), turn=2)

    assert isinstance(answer, ev.CallAnswered)
    assert not answer.ok


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (Delegate(worker="nobody"), "'nobody'"),
        (Delegate(worker="looker", tools=("fly",)), "fly"),
        (POET.evolve(name="looker"), "'looker'"),
        (POET.evolve(tools=("fly", "look")), "fly"),
        (FILE.evolve(path="../notes.md"), "'../notes.md'"),
        (FILE.evolve(path="/etc/passwd"), "'/etc/passwd'"),
        (FILE.evolve(path="notes\\a.md"), "a.md"),
        (FILE.evolve(path=""), "''"),
        (FILE.evolve(digest=""), "notes/day-1.md"),
    ],
)
def test_what_cannot_be_granted_is_refused_with_the_reason_and_nothing_is_half_done(ask: Ask, named: str):
    history = working()
    (answer,) = decided(history, "a", TODOS, ask)

    assert isinstance(answer, ev.CallAnswered)
    assert not answer.ok
    assert named in answer.content
    assert history.state.todos == ()
    returned = call_of(history, "a/t1/c0")
    assert returned.failure is not None
    assert returned.failure.message == answer.content
    assert returned.failure.next_action
    assert due(history.state) == [do.Start(step="a")], "the worker goes on, and knows why"


def test_what_a_call_asks_for_is_decided_once():
    history = working()
    call_id = asks(history, "a", Delegate(worker="looker"))
    decide = do.Answer(call_id)
    assert due(history.state) == [decide]

    assert history.command(decide)
    assert not history.command(decide), "its child is at work"
    comes_back(history, call_id, ResultData(summary="seen"))
    assert history.command(decide), "it is answered with the result of its child"
    assert not history.command(decide)


@pytest.mark.parametrize("key", ["a", "b"])
def test_what_no_call_asks_for_is_not_decided(key: str):
    history = working()

    assert not history.command(do.Answer(f"{key}/t1/c0"))
    assert not history.command(do.Answer(f"{key}/t1/c0"))


def test_a_cancelled_run_ends_what_others_were_asked_to_do():
    history = working()
    decided(history, "a", Delegate(worker="looker"), tool="research")
    history.write(ev.RunRequested(what="cancel", by="me"))
    history.decide_all()

    assert history.state.status is RunStatus.CANCELLED
    assert not history.attempts(*AttemptStatus)


def test_a_call_whose_tasks_fail_is_answered_with_the_cause_of_each():
    history = working()
    decided(history, "a", Delegate(worker="looker", title="north"), Delegate(worker="looker", title="south"))
    for key in ("a/t1/c0", "a/t1/c0.1"):
        while key in history.state.live:
            history.fails(current(history, key), FailureClass.UNAVAILABLE)
            history.decide_all()

    failure = call_of(history, "a/t1/c0").failure
    assert failure is not None
    assert failure.message == "north: it did not work; south: it did not work"


def test_the_structured_answer_of_a_child_is_the_data_of_the_call():
    judge = Worker(name="judge", output={"type": "object"}, loop="reply")
    history = working(LEAD, judge)
    decided(history, "a", Delegate(worker="judge"), tool="research")
    comes_back(history, "a/t1/c0", ResultData(summary='{"good": true}'), value={"good": True})
    history.decide_all()

    assert call_of(history, "a/t1/c0").raw == {"good": True}

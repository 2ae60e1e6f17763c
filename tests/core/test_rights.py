"""A step may use what its worker, its flow and every step above it allow; never more, however deep."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.histories import History
from core.own import DELEGATES, assigned, decided, history_of
from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.limits import Ceiling, nanousd
from leadhand.core.relations import MAX_DEPTH, ancestors, tools_of, tools_of_worker
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.core.tool import ApprovalPolicy, DefineWorker, Delegate, Effect, ToolSpec
from leadhand.core.work_order import Step, Subtask
from leadhand.core.worker import ALL_TOOLS, OWN_TOOLS, Worker
from leadhand.flows.seam.pending import PLAIN
from leadhand.ports import Work

ANY = Worker(name="any", tools=(ALL_TOOLS,))
LOOKER = Worker(name="looker", tools=("look",))
WRITER = Worker(name="writer", tools=("write", "look"))
THINKER = Worker(name="thinker", tools=(ALL_TOOLS,), loop="reply")
EVERY_TOOL = {"look", "write", "send", *(tool.name for tool in DELEGATES)}


def scopes_of(history: History, key: str) -> tuple[Ceiling, ...]:
    return Work(state=history.state, key=key, details=PLAIN, brief={}, needs={}).scopes


def may_use(state: RunState, key: str) -> frozenset[str]:
    return tools_of(state, state.steps[key].step)


# --- of a flow's steps -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("worker", "tools", "expected"),
    [
        (ANY, None, EVERY_TOOL),
        (ANY, ("send",), {"send"}),
        (ANY, (), set[str]()),
        (WRITER, None, {"write", "look"}),
        (WRITER, ("look",), {"look"}),
        (THINKER, None, set[str]()),
    ],
)
def test_a_step_may_use_what_its_worker_allows_narrowed_by_its_flow(
    worker: Worker, tools: tuple[str, ...] | None, expected: set[str]
):
    history = history_of(worker)
    assigned(history, "a", worker.name, tools=tools)

    assert may_use(history.state, "a") == expected


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (do.IssueStep(Step(step_id="b", worker="looker", tools=("send",))), ("b", "send", "looker")),
        (do.IssueStep(Step(step_id="b", worker="looker", tools=("look", "fly"))), ("b", "fly")),
        (do.IssueStep(Step(step_id="b", worker="thinker", tools=("look",))), ("b", "look")),
        (do.IssueStep(Step(step_id="b", worker="nobody")), ("b", "'nobody'")),
        (do.IssueStep(Step(step_id="b", worker="looker", needs=("c",))), ("b", "'c'")),
        (do.IssueStep(Step(step_id="b", worker="looker", needs=("b",))), ("b", "'b'")),
        (do.IssueStep(Step(step_id="a", worker="looker")), (" a ",)),
        (do.IssueStep(Step(step_id="", worker="looker")), ("''",)),
        (do.IssueStep(Step(step_id="a/a1", worker="looker")), ("'a/a1'",)),
        (do.IssueStep(Step(step_id="wo-001.0", worker="looker")), ("'wo-001.0'",)),
        (do.IssueStep(Step(step_id="b", worker="flyer")), ("flyer", "fly")),
    ],
)
def test_a_flow_cannot_hand_out_what_its_workers_do_not_allow(command: do.IssueStep, named: tuple[str, ...]):
    history = history_of(ANY, LOOKER, THINKER, Worker(name="flyer", tools=("fly",)))
    assigned(history, "a", "looker")
    before = len(history.log)

    assert not history.command(command)
    assert all(each in history.refusal for each in named)
    assert len(history.log) == before


def test_nothing_is_handed_out_while_a_run_is_paused():
    history = history_of(ANY)
    assert history.command(do.SetStatus(RunStatus.PAUSED))

    assert not history.command(do.IssueStep(Step(step_id="a", worker="any")))
    assert "paused" in history.refusal


# --- of child steps --------------------------------------------------------------------------------------------


def child_of(history: Any, key: str, ask: Delegate, tool: str = "look") -> str:
    """The child that a call of ``tool`` asked for."""
    (issued,) = decided(history, key, ask, tool=tool)
    assert isinstance(issued, ev.StepIssued), issued
    return issued.step.step_id


def test_a_child_may_use_no_more_than_its_parent():
    history = history_of(ANY, WRITER)
    assigned(history, "a", "writer")
    child = child_of(history, "a", Delegate(worker="any"), tool="research")

    assert may_use(history.state, child) == {"write", "look"}


def test_a_child_may_use_no_more_than_its_worker():
    history = history_of(ANY, WRITER)
    assigned(history, "a", "any")
    child = child_of(history, "a", Delegate(worker="writer"), tool="research")

    assert may_use(history.state, child) == {"write", "look"}


def test_a_child_may_use_no_more_than_the_call_that_asked_for_it_allows():
    history = history_of(ANY)
    assigned(history, "a", "any")
    child = child_of(history, "a", Delegate(tools=("write",)), tool="research")

    assert may_use(history.state, child) == {"write"}


def test_a_child_without_a_worker_of_its_own_has_that_of_its_parent():
    history = history_of(ANY, WRITER)
    assigned(history, "a", "writer")
    child = child_of(history, "a", Delegate(), tool="research")

    assert history.state.steps[child].step.worker == "writer"
    assert may_use(history.state, child) == {"write", "look"}


def test_the_tool_that_asked_for_a_child_is_not_handed_on_however_deep():
    history = history_of(ANY)
    assigned(history, "a", "any")
    child = child_of(history, "a", Delegate(worker="any"), tool="research")
    assert may_use(history.state, child) == EVERY_TOOL - {"research"}
    grandchild = child_of(history, child, Delegate(worker="any"), tool="scout")
    assert may_use(history.state, grandchild) == EVERY_TOOL - {"research", "scout"}


def test_the_tool_that_asked_for_a_child_cannot_be_handed_on_by_naming_it():
    history = history_of(ANY)
    assigned(history, "a", "any")
    child = child_of(history, "a", Delegate(tools=("research", "look")), tool="research")
    assert may_use(history.state, child) == {"look"}

    (answer,) = decided(history, child, Delegate(tools=("research",)), tool="scout")
    assert isinstance(answer, ev.CallAnswered)
    assert (answer.call_id, answer.ok) == (f"{child}/t1/c0", False)
    assert "research" in answer.content


TOOL_SETS = st.sets(st.sampled_from(sorted(EVERY_TOOL)), max_size=8).map(lambda names: tuple(sorted(names)))


@given(
    st.lists(TOOL_SETS, min_size=3, max_size=3),
    st.lists(st.none() | TOOL_SETS, min_size=3, max_size=3),
    st.lists(st.sampled_from(sorted(EVERY_TOOL)), min_size=3, max_size=3),
)
def test_rights_only_shrink_on_the_way_down(
    of_workers: list[tuple[str, ...]], narrowed: list[tuple[str, ...] | None], calls: list[str]
):
    workers = [ANY, *(Worker(name=f"worker-{number}", tools=tools) for number, tools in enumerate(of_workers))]
    history = history_of(*workers)
    assigned(history, "a", "any")
    parent = "a"
    for worker, tools, tool in zip(workers[1:], narrowed, calls, strict=True):
        asked = may_use(history.state, parent)
        (event,) = decided(history, parent, Delegate(worker=worker.name, tools=tools), tool=tool)
        if not isinstance(event, ev.StepIssued):
            assert tools is not None
            assert not set(tools) <= asked, "it was refused, and is within the caller's rights"
            return
        child = event.step.step_id
        assert may_use(history.state, child) <= asked - {tool}
        assert may_use(history.state, child) <= tools_of_worker(history.state, worker)
        assert tools is None or may_use(history.state, child) <= set(tools)
        parent = child


def test_a_worker_that_was_defined_has_no_more_rights_than_who_defined_it():
    history = history_of(ANY, WRITER)
    assigned(history, "a", "writer")
    worker = DefineWorker(name="poet", instructions="Write verse.", description="writes verse")
    decided(history, "a", worker)

    poet = history.state.worker("poet")
    assert poet is not None
    assert set(poet.tools) == {"write", "look"}


def test_steps_ask_for_others_only_so_deep():
    history = history_of(ANY)
    assigned(history, "a", "any")
    key = "a"
    for depth in range(MAX_DEPTH):
        assert len(ancestors(history.state, history.state.steps[key].step)) == depth
        key = child_of(history, key, Delegate(), tool=DELEGATES[depth].name)
    assert len(ancestors(history.state, history.state.steps[key].step)) == MAX_DEPTH

    (answer,) = decided(history, key, Delegate(), tool="look")
    assert isinstance(answer, ev.CallAnswered)
    assert (answer.call_id, answer.ok) == (f"{key}/t1/c0", False)
    assert str(MAX_DEPTH) in answer.content


@pytest.mark.parametrize("asked", [1, 2])
def test_a_worker_delegates_only_as_often_as_it_may(asked: int):
    history = history_of(Worker(name="lead", tools=(ALL_TOOLS,), max_children=1))
    assigned(history, "a", "lead")
    events = decided(history, "a", *[Delegate()] * asked)

    assert [isinstance(each, ev.StepIssued) for each in events] == [asked == 1]


def test_a_leader_delegates_to_its_own_workers_with_all_their_tools_and_to_those_that_were_made_with_its_own():
    history = history_of(Worker(name="lead", tools=("look", "research", "scout"), delegates=("writer",)), ANY, WRITER)
    assigned(history, "a", "any")
    decided(history, "a", DefineWorker(name="scout", instructions="Go.", description="goes", tools=("send", "look")))
    for key, worker, expected in (("b", "writer", {"write", "look"}), ("c", "scout", {"look"})):
        assigned(history, key, "lead")
        child = child_of(history, key, Delegate(worker=worker), tool="research")
        assert may_use(history.state, child) == expected


def test_a_worker_of_all_own_tools_has_those_that_only_read():
    history = history_of(Worker(name="reader", tools=(OWN_TOOLS, "write")))
    assigned(history, "a", "reader")

    assert may_use(history.state, "a") == {"look", "write"}


def test_all_tools_are_all_but_the_workers_that_are_not_named():
    scout = Worker(name="scout", tools=("look",), declared=True)
    history = history_of(ANY, Worker(name="boss", tools=(ALL_TOOLS, "scout")), scout)
    for key, worker, expected in (("a", "any", EVERY_TOOL - {"scout"}), ("b", "boss", EVERY_TOOL)):
        assigned(history, key, worker)
        assert may_use(history.state, key) == expected


@pytest.mark.parametrize("tool", ["look", "send", None])
@pytest.mark.parametrize("policy", [ApprovalPolicy.ASK, ApprovalPolicy.AUTO])
def test_a_subtask_acts_against_the_wish_of_a_tool_to_ask_only_if_it_is_what_was_ordered(
    tool: str | None, policy: ApprovalPolicy
):
    state = history_of(ANY).state
    post = ToolSpec(name="post", description="", parameters={}, effect=Effect.ONCE, approval=ApprovalPolicy.AUTO)
    run = state.definition.evolve(approve=policy, tools=(*state.definition.tools, post))
    step = Step(step_id="wo-001.0", worker="any", subtask=Subtask(name="a", tool=tool))

    hidden = {"send"} if policy is ApprovalPolicy.AUTO and tool != "send" else set[str]()
    assert tools_of(replace(state, definition=run), step) == {*EVERY_TOOL, "post"} - hidden


# --- what may be spent -----------------------------------------------------------------------------------------------


def test_a_child_spends_within_its_own_ceiling_and_those_of_everything_above_it():
    history = history_of(
        Worker(name="lead", tools=(ALL_TOOLS,), max_requests=9, budget=2.0),
        Worker(name="helper", tools=(ALL_TOOLS,), max_requests=5, max_tokens=1_000),
        Worker(name="free", tools=(ALL_TOOLS,)),
    )
    assigned(history, "a", "lead")
    child = child_of(history, "a", Delegate(worker="free"), tool="research")
    grandchild = child_of(history, child, Delegate(worker="helper"), tool="scout")

    above = Ceiling(scope="a", requests=9, nanousd=nanousd(2))
    assert scopes_of(history, "a") == (above,)
    assert scopes_of(history, child) == (above,)
    assert scopes_of(history, grandchild) == (
        Ceiling(scope=grandchild, requests=5, tokens=1_000),
        above,
    )


def test_a_step_of_a_worker_without_limits_has_only_those_of_its_run():
    history = history_of(ANY)
    assigned(history, "a", "any")

    assert scopes_of(history, "a") == ()

"""Any sequence of things that may happen keeps the promises: explored by Hypothesis, checked after every event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from core import moves
from core.histories import History, Pick, definition, failure
from core.moves import MOVES, walk
from leadhand.core import decide as do
from leadhand.core.approval import Question
from leadhand.core.outcome import FlowAnswer
from leadhand.core.run import RunStatus
from leadhand.core.words.failures import needs_failed
from leadhand.core.work_order import Step, Subtask
from leadhand.core.work_result import CHECKS, Review
from leadhand.flows.seam.orders import issue
from leadhand.flows.work_order.roles import RoleName


class Explored(RuleBasedStateMachine):
    """What both machines share: observations by hosts, and requests by people."""

    def __init__(self) -> None:
        super().__init__()
        self.history = History()

    @initialize(
        max_steps=st.integers(1, 3),
        batch_size=st.sampled_from([None, None, 1, 2]),
        budget=st.sampled_from([4e-6, 3e-7, None]),
        check=st.sampled_from(["judge", *CHECKS]),
        strict=st.booleans(),
    )
    def begin(self, **more: Any) -> None:
        self.history = History(definition(**more))

    def _happens(self, move: Callable[[History, Pick], None], data: st.DataObject) -> None:
        move(self.history, lambda options: data.draw(st.sampled_from(options)))

    @precondition(lambda self: self.history.live)
    @rule(data=st.data(), move=st.sampled_from([moves.start, moves.work, moves.fail, moves.claim, moves.lose]))
    def an_attempt_comes_to_something(self, data: st.DataObject, move: Any) -> None:
        self._happens(move, data)

    @precondition(lambda self: self.history.state.steps)
    @rule(data=st.data())
    def somebody_wants_something_of_a_subtask(self, data: st.DataObject) -> None:
        self._happens(moves.wish, data)

    @precondition(lambda self: self.history.live)
    @rule(data=st.data(), move=st.sampled_from([moves.ask_model, moves.call_tool, moves.park]))
    def an_attempt_goes_on(self, data: st.DataObject, move: Any) -> None:
        self._happens(move, data)

    @precondition(lambda self: self.history.state.reserved)
    @rule(data=st.data(), move=st.sampled_from([moves.model_answers, moves.model_answers, moves.model_overspends]))
    def a_model_answers(self, data: st.DataObject, move: Any) -> None:
        self._happens(move, data)

    @precondition(lambda self: self.history.state.parked)
    @rule(data=st.data())
    def somebody_answers(self, data: st.DataObject) -> None:
        self._happens(moves.answer, data)

    @precondition(lambda self: self.history.state.questions)
    @rule(data=st.data())
    def somebody_answers_a_question(self, data: st.DataObject) -> None:
        self._happens(moves.reply, data)

    @precondition(lambda self: self.history.late)
    @rule(data=st.data())
    def the_dead_speak(self, data: st.DataObject) -> None:
        self._happens(moves.late, data)

    @precondition(lambda self: len(self.history.log) > 5)
    @rule(data=st.data(), move=st.sampled_from([moves.person, moves.cancel, moves.take_over, moves.time_passes]))
    def something_happens_outside(self, data: st.DataObject, move: Any) -> None:
        self._happens(move, data)


class DrivenByItsFlow(Explored):
    """The controller decides by the real flow; a run that is not over is never stuck, and always can end."""

    @rule()
    def the_controller_decides(self) -> None:
        self.history.decide_all()

    @precondition(lambda self: self.history.live)
    @rule(data=st.data(), move=st.sampled_from([moves.think, moves.think_well]))
    def the_lead_thinks(self, data: st.DataObject, move: Any) -> None:
        self._happens(move, data)

    def teardown(self) -> None:
        self.history.finish()
        assert not self.history.stuck
        finished = self.history.state.finished
        assert finished is not None
        assert finished.failure is None or finished.failure.type != "no_progress", "the flow knew no way on"


class CommandedAtWill(Explored):
    """Any command at any time, sensible or not: it is refused, or it keeps the promises."""

    @rule(data=st.data())
    def an_order_is_issued(self, data: st.DataObject) -> None:
        state = self.history.state
        known = list(state.steps)
        proposals = [
            Subtask.model_validate(moves.proposal(lambda options: data.draw(st.sampled_from(options)), known))
            for _ in range(data.draw(st.integers(1, 4)))
        ]
        order = issue(proposals, f"wo-{len(state.orders) + data.draw(st.sampled_from([1, 1, 1, 0, 2])):03d}", "it")
        repaired = data.draw(st.sampled_from([None, None, *known]))
        first, *others = order.subtasks
        order = order.evolve(subtasks=(first.evolve(repairs_subtask=repaired), *others))
        self.history.command(do.IssueOrder(order=order))

    @precondition(lambda self: self.history.state.steps)
    @rule(data=st.data())
    def a_subtask_is_handed_out(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from([*self.history.state.ready, *self.history.state.steps]))
        self.history.command(do.Start(step=key))

    @rule(
        name=st.sampled_from(["plan", "compose", "think-1", "think-2"]),
        worker=st.sampled_from([RoleName.COMPOSE, RoleName.WORK, "think"]),
        data=st.data(),
    )
    def a_thought_is_handed_out(self, name: str, worker: str, data: st.DataObject) -> None:
        needs = data.draw(st.lists(st.sampled_from(["plan", "think-1", *self.history.state.steps]), max_size=2))
        self.history.command(do.IssueStep(Step(step_id=name, worker=worker, needs=tuple(needs))))

    @rule(data=st.data())
    def what_is_due_is_done(self, data: st.DataObject) -> None:
        from leadhand.core.decide import due

        wanted = due(self.history.state)
        if wanted:
            assert self.history.command(data.draw(st.sampled_from(wanted))), "what is due was refused"

    @precondition(lambda self: self.history.state.steps)
    @rule(data=st.data())
    def something_is_given_up_settled_or_continued(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from([*self.history.state.steps, *self.history.state.steps]))
        cause = data.draw(st.sampled_from(list(self.history.state.steps)))
        self.history.command(
            data.draw(
                st.sampled_from(
                    [do.Conclude(step=key, failure=needs_failed(cause)), do.Start(step=key)]
                    + ([do.Settle(step=key)] if key in self.history.state.steps else [])
                )
            )
        )

    @precondition(lambda self: self.history.state.orders)
    @rule(data=st.data())
    def an_order_is_judged(self, data: st.DataObject) -> None:
        order = data.draw(st.sampled_from(list(self.history.state.orders)))
        covers = tuple(self.history.state.orders[order].order.subtask_keys)
        review = moves.proposed_review(lambda options: data.draw(st.sampled_from(options)), self.history, covers)
        self.history.command(do.Judge(work_order_id=order, review=Review.model_validate(review)))

    @rule(name=st.sampled_from(["question-1", "question-2"]))
    def a_question_is_asked(self, name: str) -> None:
        asked = name in self.history.state.questions
        was_asked = self.history.command(do.Ask(asked=Question(id=name, text="where?")))
        assert was_asked == (not asked and self.history.state.finished is None)

    @rule(command=st.sampled_from([do.SetStatus(RunStatus.PAUSED), do.SetStatus(RunStatus.WAITING), do.SetStatus()]))
    def it_is_paused_or_resumed(self, command: do.Command) -> None:
        self.history.command(command)

    @precondition(lambda self: len(self.history.log) > 25 and self.history.state.status is RunStatus.RUNNING)
    @rule(command=st.sampled_from([do.End(), do.End(FlowAnswer(failure=failure("exhausted", "time")))]))
    def it_is_ended(self, command: do.End) -> None:
        self.history.command(command)


_SETTINGS = settings(stateful_step_count=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
TestDrivenByItsFlow = DrivenByItsFlow.TestCase
TestDrivenByItsFlow.settings = _SETTINGS
TestCommandedAtWill = CommandedAtWill.TestCase
TestCommandedAtWill.settings = _SETTINGS


@pytest.mark.slow
@settings(max_examples=2 * settings().max_examples)
@example(245, 16, None)
@example(499, 20, None)
@given(st.integers(0, 10_000_000), st.integers(0, 80), st.sampled_from([None, 1, 2]))
def test_whatever_happened_a_run_comes_to_its_end_once_all_goes_well(seed: int, steps: int, batch_size: int | None):
    history = walk(seed, steps, to_the_end=True, batch_size=batch_size)

    assert not history.stuck
    finished = history.state.finished
    assert finished is not None
    assert finished.failure is None or finished.failure.type != "no_progress"


def test_every_move_is_made_in_some_history():
    missing = set(MOVES)
    for seed in range(2_000):
        missing -= walk(seed, 40).moves
        if not missing:
            break
    assert not missing

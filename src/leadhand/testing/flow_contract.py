"""The contract of a flow, as tests to inherit: a flow of your own passes it, or cannot be resumed or trusted.

    class TestTranslate(FlowContract):
        flow = translate
        options = {"languages": ["French"]}

The suite plays runs without models, tools or a clock: every worker answers as :meth:`FlowContract.reply` says, people
as :meth:`FlowContract.replied` says, and a judge confirms every claim.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest

from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.approval import Question
from leadhand.core.conversation import AssistantMessage
from leadhand.core.decide import due, when_idle
from leadhand.core.errors import Failure, FailureClass, Refused, UsageError
from leadhand.core.evolve import evolve, replay
from leadhand.core.ids import model_call_id, tool_call_id
from leadhand.core.relations import tools_of_worker
from leadhand.core.run import ModelChoice, RunDefinition, RunStatus
from leadhand.core.state import RunState
from leadhand.core.tool import ToolReturn, ToolSpec
from leadhand.core.value import Json, object_of, objects_of, plain_json
from leadhand.core.work_order import OpenCall, Step
from leadhand.core.work_result import ResultData
from leadhand.core.worker import Worker
from leadhand.flows.closing import policy_of
from leadhand.flows.flow import Given
from leadhand.flows.seam.function import FunctionFlow, as_tool
from leadhand.flows.seam.outcomes import steps_asked
from leadhand.flows.seam.run import FunctionRun
from leadhand.tools.decorator import tool
from leadhand.tools.tool import Tool
from leadhand.verify.judge import judging_workers

_NOW = datetime(2025, 12, 16, 10, tzinfo=UTC)
_ROUNDS = 1_000
_BROKEN = Failure.of("it broke", "broken", FailureClass.UNAVAILABLE)


class FlowContract:
    """Inherit, and set ``flow``; ``request`` and ``options`` where the flow needs them, and in ``tools`` what it calls
    itself: those of its workers are there."""

    flow: ClassVar[FunctionFlow]
    request: ClassVar[str] = "do it"
    options: ClassVar[Mapping[str, Any]] = {}
    tools: ClassVar[Sequence[Tool[..., Any] | ToolSpec]] = ()

    def reply(self, step: Step, worker: Worker) -> str | dict[str, Any]:
        """Return what the worker of a step answers: text, or a value if it has an ``output``.

        By default, the value has what the schema requires: the first choice, a true boolean, the smallest number, an
        empty list.
        """
        if worker.output is None:
            return f"{step.step_id} is done"
        return object_of(_smallest(worker.output, worker.output))

    def returned(self, step: Step, worker: Worker) -> ToolReturn | None:
        """Return what the last tool call of a worker returned; None for a worker that calls no tool. The worker
        ``call.NAME`` is a call of the flow itself.

        If it asks for something, such as another worker, the worker replies once that is decided and carried out.
        """
        return None

    def replied(self, question: Question) -> str:
        """Return what a person answers to a question."""
        return next(iter(question.choices), "yes")

    def sent(self, signal: str) -> Json:
        """Return the value of a signal that the flow waits for."""
        return None

    # --- playing -----------------------------------------------------------------------------------------------------

    def play(self, entries: Sequence[ev.Entry] = (), failing: str = "") -> list[ev.Entry]:
        """Return the log of a whole run; of one that continues after ``entries``. ``failing`` names what breaks."""
        log = list(entries) or [_entry(1, ev.RunStarted(definition=self.definition()))]
        state = replay("run_1", log)
        with self._policy(state.definition) as policy:
            for _ in range(_ROUNDS):
                events = self._decided(state, policy) or self._worked(state, policy, failing) or self._answered(state)
                if not events:
                    break
                for event in events:
                    log.append(_entry(state.seq + 1, event))
                    state = evolve(state, log[-1])
        asked = [f"{key} ({each.step.worker})" for key, each in [*state.steps.items()][-3:]]
        assert state.finished is not None, (
            f"the run did not end; its last steps are {', '.join(asked)}: check what `reply` returns for their workers"
        )
        return log

    def definition(self) -> RunDefinition:
        """Return what a run of the flow is pinned to."""
        checked = self.flow.checked_options(self.options)
        own = tuple(self.flow.workers(checked))
        judging = judging_workers("judge", own, verifier=False)
        return RunDefinition(
            request=self.request,
            flow=self.flow.name,
            workers=(*own, *judging),
            models=ModelChoice(default="scripted"),
            tools=tuple({each.name: each for each in self._specs()}.values()),
            options=checked.model_dump(mode="json"),
            check="judge",
            judging=tuple(each.name for each in judging),
        )

    def _specs(self) -> Iterator[ToolSpec]:
        yield from (each if isinstance(each, ToolSpec) else each.spec for each in self.tools)
        of_workers = (each for one in self.flow.named for each in one.own_tools)
        yield from ((each if hasattr(each, "spec") else tool(each)).spec for each in of_workers)
        yield from (as_tool(inner.recorded()) for one in self.flow.named for inner in one.workers)

    @contextmanager
    def _policy(self, definition: RunDefinition) -> Generator[FunctionRun]:
        """Yield the flow of a run; the coroutines of a function are closed after it."""
        policy = policy_of(self.flow, definition)
        try:
            yield policy
        finally:
            policy.close()

    def _answered(self, state: RunState) -> list[ev.AnyEvent]:
        """What the oldest open question waits for: a person, a signal, or the end of a time."""
        if state.finished is not None or not state.unanswered:
            return []
        asked = state.questions[next(iter(state.unanswered))]
        if asked.kind == "signal":
            return [ev.SignalSent(name=asked.text, value=self.sent(asked.text))]
        expired, text = (True, asked.default) if asked.kind == "timer" else (False, self.replied(asked))
        return [ev.QuestionAnswered(question_id=asked.id, text=text, expired=expired)]

    def _decided(self, state: RunState, policy: FunctionRun) -> list[ev.AnyEvent]:
        commands = due(state) or ([] if state.finished is not None else policy.next(state) or when_idle(state))
        for command in commands:
            try:
                events = policy.decide(state, command, _NOW)
            except Refused as refused:
                how = "set `tools` to what the flow calls, or correct the flow"
                raise AssertionError(f"the flow asks for what is refused: {refused}; {how}") from refused
            if events:
                return events
        return []

    def _worked(self, state: RunState, policy: FunctionRun, failing: str) -> list[ev.AnyEvent]:
        if not state.live:
            return []
        key = next(iter(state.live))
        step = state.steps[key]
        worker = state.worker(step.step.worker)
        assert worker is not None
        assert step.attempt is not None
        attempt, conversation = step.attempt.attempt, step.attempt.conversation
        if failing in (key, "everything"):
            return [ev.AttemptReturned(attempt=attempt, failure=_BROKEN)]
        view, brief = step.step, policy.brief(state, step)
        if worker.name in state.definition.judging:
            reply, found = _judged(brief), None
        else:
            reply, found = self.reply(view, worker), self.returned(view, worker)
        text, value = (reply, None) if isinstance(reply, str) else (worker.name, reply)
        subtask = step.step.subtask
        ordered = subtask if subtask is not None and subtask.tool is not None else None
        if ordered is not None:
            found = found or ToolReturn(summary=f"{key} is done")
        used = list(step.evidence)
        if found is not None and not used:
            call_id, tool = tool_call_id(key, conversation, 1, 0), next(iter(tools_of_worker(state, worker)))
            args: dict[str, Any] = {}
            if ordered is not None:
                tool, args = ordered.tool or "", dict(ordered.args)
            made: dict[str, Any] = {"attempt": attempt, "call_id": call_id, "tool": tool}
            return [
                ev.ToolCallBegan(**made, args=args),
                ev.ToolCallReturned(**made, ok=True, **dict(found)),
            ]
        if found is not None and found.asks and used[-1].call_id not in step.attempt.answers:
            waits = OpenCall(call_id=used[-1].call_id, kind="asks", tool=used[-1].tool)
            return [ev.AttemptParked(attempt=attempt, open_calls=(waits,))]
        called = ev.ModelCallReturned(
            attempt=attempt,
            call_id=model_call_id(key, conversation, 1 + len(step.calls)),
            model="scripted",
            message=AssistantMessage(text=text),
            value=value,
        )
        returned = Given(text, value, used, brief)
        recorded = plain_json(policy.details(state, key).keeps(state, step, returned))
        ended = ev.AttemptReturned(
            attempt=attempt,
            data=ResultData(summary=text),
            used=tuple(each.call_id for each in used),
            value=None if recorded == value else recorded,
        )
        return [called, ended]

    # --- the contract ------------------------------------------------------------------------------------------------

    def test_it_has_a_name_a_version_and_workers_that_can_be_recorded(self) -> None:
        assert self.flow.name
        workers = self.definition().workers
        assert len({worker.name for worker in workers}) == len(workers), "two workers have one name"
        assert tuple(Worker.model_validate_json(worker.model_dump_json()) for worker in workers) == workers

    def test_it_refuses_options_that_it_does_not_have(self) -> None:
        with pytest.raises(UsageError):
            self.flow.checked_options({**self.options, "no_such_option": 1})

    def test_a_run_in_which_everything_works_succeeds(self) -> None:
        finished = replay("run_1", self.play()).finished
        assert finished is not None
        assert finished.status is RunStatus.SUCCEEDED, f"{finished.failure}; gaps: {finished.gaps}"
        assert finished.answer.strip()

    def test_a_run_in_which_everything_fails_ends_as_failed_and_says_why(self) -> None:
        finished = replay("run_1", self.play(failing="everything")).finished
        assert finished is not None
        if finished.answer:
            return  # it answers without what failed: the next test shows what each failure is
        assert finished.status is RunStatus.FAILED
        assert finished.gaps or finished.failure is not None

    def test_a_failure_of_one_step_that_counts_is_a_gap_or_waived_and_never_hidden(self) -> None:
        whole = replay("run_1", self.play())
        for key, step in whole.steps.items():
            if not step.counts:
                continue
            state = replay("run_1", self.play(failing=key))
            assert state.finished is not None
            with self._policy(state.definition) as policy:
                waived = key in policy.answer(state).waived
            assert waived or any(gap.step == key for gap in state.finished.gaps), f"{key} failed, and no gap says so"

    def test_it_is_pure(self) -> None:
        log = self.play()
        with self._policy(self.definition()) as policy:
            for length in range(1, len(log) + 1):
                state, same = replay("run_1", log[:length]), replay("run_1", log[:length])
                with self._policy(self.definition()) as other:  # a function runs again from its top
                    if state.finished is None:
                        mine, theirs = _issued(policy.next(state)), _issued(other.next(same))
                        assert mine == theirs, f"at event {length}"
                    answers = [each.answer(state) for each in (policy, other)]
                    assert answers[0] == answers[1], f"at event {length}"

    def test_a_pass_over_any_part_of_a_log_asks_for_what_the_log_has(self) -> None:
        """A function that decides by a clock, by chance or by what it kept from before is found out here."""
        log = self.play()
        whole = replay("run_1", log)
        for length in range(1, len(log) + 1):
            state = replay("run_1", log[:length])
            run = policy_of(self.flow, state.definition)
            now = run.advanced(state)
            run.close()
            if unknown := [key for key in now.steps if key[0] not in "?!" and key not in {*whole.steps, *whole.orders}]:
                pytest.fail(f"after event {length}, it asks for {unknown[0]}, which it did not ask for before")
            forgotten = [
                key for key in now.unclaimed if all(state.steps[each].closed for each in steps_asked(state, key))
            ]
            assert not forgotten, f"after event {length}, it does not ask for {forgotten[0]}, which is finished"

    def test_a_log_cut_anywhere_is_resumed_to_the_same_answer(self) -> None:
        log = self.play()
        whole = replay("run_1", log).finished
        assert whole is not None
        for length in range(1, len(log)):
            again = replay("run_1", self.play(log[:length])).finished
            assert again is not None
            for name in ("status", "answer", "judgement"):
                assert getattr(again, name) == getattr(whole, name), f"{name}, cut after event {length}"


def _issued(commands: Sequence[do.Command]) -> list[do.Command]:
    """Return commands as they are whatever the run knows of the workers by now: the first step of one defines it."""
    return [each._replace(definition=None) if isinstance(each, do.IssueStep) else each for each in commands]


def _smallest(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Json:
    """Return a value with what a part of a JSON schema requires, and nothing else."""
    if ref := schema.get("$ref"):
        return _smallest(whole["$defs"][ref.rpartition("/")[2]], whole)
    if choice := [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]:
        return _smallest(choice[0], whole)
    if "const" in schema or schema.get("enum"):
        return schema["const"] if "const" in schema else schema["enum"][0]
    least = max(1, schema.get("minLength", 1))
    match schema.get("type", "object"):
        case "object":
            return {name: _smallest(schema["properties"][name], whole) for name in schema.get("required", ())}
        case "array":
            return [_smallest(schema.get("items", {}), whole)] * schema.get("minItems", 0)
        case "boolean" | "null" as kind:
            return True if kind == "boolean" else None
        case "string":
            return ("text " * least)[: max(4, least)]
        case _:
            return schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)


def _judged(brief: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reply of a judge that confirms every claim, and misses nothing."""
    claims = objects_of(brief.get("claims"))
    return {"verdicts": {str(claim["n"]): "confirmed" for claim in claims}, "doubts": [], "missing": []}


def _entry(seq: int, event: ev.AnyEvent) -> ev.Entry:
    return ev.Entry(seq=seq, at=_NOW, epoch=1, event=event)

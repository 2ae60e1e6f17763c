"""Histories of runs, made up step by step: what a controller, hosts, models, tools and people may do, in any order.

Every choice is made by ``pick``, which takes one of a sequence: Hypothesis when it explores, a seeded random source
when a whole history is wanted at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from datetime import UTC, datetime
from typing import Any, TypeVar

from core.invariants import check_budget, check_state, check_step, reserved_total, total
from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.approval import EFFECT, Approval, args_hash
from leadhand.core.conversation import AssistantMessage
from leadhand.core.decide import decide, due, when_idle
from leadhand.core.errors import Failure, FailureClass, Refused
from leadhand.core.evolve import evolve, start
from leadhand.core.ids import model_call_id, tool_call_id
from leadhand.core.limits import NOTHING, Limits, Money, Usage
from leadhand.core.outcome import unproven_call
from leadhand.core.relations import open_plan, open_question
from leadhand.core.run import AttemptStatus, ModelChoice, RunDefinition, RunStatus
from leadhand.core.state import AttemptState, ModelTurn, RunState
from leadhand.core.tool import Effect, Source, ToolSpec
from leadhand.core.work_order import OpenCall, references
from leadhand.core.work_result import Check, ResultData
from leadhand.engine.work import kept_after
from leadhand.flows.closing import policy_of
from leadhand.flows.flow import Given
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.work_order.flow import WORK_ORDER
from leadhand.flows.work_order.roles import ROLES, RoleName
from leadhand.verify.judge import CONFIRM, JUDGE, judging_workers

NOON = datetime(2025, 12, 16, 10, tzinfo=UTC)
ROUNDS = 300
"""Rounds of decisions after which a controller is going in circles."""

_T = TypeVar("_T")
Pick = Callable[[Sequence[Any]], Any]

_NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
TOOLS = (
    ToolSpec(name="look", description="Look.", parameters=_NUMBER, retries=1),
    ToolSpec(name="write", description="Write.", parameters={"type": "object"}, effect=Effect.IDEMPOTENT),
    ToolSpec(name="send", description="Send.", parameters={"type": "object"}, effect=Effect.ONCE),
)


def failure(class_: FailureClass | str, type_: str = "made_up", message: str = "it did not work") -> Failure:
    return Failure.model_validate({"message": message, "type": type_, "class": class_})


def definition(check: Check = "off", *, strict: bool = False, **limits: Any) -> RunDefinition:
    """A run of the work-order flow with three tools, and limits that a few calls can reach."""
    judging = judging_workers(check, (), verifier=False)
    return RunDefinition(
        request="look, write and send",
        flow="work-order",
        workers=(*ROLES, *judging),
        models=ModelChoice(default="fake"),
        tools=TOOLS,
        limits=Limits.model_validate({"max_requests": 40, "max_tokens": 40_000, "budget": 4e-6, **limits}),
        held_back=Money(requests=1 + bool(judging), tokens=1_000, nanousd=100),
        check=check,
        strict=strict,
        judging=tuple(each.name for each in judging),
    )


def decided(state: RunState, command: do.Command, now: datetime, policy: Any) -> list[ev.AnyEvent]:
    """Have a command decided; the policy of the run answers if it is its end."""
    if isinstance(command, do.End):
        stated = policy.answer(state)
        command = do.End(stated._replace(failure=command.answer.failure or stated.failure))
    return decide(state, command, now)


class History:
    """A log as it comes into being, its state, and everything that may happen next. Every step is checked."""

    def __init__(
        self, what: RunDefinition | None = None, flow: FunctionFlow | None = None, *, policy: Any = None
    ) -> None:
        """``policy`` stands in for a flow."""
        what = what or definition()
        self.flow = flow or WORK_ORDER
        self.is_commanded = policy is not None
        self.policy = policy or policy_of(self.flow, what)
        self.now = NOON
        self.honest = True
        self.stuck = ""
        self.refusal = ""
        self.late: list[str] = []
        self.moves: set[Callable[..., None]] = set()
        """The moves that changed something."""
        first = ev.Entry(seq=1, at=NOON, epoch=1, event=ev.RunStarted(definition=what))
        self.log: list[ev.Entry] = [first]
        self.state: RunState = start("run_1", first)

    def copy(self) -> History:
        """A history of its own with the same past."""
        other = copy(self)
        other.log, other.late, other.moves = [*self.log], [*self.late], {*self.moves}
        if not self.is_commanded:
            other.policy = policy_of(self.flow, self.state.definition)
        return other

    # --- writing -----------------------------------------------------------------------------------------------------

    def write(self, *events: ev.AnyEvent, epoch: int | None = None) -> None:
        """Commit events, one after another; whatever may not be, fails here."""
        for event in events:
            if epoch is None:
                epoch = self.state.epoch
            entry = ev.Entry(seq=self.state.seq + 1, at=self.now, epoch=epoch, event=event)
            self.log.append(entry)
            after = evolve(self.state, entry)
            check_step(self.state, after)
            check_state(after, self.log)
            check_budget(after, honest=self.honest)
            self._remember(self.state, after)
            self.state = after

    def _remember(self, before: RunState, after: RunState) -> None:
        for key, step in before.steps.items():
            was, now = step.attempt, after.steps[key].attempt
            if was is not None and (now is None or now.attempt != was.attempt):
                self.late.append(was.attempt)

    def command(self, command: do.Command) -> bool:
        """Have a command decided and what follows committed; False when it was refused."""
        try:
            events = decided(self.state, command, self.now, self.policy)
        except Refused as refusal:
            self.refusal = str(refusal)
            return False
        self.write(*events)
        return bool(events)

    def commands(self, wanted: Sequence[do.Command]) -> bool:
        """Have every command decided; False when nothing came of any of them."""
        happened = [self.command(command) for command in wanted]
        return any(happened)

    def decide_all(self) -> None:
        """What a controller does after every batch: all that follows, until nothing is left to decide."""
        for _ in range(ROUNDS):
            wanted = [*due(self.state), *self._questions()]
            if not wanted and self.state.finished is None and self.state.status is RunStatus.RUNNING:
                wanted = [*self.policy.next(self.state)] or when_idle(self.state)
            if not self.commands(wanted):
                wanted = [command for command in when_idle(self.state, self.refusal) if command not in wanted]
                if not self.commands(wanted):
                    break
        else:
            raise AssertionError(f"nothing came to rest after {ROUNDS} rounds; the last commands were {wanted}")
        state = self.state
        if not (state.finished or state.live or state.status in (RunStatus.PAUSED, RunStatus.WAITING)):
            self.stuck = f"nothing is under way, and all that is wanted was refused: {wanted}"
        if state.status is RunStatus.WAITING and not (state.parked or open_plan(state) or open_question(state)):
            self.stuck = "the run waits, and for nobody"

    def _questions(self) -> list[do.Command]:
        return [
            do.Ask(
                asked=Approval(
                    approval_id=call.call_id,
                    attempt=attempt.attempt,
                    tool=call.tool,
                    args=call.args,
                    effect=Effect.ONCE,
                )
            )
            for attempt in self.attempts(AttemptStatus.PARKED)
            for call in attempt.open_calls
            if call.kind == "approval" and call.call_id not in self.state.approvals
        ]

    # --- looking -----------------------------------------------------------------------------------------------------

    def attempts(self, *statuses: AttemptStatus) -> list[AttemptState]:
        """Current attempts in one of the given statuses."""
        found = (step.attempt for step in self.state.steps.values())
        return [attempt for attempt in found if attempt is not None and attempt.status in statuses]

    @property
    def live(self) -> list[AttemptState]:
        return self.attempts(AttemptStatus.SCHEDULED, AttemptStatus.RUNNING)

    def worker(self, attempt: AttemptState) -> str:
        return self.state.steps[_step(attempt)].step.worker

    def brief(self, attempt: AttemptState) -> dict[str, Any]:
        """What the worker of an attempt is shown; nothing to a child, or if nobody asks for it any more."""
        given, wants = self.state.steps[_step(attempt)], getattr(self.policy, "wants", None)
        is_unwanted = wants is not None and not wants(self.state, given.key)
        return {} if is_unwanted or given.step.parent is not None else self.policy.brief(self.state, given)

    # --- what hosts see ----------------------------------------------------------------------------------------------

    def starts(self, attempt: AttemptState) -> None:
        self.write(ev.AttemptStarted(attempt=attempt.attempt, host="host-1"))

    def asks_model(self, attempt: AttemptState, reserved: Money) -> str | None:
        """Reserve and begin a model call, if the budget allows it; the call's id."""
        key = _step(attempt)
        turn = 1 + sum(isinstance(call, ModelTurn) for call in self.state.steps[key].calls)
        what, worker = self.state.definition, self.state.worker(self.worker(attempt))
        assert worker is not None
        kept = kept_after(what, self.state.steps[key].step, worker)
        if not total(self.state.spent, reserved_total(self.state), reserved, kept).fits(what.limits.ceiling):
            return None
        call_id = model_call_id(key, attempt.conversation, turn)
        self.write(
            ev.ModelCallBegan(attempt=attempt.attempt, call_id=call_id, model="fake", reserved=reserved, kept=kept)
        )
        return call_id

    def model_answers(
        self, attempt: str, call_id: str, usage: Usage | None, *, value: Any = None, text: str = "", fails: bool = False
    ) -> None:
        held = self.state.reserved.get((attempt, call_id))
        if usage is not None and held is not None and not _within(usage, held):
            self.honest = False
        self.write(
            ev.ModelCallReturned(
                attempt=attempt,
                call_id=call_id,
                model="fake",
                message=None if fails else AssistantMessage(text=text),
                value=None if fails else value,
                failure=failure("transient") if fails else None,
                usage=usage,
            )
        )

    def calls_tool(self, attempt: AttemptState, tool: ToolSpec, *, ok: bool | None, position: int = 0) -> str:
        """Begin a tool call, and end it too unless ``ok`` is None; the call's id."""
        call_id = tool_call_id(_step(attempt), attempt.conversation, 0, position)
        subtask = self.state.steps[_step(attempt)].step.subtask
        ordered = subtask.args if subtask is not None and subtask.tool == tool.name else {}
        args = {"n": 1, **{name: value for name, value in ordered.items() if not references(value)}}
        self.write(
            ev.ToolCallBegan(attempt=attempt.attempt, call_id=call_id, tool=tool.name, args=args, effect=tool.effect)
        )
        if ok is not None:
            self.write(
                ev.ToolCallReturned(
                    attempt=attempt.attempt,
                    call_id=call_id,
                    tool=tool.name,
                    ok=ok,
                    summary="seen" if ok else None,
                    raw={"n": 1} if ok else None,
                    sources=(Source(title="A page", url="https://example.org/a"),) if ok else (),
                    failure=None if ok else failure("transient"),
                )
            )
        return call_id

    def returns(self, attempt: AttemptState, **result: Any) -> None:
        """Return a result; a host has checked that the ordered call was made."""
        returned = ev.AttemptReturned(attempt=attempt.attempt, **result)
        step = self.state.steps[_step(attempt)]
        if returned.failure is None and (subtask := step.step.subtask) is not None:
            approvals = [self.state.approvals.get(call.call_id) for call in step.evidence]
            approved = [each.approval_id for each in approvals if each is not None and each.by]
            if (unproven := unproven_call(subtask, step.evidence, approved)) is not None:
                returned = ev.AttemptReturned(attempt=attempt.attempt, failure=unproven)
        self.write(returned)

    def fails(self, attempt: AttemptState, class_: FailureClass, type_: str = "made_up") -> None:
        self.returns(attempt, failure=failure(class_, type_))

    def parks(self, attempt: AttemptState, kinds: Sequence[str]) -> None:
        key = _step(attempt)
        self.write(
            ev.AttemptParked(
                attempt=attempt.attempt,
                open_calls=tuple(
                    OpenCall.model_validate(
                        {
                            "call_id": f"{key}/t{attempt.number}/c{n}{EFFECT if kind == 'effect' else ''}",
                            "kind": kind,
                            "tool": "send",
                            "args": {"n": n},
                        }
                    )
                    for n, kind in enumerate(kinds)
                ),
            )
        )

    def answers_all(self, attempt: AttemptState, *, ok: bool = True) -> None:
        """Answer what a parked attempt waits for, each call by whoever it concerns."""
        for call in attempt.open_calls:
            if call.call_id in attempt.answers:
                continue
            if call.kind == "approval":
                self.write(
                    ev.ApprovalAnswered(approval_id=call.call_id, approve=ok, args_hash=args_hash(call.args), by="me")
                )
            else:
                self.write(ev.CallAnswered(call_id=call.call_id, ok=ok, content="an answer"))

    # --- whole attempts ----------------------------------------------------------------------------------------------

    def works(self, attempt: AttemptState, said: str = "") -> None:
        """Carry a subtask out as it should be: start, call the tool it names, return what it ``said``."""
        key = _step(attempt)
        if attempt.status is AttemptStatus.SCHEDULED:
            self.starts(attempt)
        subtask = self.state.steps[key].step.subtask  # None: it is the child of another
        tool = self.state.tools.get(subtask.tool or "") if subtask is not None else None
        done = [call.call_id for call in self.state.steps[key].evidence if call.ok]
        sources: tuple[Source, ...] = ()
        if tool is not None and not done:
            done = [self.calls_tool(attempt, tool, ok=True)]
            sources = (Source(title="A page", url="https://example.org/a"),)
        data = ResultData(summary=said or f"{key} is done", sources=sources)
        self.returns(attempt, data=data, used=tuple(done))

    def thinks(self, attempt: AttemptState, value: Any = None, text: str | None = None) -> None:
        """Carry a thought out: ask the model (or fail for want of allowance), and return what it said."""
        text = "an answer" if text is None else text
        if attempt.status is AttemptStatus.SCHEDULED:
            self.starts(attempt)
        call_id = self.asks_model(attempt, Money(requests=1, tokens=100, nanousd=10))
        if call_id is None:
            self.fails(attempt, FailureClass.EXHAUSTED)
            return
        self.model_answers(attempt.attempt, call_id, Usage(input_tokens=50, output_tokens=50, nanousd=10), value=value)
        given = self.state.steps[_step(attempt)]
        returned = Given(text, value, (), self.brief(attempt))
        recorded = self.policy.details(self.state, given.key).keeps(self.state, given, returned)
        value = None if recorded == value else recorded
        self.returns(attempt, data=ResultData(summary=text), value=value)

    def taken_over(self) -> None:
        """The owner died; another process claims the run and gives up what was running."""
        running = self.attempts(AttemptStatus.RUNNING)
        self.write(ev.RunClaimed(owner="host-2"), epoch=self.state.epoch + 1)
        for attempt in running:
            self.command(do.Lose(attempt=attempt.attempt, failure=failure("lost", "process_died")))

    def finish(self) -> None:
        """From here on all goes well; and then every run comes to its end."""
        for _ in range(ROUNDS):
            self.decide_all()
            if self.state.finished is not None or self.stuck:
                return
            if self.state.status is RunStatus.PAUSED:
                self.write(ev.RunRequested(what="resume", by="me"))
            for attempt in self.attempts(AttemptStatus.PARKED):
                self.answers_all(attempt)
            if (asked := open_question(self.state)) is not None:
                self.write(ev.QuestionAnswered(by="me", question_id=asked.id, text="as you like"))
            for attempt in self.live:
                if self.state.steps[_step(attempt)].step.subtask is not None:
                    self.works(attempt)
                else:
                    self.thinks(attempt, self.thought(attempt))
        raise AssertionError("the run never ended")

    def thought(self, attempt: AttemptState) -> Any:
        """A sound thought of the worker: a plan of one subtask, a review that accepts what was completed, a judgement
        that confirms every claim."""
        step = self.state.steps[_step(attempt)].step
        if step.worker == RoleName.PLAN:
            return {"goal": "it", "subtasks": [{"name": "look", "tool": "look", "args": {"n": 1}}]}
        if step.worker == RoleName.REVIEW:
            verdicts = [
                {"subtask": key, "verdict": "accept" if self.state.steps[key].status == "completed" else "drop"}
                for key in step.input.get("covers", ())
            ]
            return {"verdicts": verdicts, "complete": all(verdict["verdict"] == "accept" for verdict in verdicts)}
        if step.worker == JUDGE:
            claims = self.brief(attempt).get("claims", ())
            return {"verdicts": {str(claim["n"]): "confirmed" for claim in claims}}
        return {"missing": []} if step.worker == CONFIRM else None


def _step(attempt: AttemptState) -> str:
    return attempt.attempt.rpartition("/a")[0]


def _within(usage: Usage, held: Money) -> bool:
    used = usage.used(NOTHING)
    return used.requests <= held.requests and used.tokens <= held.tokens and used.nanousd <= held.nanousd

"""Which calls of a reply are made, which are refused and why, and which have to wait.

A refused call has no entry in the log: after a resume, the same rules refuse it again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

from leadhand.core.approval import policy_of
from leadhand.core.conversation import ToolCall
from leadhand.core.errors import DENIED, EXPIRED, Failure, FailureClass
from leadhand.core.ids import tool_call_id
from leadhand.core.state import CallAnswer
from leadhand.core.tool import ApprovalPolicy, CallState, Effect, ToolSpec
from leadhand.core.value import Json
from leadhand.core.words.failures import written_call
from leadhand.engine.attempts.conversation import SAME_RESULTS, Conversation
from leadhand.engine.attempts.conversation_turn import BUDGET, REPEATED, Turn
from leadhand.engine.hooks import ToolDecision
from leadhand.ports import Work

_NO_OBJECT = "the arguments are not a JSON object"
_LISTED = '{"calls": [{"tool": "name", "args": {…}}]}'


class CallRules:
    """The rules for the calls of one attempt.

    ``unfit`` returns why a tool cannot be called with some arguments, None if it can.
    """

    def __init__(self, work: Work, unfit: Callable[[ToolSpec, dict[str, Json], Work], Failure | None]) -> None:
        self._work = work
        self._unfit = unfit
        self.hooked: dict[str, ToolDecision] = {}
        """What hooks decided on calls of this attempt, by the id of the call."""
        self.specs = {tool.name: tool for tool in work.definition.tools if tool.name in work.tools}
        once = (call for call in work.calls if isinstance(call, CallState) and call.effect is Effect.ONCE)
        self._acted = {call.call_id for call in once if call.acted}

    def note(self, result: CallState) -> None:
        """Take into account a call that was made."""
        if result.acted:
            self._acted.add(result.call_id)

    def call_id(self, turn: Turn, position: int) -> str:
        return tool_call_id(self._work.step.step_id, turn.number, turn.first + position)

    def tool_of(self, turn: Turn, position: int) -> ToolSpec | None:
        """Return the tool of a call that can be made; None if there is no such tool, or none that lists the call."""
        tool, outer = self.specs.get(turn.calls[position].name), turn.outer[position]
        return None if tool is None or tool.parallel or (outer and outer.name not in self.specs) else tool

    def args_of(self, turn: Turn, position: int) -> dict[str, Json]:
        """Return the arguments of a call, as a person changed them or as the model wrote them."""
        answer = self._work.attempt.answers.get(self.call_id(turn, position))
        args = turn.calls[position].arguments if answer is None or answer.args is None else answer.args
        hooked = self.hooked.get(self.call_id(turn, position))
        return (args if hooked is None or hooked.args is None else hooked.args) or {}

    def changed_by(self, call_id: str) -> str:
        """Return the hook that changed the arguments of a call, here or before a person approved it; "" for none."""
        hooked, answer = self.hooked.get(call_id), self._work.attempt.answers.get(call_id)
        return hooked.hook if hooked is not None and hooked.args is not None else answer.hook if answer else ""

    def asks(self, result: CallState) -> bool:
        """Whether a call asks for something that the controller has not decided yet."""
        answer = self._work.attempt.answers.get(result.call_id)
        return bool(result.asks) and result.ok and not (answer is not None and answer.decided)

    def rounds(self, turn: Turn) -> tuple[list[int], list[int]]:
        """Return the positions of the open calls of a turn in two rounds, each made in parallel: those that follow
        others come second, and of equal calls that only read, all but the first ones."""
        rounds: tuple[list[int], list[int]] = [], []
        equal, several = Counter[str](), len(turn.calls) > SAME_RESULTS
        for position, call in enumerate(turn.calls):
            tool, again = self.tool_of(turn, position), False
            if several and tool is not None and tool.effect is Effect.PURE and not tool.polling:
                equal[written := json.dumps([call.name, call.arguments], sort_keys=True)] += 1
                again = equal[written] > SAME_RESULTS
            if position not in turn.done:
                rounds[again or self.follows(turn, position)].append(position)
        return rounds

    def follows(self, turn: Turn, position: int) -> bool:
        """Whether a call only reads, and an earlier one of its reply may still change what it sees.

        That is a call of the same toolset with an effect, until it was made and what it asks for is decided.
        """
        tool = self.tool_of(turn, position)
        if tool is None or not tool.toolset or tool.effect is not Effect.PURE:
            return False
        unsettled = (each for each in range(position) if each not in turn.done or self.asks(turn.done[each]))
        before = filter(None, (self.tool_of(turn, each) for each in unsettled))
        return any(other.toolset == tool.toolset and other.effect is not Effect.PURE for other in before)

    # --- refusals ----------------------------------------------------------------------------------------------------

    def refusal(self, conversation: Conversation, turn: Turn, position: int) -> Failure | None:
        """Return why a call is not made; None if it is made, or waits."""
        call, tool = turn.calls[position], self.tool_of(turn, position)
        answer = self._work.attempt.answers.get(self.call_id(turn, position))
        if tool is None:
            return self._unusable(call, turn.outer[position])
        if answer is None and conversation.is_repeated(turn, position):
            message = f"{written_call(call.name, call.arguments or {})} was made and had the same result {SAME_RESULTS}"
            message += " times, so it was not made again: use the result, make another call, or call give_up"
            return Failure.of(message, REPEATED, FailureClass.INVALID)
        if call.arguments is None:
            return Failure.of(_NO_OBJECT, "bad_arguments", FailureClass.INVALID)
        if self._policy(tool, repeated=False) is ApprovalPolicy.NEVER if answer is None else not answer.ok:
            return _denial(answer, tool, self._work.definition.approve)
        twice = answer is None and self._is_repeated(turn, position, tool)
        if twice and self._policy(tool, repeated=True) is not ApprovalPolicy.ASK:
            message = f"this subtask calls {tool.name} once, and a call was made: another one needs its own subtask"
            return Failure.of(message, "called_twice", FailureClass.INVALID)
        return self._unfit(tool, self.args_of(turn, position), self._work)

    def calls_left(self, conversation: Conversation) -> int | None:
        """Return how many calls may be made in addition to those of the conversation; None if there is no limit."""
        most = self._work.step.max_calls
        return None if most is None else most - sum(len(turn.done) - len(turn.refused) for turn in conversation.turns)

    def used_up(self) -> Failure:
        """Return why a call is refused when none is left."""
        message = f"the tool budget of {self._work.step.max_calls} calls is used up: answer now"
        return Failure.of(message, BUDGET, FailureClass.INVALID)

    def refuse_again(self, conversation: Conversation) -> None:
        """Refuse the calls of earlier turns of a resumed conversation that the log does not have."""
        left = self.calls_left(conversation)
        for turn in conversation.turns[:-1]:
            for position in range(len(turn.calls)):
                if position not in turn.done:
                    failure = self.refusal(conversation, turn, position)
                    spent = self.used_up() if left is not None and left <= 0 else None
                    lost = Failure.of("this call was not made", "not_made", FailureClass.INVALID)
                    self.refuse(turn, position, failure or spent or lost)

    def refuse(self, turn: Turn, position: int, failure: Failure) -> None:
        """Answer a call of a turn with the reason why it is not made."""
        call, tool = turn.calls[position], self.tool_of(turn, position)
        refused = CallState(call_id=self.call_id(turn, position), tool=call.name, failure=failure)
        if tool is not None:
            refused = refused._replace(args=self.args_of(turn, position), effect=tool.effect)
        turn.done[position] = refused
        turn.refused.add(position)

    def _unusable(self, call: ToolCall, outer: ToolCall | None) -> Failure:
        """Return why a call has no tool that can be called."""
        if call.name in self.specs and self.specs[call.name].parallel:
            message = f"{call.name} needs calls: {_LISTED}"
            if outer is not None:
                message = f"calls of {call.name} cannot be nested: list all calls in one"
            elif call.arguments is None:
                message = _NO_OBJECT
            elif self._work.worker.loop == "code":
                message = f"code does not call {call.name}: it makes calls at once with asyncio.gather"
            return Failure.of(message, "bad_arguments", FailureClass.INVALID)
        if outer is not None and not call.name:
            return Failure.of(f"a call in the list names its tool: {_LISTED}", "bad_arguments", FailureClass.INVALID)
        name = call.name if outer is None or outer.name in self.specs else outer.name
        known = ", ".join(sorted(self.specs)) or "none"
        return Failure.of(f"there is no tool {name}; choose from: {known}", "unknown_tool", FailureClass.INVALID)

    # --- approval ----------------------------------------------------------------------------------------------------

    def needs_approval(self, turn: Turn, position: int, tool: ToolSpec) -> bool:
        """Whether a call has to wait until a person approves it."""
        if self._work.attempt.answers.get(self.call_id(turn, position)) is not None:
            return False
        hooked = self.hooked.get(self.call_id(turn, position))
        asks = self._policy(tool, repeated=self._is_repeated(turn, position, tool)) is ApprovalPolicy.ASK
        return asks or (hooked is not None and hooked.asks)

    def _policy(self, tool: ToolSpec, *, repeated: bool) -> ApprovalPolicy:
        """What holds for a call. An approval of the tool for the whole run does not cover a subtask's second call."""
        definition = self._work.definition
        policy = policy_of(tool, definition.approve, definition.approve_rules)
        if policy is ApprovalPolicy.ASK and tool.name in self._work.allowed and not repeated:
            return ApprovalPolicy.AUTO
        return policy

    def _is_repeated(self, turn: Turn, position: int, tool: ToolSpec) -> bool:
        """Whether a call does again what its subtask orders once: before it, or beside it in the reply, is another."""
        subtask = self._work.step.subtask
        if subtask is None or subtask.tool != tool.name or tool.effect is not Effect.ONCE:
            return False
        return bool(self._acted) or any(call.name == tool.name for call in turn.calls[:position])


def _denial(answer: CallAnswer | None, tool: ToolSpec, policy: ApprovalPolicy) -> Failure:
    """Return why a call is refused, for the model and for the gap that names it."""
    if answer is not None and answer.content == EXPIRED:
        reason, how = f"it needs approval, and {EXPIRED}", "ask again and answer in time, or raise approval_timeout"
    elif answer is not None:
        reason, how = f"a person denied it{answer.content and f': {answer.content}'}", "ask for something else"
    elif tool.approval is ApprovalPolicy.NEVER:
        reason, how = "the tool does not allow calls", "change the approval setting of the tool"
    elif policy is ApprovalPolicy.NEVER:
        reason = "it needs approval, and the run was started with --approve never"
        how = "to be asked for approval, run it with --approve ask"
    else:
        reason, how = "a rule of the run's approval policy denies it", "change that rule, or ask for something else"
    return Failure.of(reason, DENIED, FailureClass.REJECTED, how)

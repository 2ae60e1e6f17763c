"""Which calls of a reply are made, which are refused and why, and which have to wait.

A refused call has no entry in the log: after a resume, the same rules refuse it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from leadhand.core.approval import policy_of
from leadhand.core.conversation import ToolCall
from leadhand.core.errors import DENIED, EXPIRED, Failure, FailureClass
from leadhand.core.secret import OF_MODEL, Placed, declares_secret, is_own, source_of
from leadhand.core.state import CallAnswer
from leadhand.core.tool import ApprovalPolicy, CallState, Effect, ToolSpec
from leadhand.core.value import Json
from leadhand.engine.session.turn import BUDGET, Turn
from leadhand.engine.work import is_by_hand
from leadhand.ports import Work

_NO_OBJECT = "the arguments are not a JSON object"
_LISTED = '{"calls": [{"tool": "name", "args": {…}}]}'

Unfit = Callable[[ToolSpec, dict[str, Json]], Failure | None]
"""Returns why a tool cannot be called with some arguments, None if it can."""


def tool_of(work: Work, turn: Turn, position: int) -> ToolSpec | None:
    """Return the tool of a call that can be made, as it is for its arguments; None if there is no such tool, or if it
    only lists calls."""
    tool = work.tools.get(turn.calls[position].name)
    return None if tool is None or tool.parallel else tool.called_with(args_of(work, turn, position))


def answer_of(work: Work, turn: Turn, position: int) -> CallAnswer | None:
    """Return the answer to a call for which an earlier attempt was parked, if it has one."""
    answers = work.attempt.answers
    return answers.get(turn.call_id(position)) if answers else None


def args_of(work: Work, turn: Turn, position: int) -> dict[str, Json]:
    """Return the arguments of a call, as a hook or a person changed them or as the model wrote them."""
    answer, hooked = answer_of(work, turn, position), turn.hooked.get(position)
    if hooked is not None and hooked.args is not None:
        return hooked.args
    return (turn.calls[position].arguments if answer is None or answer.args is None else answer.args) or {}


def changed_by(work: Work, turn: Turn, position: int) -> str:
    """Return the hook that changed the arguments of a call, here or before a person approved it; "" for none."""
    answer, hooked = answer_of(work, turn, position), turn.hooked.get(position)
    return hooked.hook if hooked is not None and hooked.args is not None else answer.hook if answer else ""


def is_undecided(work: Work, result: CallState) -> bool:
    """Whether a call asks for something that the controller has not decided yet."""
    if not result.asks or not result.ok:
        return False
    answer = work.attempt.answers.get(result.call_id)
    return answer is None or not answer.decided


def follows(work: Work, turn: Turn, position: int) -> bool:
    """Whether a call only reads, and an earlier one of its reply may still change what it sees.

    That is a call of the same toolset with an effect, until it was made and what it asks for is decided.
    """
    tool = tool_of(work, turn, position)
    if not position or tool is None or not tool.toolset or tool.effect is not Effect.PURE:
        return False
    unsettled = (each for each in range(position) if each not in turn.done or is_undecided(work, turn.done[each]))
    before = filter(None, (tool_of(work, turn, each) for each in unsettled))
    return any(other.toolset == tool.toolset and other.effect is not Effect.PURE for other in before)


# --- refusals --------------------------------------------------------------------------------------------------------


def refusal(work: Work, turns: Sequence[Turn], turn: Turn, position: int, unfit: Unfit) -> Failure | None:
    """Return why a call of one of the turns is not made; None if it is made, or waits."""
    call, tool, answer = turn.calls[position], tool_of(work, turn, position), answer_of(work, turn, position)
    if tool is None:
        return _unusable(work, call)
    if call.arguments is None:
        return _invalid(_NO_OBJECT, "bad_arguments")
    if answer is not None and not answer.ok:
        return denial(answer, tool, work.definition.approve)
    if answer is None:
        policy, again = _policy(work, tool), _is_repeated(work, turns, turn, position, tool)
        if policy is ApprovalPolicy.NEVER:
            return denial(None, tool, work.definition.approve)
        if policy is ApprovalPolicy.AUTO and _is_unordered(work, tool):
            return _invalid(f"no subtask orders this call of {tool.name}, which acts: it needs its own", "not_ordered")
        if again and policy is ApprovalPolicy.AUTO:
            message = f"this subtask calls {tool.name} once, and a call was made: another one needs its own subtask"
            return _invalid(message, "called_twice")
    return unfit(tool, args_of(work, turn, position))


def calls_left(work: Work, turns: Sequence[Turn]) -> int | None:
    """Return how many calls may be made in addition to those of the turns; None if there is no limit."""
    most = work.step.max_calls
    return None if most is None else most - sum(len(turn.done) - len(turn.refused) for turn in turns)


def used_up(work: Work) -> Failure:
    """Return why a call is refused when none is left."""
    return _invalid(f"the tool budget of {work.step.max_calls} calls is used up: answer now", BUDGET)


def refuse_again(work: Work, turns: Sequence[Turn], unfit: Unfit) -> None:
    """Refuse the calls of earlier turns of a resumed conversation that the log does not have."""
    left = calls_left(work, turns)
    for turn in turns[:-1]:
        for position in turn.open:
            spent = used_up(work) if left is not None and left <= 0 else _invalid("this call was not made", "not_made")
            refuse(work, turn, position, refusal(work, turns, turn, position, unfit) or spent)


def refuse(work: Work, turn: Turn, position: int, failure: Failure) -> None:
    """Answer a call of a turn with the reason why it is not made."""
    tool = tool_of(work, turn, position)
    refused = CallState(call_id=turn.call_id(position), tool=turn.calls[position].name, failure=failure)
    if tool is not None:
        refused = refused._replace(args=args_of(work, turn, position), effect=tool.effect)
    turn.done[position] = refused
    turn.refused.add(position)


def _invalid(message: str, type_: str) -> Failure:
    return Failure.of(message, type_, FailureClass.INVALID)


def _unusable(work: Work, call: ToolCall) -> Failure:
    """Return why a call has no tool that can be called."""
    if call.name not in work.tools:
        known = ", ".join(sorted(work.tools)) or "none"
        return _invalid(f"there is no tool {call.name}; choose from: {known}", "unknown_tool")
    message = _NO_OBJECT if call.arguments is None else f"{call.name} needs calls, which cannot be nested: {_LISTED}"
    if work.worker.loop == "code":
        message = f"code does not call {call.name}: it makes calls at once with asyncio.gather"
    return _invalid(message, "bad_arguments")


def denial(answer: CallAnswer | None, tool: ToolSpec, policy: ApprovalPolicy) -> Failure:
    """Return why a call is refused, for the model and for the gap that names it."""
    if answer is not None and answer.content == EXPIRED:
        reason, how = f"it needs approval, and {EXPIRED}", "ask again and answer in time, or raise approval_timeout"
    elif answer is not None:
        reason, how = f"a person denied it{answer.content and f': {answer.content}'}", "ask for something else"
    elif tool.approval is ApprovalPolicy.NEVER:
        reason, how = "the tool does not allow calls", "change the approval setting of the tool"
    elif policy is ApprovalPolicy.NEVER:
        reason = "it needs approval, and the approval policy of the run is never"
        how = "to be asked for approval, start it with the policy ask"
    else:
        reason, how = "a rule of the run's approval policy denies it", "change that rule, or ask for something else"
    return Failure.of(reason, DENIED, FailureClass.REJECTED, how)


# --- approval --------------------------------------------------------------------------------------------------------


def needs_approval(work: Work, turns: Sequence[Turn], turn: Turn, position: int, tool: ToolSpec) -> bool:
    """Whether a call has to wait until a person approves it.

    An approval of the tool for the whole run covers neither a subtask's second call nor what a person chose.
    """
    if answer_of(work, turn, position) is not None:
        return False
    allowed = tool.approved_as(args_of(work, turn, position)) in work.state.allowed
    hooked = turn.hooked.get(position)
    if hooked is not None and hooked.asks:
        return True
    if _policy(work, tool) is not ApprovalPolicy.ASK:
        return False
    return not allowed or _is_repeated(work, turns, turn, position, tool) or is_by_hand(work.state, work.step)


def passed_on(work: Work, turn: Turn, position: int, tool: ToolSpec, found: Iterable[Placed]) -> dict[str, str]:
    """Return the arguments of a call by which it gives secrets to somebody who did not return them, and what these
    secrets are in words: the call needs approval.

    It does not if the schema of the tool declares the argument to be a secret, if a rule of the run allows the tool by
    its name, if a model made the secret up, or if code of the flow wrote it and makes or orders the call.
    """
    named = work.definition.approve_rules.get(f"tool:{tool.name}") is ApprovalPolicy.AUTO
    if named and _policy(work, tool) is ApprovalPolicy.AUTO:
        return {}
    by_code = work.step.kind == "call" or work.worker.loop == "code" or turn.number == 0
    may_have, source = {OF_MODEL, "" if by_code else OF_MODEL}, source_of(tool.origin, args_of(work, turn, position))
    passed: dict[str, dict[str, None]] = {}
    for path, secrets in found:
        has_it = any(each.origin in may_have or (tool.origin and is_own(each, source)) for each in secrets)
        if not (has_it or declares_secret(tool.parameters, path)):
            passed.setdefault(str(path[0]), {})[secrets[0].words] = None
    return {name: " and ".join(words) for name, words in passed.items()}


def _policy(work: Work, tool: ToolSpec) -> ApprovalPolicy:
    return policy_of(tool, work.definition.approve, work.definition.approve_rules)


def _is_unordered(work: Work, tool: ToolSpec) -> bool:
    """Whether a call of an operation acts, and the subtask that is carried out does not name its tool (see
    :func:`~leadhand.core.relations.tools_of`, which leaves out such tools as a whole)."""
    asks = tool.operations and tool.effect is Effect.ONCE and tool.approval is not ApprovalPolicy.AUTO
    return bool(asks) and work.step.subtask is not None and not work.names(tool.name)


def _is_repeated(work: Work, turns: Sequence[Turn], turn: Turn, position: int, tool: ToolSpec) -> bool:
    """Whether a call does again what its subtask orders once: before it, or beside it in the reply, is another."""
    if tool.effect is not Effect.ONCE or not work.names(tool.name):
        return False
    made = (*work.lineage.evidence, *(call for each in turns for call in each.done.values()))
    return any(call.acted for call in made) or any(call.name == tool.name for call in turn.calls[:position])
